//! `rep events`.

use std::time::{Duration, SystemTime};

use clap::Args;
use repertoire::store::{EventQuery, JournalLine, Store};
use serde_json::Value;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, cut, escape};
use crate::wire::Context;

/// The most events that are read at once.
const PAGE: usize = 1_000;

/// The time between two looks for new events.
const PAUSE: Duration = Duration::from_millis(250);

/// Prints what agents did with skills
///
/// The newest events, the oldest of them first. With --json, one object per line, as https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/events.md
/// describes them.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Only events about this skill
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Only events of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only events within this time, such as 30d, 12h or 90m
    #[arg(long, value_name = "TIME", value_parser = age)]
    since: Option<Duration>,
    /// The most events
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Go on with events as they happen
    #[arg(long)]
    follow: bool,
}

/// Returns the duration that `text` says, such as `30d`.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number and a unit, such as 30d, 12h or 90m".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "d" => 24 * 60 * 60,
        "h" => 60 * 60,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &EventsArgs) -> Result<Exit, CliError> {
    if !context.has_store() {
        if !args.follow {
            if !ui.is_json() {
                writeln!(ui.err(), "nothing has been recorded yet")?;
            }
            return Ok(Exit::Success);
        }
        while !context.has_store() {
            std::thread::sleep(PAUSE);
        }
    }
    let store = context.store()?;
    let mut query = EventQuery {
        after: None,
        since: args.since.and_then(|age| SystemTime::now().checked_sub(age)),
        skill: args.skill.clone(),
        agent: args.agent.clone(),
        limit: args.limit.max(1),
    };
    let mut lines = store.events(&query)?;
    query.after = Some(lines.last().map_or(0, |line| line.id));
    // The newest event is asked for in any case, so that `--limit 0 --follow` knows where new ones begin.
    lines.truncate(args.limit);
    if lines.is_empty() && !args.follow && !ui.is_json() {
        writeln!(ui.err(), "no events")?;
    }
    write(ui, &lines)?;
    if args.follow {
        follow(ui, &*store, query)?;
    }
    Ok(Exit::Success)
}

fn follow(ui: &mut Ui, store: &dyn Store, mut query: EventQuery) -> Result<(), CliError> {
    query.limit = PAGE;
    loop {
        ui.flush()?;
        let lines = store.events(&query)?;
        if let Some(last) = lines.last() {
            query.after = Some(last.id);
            write(ui, &lines)?;
        } else {
            std::thread::sleep(PAUSE);
        }
    }
}

fn write(ui: &mut Ui, lines: &[JournalLine]) -> Result<(), CliError> {
    for line in lines {
        if ui.is_json() {
            writeln!(ui.out(), "{}", line.json)?;
            continue;
        }
        let event: Value = serde_json::from_str(&line.json).unwrap_or_default();
        let word = |key: &str| event[key].as_str().unwrap_or("-").to_owned();
        let file = event["file"].as_str().map(|file| format!("/{file}")).unwrap_or_default();
        let text = format!(
            "{} {:<17} {:<9} {}{file} agent={} tokens={}",
            word("time"),
            word("kind"),
            word("outcome"),
            word("skill"),
            word("agent"),
            event["tokens"],
        );
        let width = ui.width();
        writeln!(ui.out(), "{}", cut(&escape(&text), width))?;
    }
    Ok(())
}
