//! The kernel's log: people who read a crash must know that faults were injected, and people who inject faults want to
//! know what the kernel said to them.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    time::Duration,
};

const PATH: &str = "/dev/kmsg";

/// Parts of lines that mean the kernel is unwell.
const SIGNS: [&str; 12] = [
    "WARNING: ",
    "BUG: ",
    "kernel BUG at",
    "Oops",
    "general protection fault",
    "KASAN:",
    "UBSAN:",
    "KFENCE:",
    "possible circular locking dependency",
    "possible recursive locking",
    "inconsistent lock state",
    "suspicious RCU usage",
];

/// The log, from the moment of opening on.
#[derive(Debug)]
pub struct KernelLog {
    file: Option<File>,
}

/// A line that means the kernel is unwell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelWarning {
    /// Since boot, by the kernel log's clock.
    pub time: Duration,
    /// The line.
    pub text: String,
}

impl KernelLog {
    /// Opens it; where there is none (CONFIG_PRINTK is off), nothing is written and nothing found.
    pub fn open() -> Self {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(PATH)
            .and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
        if let Err(error) = &file {
            log::info!("{PATH}: {error}");
        }
        Self { file: file.ok() }
    }

    /// Writes a line, at the level of a notice.
    pub fn write(&mut self, line: &str) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(format!("<5>inject: {line}\n").as_bytes())
        {
            log::info!("{PATH}: {error}");
        }
    }

    /// What the kernel complained about since the last call.
    pub fn warnings(&mut self) -> Vec<KernelWarning> {
        let Some(file) = &mut self.file else { return Vec::new() };
        let mut warnings = Vec::new();
        let mut record = [0; 8192];
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    warnings.extend(parse(&String::from_utf8_lossy(&record[..length])));
                }
                // Records were overwritten before they were read; the next read goes on after them.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => break,
            }
        }
        warnings
    }
}

/// `LEVEL,SEQUENCE,MICROSECONDS,FLAGS…;TEXT`, with lines of properties below (Documentation/ABI/testing/dev-kmsg).
fn parse(record: &str) -> Option<KernelWarning> {
    let (head, text) = record.lines().next()?.split_once(';')?;
    let microseconds = head.split(',').nth(2)?.parse().ok()?;
    let level: u32 = head.split(',').next()?.parse().ok()?;
    // From user space (facility above 0), and so nothing that the kernel found.
    if level >= 8 || !SIGNS.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    Some(KernelWarning { time: Duration::from_micros(microseconds), text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_told_from_chatter() {
        let record =
            "4,1234,5678901,-;WARNING: CPU: 0 PID: 1 at mm/slab.c:1 f+0x1/0x2\n SUBSYSTEM=x\n";
        let warning = parse(record).unwrap();
        assert_eq!(warning.time, Duration::from_micros(5_678_901));
        assert_eq!(warning.text, "WARNING: CPU: 0 PID: 1 at mm/slab.c:1 f+0x1/0x2");
        for chatter in [
            "6,1,2,-;loop0: detected capacity change\n",
            "4,1,2,-;sh: page allocation failure: order:0\n",
            "12,1,2,-;inject: WARNING: from user space\n",
            "nonsense",
            "",
        ] {
            assert_eq!(parse(chatter), None, "{chatter}");
        }
    }
}
