//! Sends the requests of many people to servers of one library at a fixed rate, publishes versions meanwhile,
//! and checks each answer: `team-load PLAN.json SECONDS RATE CONNECTIONS WARM_UP_SECONDS`.
//!
//! Requests begin at fixed times, whether others were answered or not, and a latency counts from that time: a
//! server that stalls is charged for everybody who waits. `bench/team` writes the plan.

use std::time::Duration;

mod check;
mod connection;
mod plan;
mod report;
mod request;
mod run;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plan, seconds, rate, connections, warm_up] = &arguments[..] else { panic!("see the top of main.rs") };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let plan = plan::Plan::read(plan);
    let mut run = run::Run::new(&plan, number(seconds), number(rate), number(connections) as usize);
    run.go(Duration::from_secs(number(warm_up)));
    run.report.print(number(seconds));
}
