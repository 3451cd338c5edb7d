//! Numbers that look random and can be repeated.

/// Xorshift, 64 bits.
pub struct Random(u64);

impl Random {
    /// Different seeds, however near, give different numbers.
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // The first ones of near seeds still resemble each other.
        for _ in 0..4 {
            random.next();
        }
        random
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below a bound that is small beside 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
