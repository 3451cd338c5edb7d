//! The table of holders: all orders of coming, all orders of going.
//!
//! Whatever the order: the count is the number of holders, and the function is called exactly while it is above zero.
//! All interleavings of five comings and goings are 113,400. The orders of coming lead into each set of holders from
//! each smaller one, and the orders of going out again, so that every change is seen in every state.

use std::{fs::File, process::Command};

use anyhow::{Context as _, ensure};

use crate::{
    cases::cases,
    guest::{
        agent::Agent,
        command::Background,
        counts::Counts,
        legacy::{Attribute, fail_function, fail_nth, spare_function},
        probe::Probe,
    },
};

cases![
    in_every_order_of_coming_and_going_the_count_is_the_number_of_holders,
    calls_arrive_exactly_while_somebody_holds,
];

const FUNCTION: &str = "should_failslab";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Holder {
    Failslab,
    FailNth,
    FailFunction,
    HelperA,
    HelperB,
}

const ALL: [Holder; 5] =
    [Holder::Failslab, Holder::FailNth, Holder::FailFunction, Holder::HelperA, Holder::HelperB];

/// All of them, on one function.
struct Table {
    failslab: Attribute,
    /// The task with a pending fail-nth, and whether the next one is to exit with it rather than write a zero.
    pending: Background,
    exit_next: bool,
    helpers: [Agent; 2],
}

fn sleeper() -> anyhow::Result<Background> {
    Ok(Background(Command::new("/bin/sleep").arg("1000").spawn()?))
}

impl Table {
    fn lay() -> anyhow::Result<Self> {
        Ok(Self {
            failslab: Attribute::idle("failslab")?,
            pending: sleeper()?,
            exit_next: false,
            helpers: [Agent::start()?, Agent::start()?],
        })
    }

    fn come(&mut self, holder: Holder) -> anyhow::Result<()> {
        match holder {
            Holder::Failslab => self.failslab.set("probability", "100"),
            // So many that it never gets there.
            Holder::FailNth => Ok(fail_nth(self.pending.0.id(), 1_000_000)?),
            Holder::FailFunction => Ok(fail_function(FUNCTION)?),
            Holder::HelperA => self.helpers[0].hold(FUNCTION),
            Holder::HelperB => self.helpers[1].hold(FUNCTION),
        }
    }

    fn go(&mut self, holder: Holder) -> anyhow::Result<()> {
        match holder {
            Holder::Failslab => self.failslab.set("probability", "0"),
            Holder::FailNth => self.end_fail_nth(),
            Holder::FailFunction => Ok(spare_function(FUNCTION)?),
            Holder::HelperA => self.helpers[0].release(),
            Holder::HelperB => self.helpers[1].release(),
        }
    }

    fn end_fail_nth(&mut self) -> anyhow::Result<()> {
        self.exit_next = !self.exit_next;
        if self.exit_next {
            self.pending = sleeper()?;
        } else {
            fail_nth(self.pending.0.id(), 0)?;
        }
        Ok(())
    }
}

/// All orders of the holders, each once.
fn orders() -> Vec<[Holder; 5]> {
    fn extend(order: &mut Vec<Holder>, orders: &mut Vec<[Holder; 5]>) {
        if let Ok(whole) = <[Holder; 5]>::try_from(order.as_slice()) {
            orders.push(whole);
            return;
        }
        for holder in ALL {
            if !order.contains(&holder) {
                order.push(holder);
                extend(order, orders);
                order.pop();
            }
        }
    }
    let mut orders = Vec::new();
    extend(&mut Vec::new(), &mut orders);
    orders
}

fn in_every_order_of_coming_and_going_the_count_is_the_number_of_holders() -> anyhow::Result<()> {
    let counts = Counts::of(&[FUNCTION, "should_fail_alloc_page", "should_fail_bio"])?;
    let mut table = Table::lay()?;
    let orders = orders();
    ensure!(orders.len() == 120);
    for (at, coming) in orders.iter().enumerate() {
        // Any other order; 7 has no common factor with 120, so that each has its turn.
        let going = orders[(at * 7 + 1) % orders.len()];
        let mut present: Vec<Holder> = Vec::new();
        let steps = coming.iter().map(|holder| (true, *holder));
        for (comes, holder) in steps.chain(going.into_iter().map(|holder| (false, holder))) {
            let when = || format!("{holder:?} with {present:?}, comes: {comes}");
            if comes {
                table.come(holder).with_context(when)?;
                present.push(holder);
            } else {
                table.go(holder).with_context(when)?;
                present.retain(|one| *one != holder);
            }
            // fail-nth is for every kind of fault, so it holds all keys.
            let nth = u32::from(present.contains(&Holder::FailNth));
            counts.expect(&[present.len() as u32, nth, nth], &format!("{present:?}"))?;
        }
    }
    Ok(())
}

fn calls_arrive_exactly_while_somebody_holds() -> anyhow::Result<()> {
    const OPENS: u64 = 10;
    let probe = Probe::inside(FUNCTION)?;
    let mut table = Table::lay()?;
    let check = |somebody: bool, when: &str| {
        let before = probe.hits()?;
        (0..OPENS).try_for_each(|_| File::open("/proc/self/stat").map(drop))?;
        let calls = probe.hits()? - before;
        ensure!(if somebody { calls >= OPENS } else { calls == 0 }, "{when}: {calls} calls");
        anyhow::Ok(())
    };
    check(false, "nobody")?;
    for (at, first) in ALL.into_iter().enumerate() {
        let second = ALL[(at + 1) % ALL.len()];
        table.come(first)?;
        check(true, &format!("{first:?}"))?;
        table.come(second)?;
        table.go(first)?;
        check(true, &format!("{second:?} after {first:?}"))?;
        table.go(second)?;
        check(false, &format!("after {second:?}"))?;
    }
    Ok(())
}
