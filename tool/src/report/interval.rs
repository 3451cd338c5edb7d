//! How far an observed rate may be from the true one.

/// The 95 % interval of a rate, by Wilson's score (E. B. Wilson, 1927): right also for few trials and extreme rates.
pub fn interval(hits: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (hits, trials) = (hits as f64, trials as f64);
    let z = 1.959_964;
    let share = hits / trials;
    let denominator = 1.0 + z * z / trials;
    let middle = (share + z * z / (2.0 * trials)) / denominator;
    let half =
        z * (share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)).sqrt() / denominator;
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by Wilson's formula from a table of binomial intervals.
    #[test]
    fn known_intervals_are_met() {
        let close = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!(
                (low - expected.0).abs() < 5e-4 && (high - expected.1).abs() < 5e-4,
                "{low} {high}"
            );
        };
        close(interval(10, 100), (0.0552, 0.1744));
        close(interval(0, 10), (0.0, 0.2775));
        close(interval(10, 10), (0.7225, 1.0));
        assert_eq!(interval(0, 0), (0.0, 1.0));
    }
}
