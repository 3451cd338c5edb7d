//! Reads a console log for what a healthy kernel does not print.

/// Parts of lines that mean the kernel is unwell, whatever the job's exit status says.
///
/// Failed allocations ("page allocation failure", "SLUB: Unable to allocate memory") are none: making them is the
/// guest's purpose.
const SIGNS: [&str; 15] = [
    "WARNING: ",
    "BUG: ",
    "kernel BUG at",
    "Oops",
    "Kernel panic",
    "general protection fault",
    "invalid opcode:",
    "KASAN",
    "UBSAN",
    "detected stall",
    "self-detected stall",
    "blocked for more than",
    "possible circular locking",
    "possible recursive locking",
    "suspicious RCU usage",
];

/// Lines of context after the first finding: registers and the start of the trace.
const CONTEXT: usize = 25;

/// The lines of a console log that show trouble.
pub fn findings(log: &str) -> Vec<&str> {
    log.lines().filter(|line| SIGNS.iter().any(|sign| line.contains(sign))).collect()
}

/// All findings, and what follows the first of them; empty for a healthy kernel.
pub fn report(log: &str) -> Option<String> {
    let findings = findings(log);
    let first = findings.first()?;
    let after: Vec<&str> = log.lines().skip_while(|line| line != first).take(CONTEXT).collect();
    Some(format!("{}\n\nFrom the first of these on:\n{}", findings.join("\n"), after.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_of_each_kind_is_found() {
        for line in [
            "[    1.2] WARNING: CPU: 0 PID: 1 at kernel/jump_label.c:280 static_key_slow_dec+0x1/0x2",
            "[    1.2] BUG: kernel NULL pointer dereference, address: 0000000000000008",
            "[    1.2] Oops: 0002 [#1] PREEMPT SMP",
            "[    1.2] Kernel panic - not syncing: Fatal exception",
            "[    1.2] BUG: KASAN: use-after-free in f+0x1/0x2",
            "[    1.2] rcu: INFO: rcu_sched self-detected stall on CPU",
            "[    1.2] WARNING: possible circular locking dependency detected",
            "[    1.2] INFO: task sh:40 blocked for more than 120 seconds.",
        ] {
            assert_eq!(findings(line), [line]);
        }
    }

    #[test]
    fn failed_allocations_and_ordinary_messages_are_no_trouble() {
        let log = "Linux version 6.1.192\n\
            [    9.1] sh: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n\
            [    9.1] CPU: 1 PID: 40 Comm: sh Not tainted 6.1.192 #1\n[    9.1] Call Trace:\n\
            [    9.1] SLUB: Unable to allocate memory on node -1, gfp=0xcc0(GFP_KERNEL)\n\
            [    9.2] inject_keys: loading out-of-tree module taints kernel.\n";
        assert!(findings(log).is_empty());
        assert_eq!(report(log), None);
    }

    #[test]
    fn the_report_has_what_follows_the_first_finding() {
        let text = report("fine\nBUG: bad\nRIP: 0010:f\nKernel panic - x\n").unwrap();
        assert_eq!(
            text,
            "BUG: bad\nKernel panic - x\n\nFrom the first of these on:\nBUG: bad\nRIP: 0010:f\nKernel panic - x"
        );
    }
}
