//! A boot with `failslab=1,1,0,0`, which `cargo xtask test` makes for these: the option holds as a write does.

use anyhow::ensure;

use crate::{
    cases::cases,
    guest::{
        command::shell, counts::Counts, legacy::Attribute, probe::Probe, state::KEYED,
        workload::PROGRAM,
    },
};

cases![the_boot_option_holds_the_key_until_the_probability_is_zero];

fn the_boot_option_holds_the_key_until_the_probability_is_zero() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    keys.expect(&[1, 0, 0], "after the boot")?;
    let failslab = Attribute("failslab");
    ensure!(failslab.get("probability")? == "1" && failslab.get("times")? == "0");
    let calls = |probe: &Probe| {
        let before = probe.hits()?;
        shell(&format!("{PROGRAM} workload opens 100"))?.expect_status(0)?;
        Ok::<_, anyhow::Error>(probe.hits()? - before)
    };
    let probe = Probe::on("should_failslab")?;
    ensure!(calls(&probe)? >= 100);
    failslab.set("probability", "5")?;
    keys.expect(&[1, 0, 0], "after another probability")?;
    failslab.set("probability", "0")?;
    keys.expect(&[0, 0, 0], "without a probability")?;
    ensure!(calls(&probe)? == 0);
    drop(probe);
    // As it was at boot. Times stay at 0: nothing fails.
    failslab.set("probability", "1")?;
    std::mem::forget(failslab);
    keys.expect(&[1, 0, 0], "as at boot")
}
