//! `rep events`.

use std::io;
use std::time::{Duration, SystemTime};

use clap::Args;
use repertoire::ErrorKind;
use repertoire::event::jsonl;
use repertoire::store::{EventQuery, Journal, JournalLine, Store};
use serde_json::Value;

use crate::age::age;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, cut, escape};
use crate::wire::Workspace;

/// The most events that are read at once.
const PAGE: usize = 1_000;

/// The time between two looks for new events.
const PAUSE: Duration = Duration::from_millis(250);

/// Prints what agents did with skills
///
/// The newest events, the oldest of them first. With --json, one object per line, as
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/events.md describes them.
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
    /// Keep running, and print events as they happen
    #[arg(long)]
    follow: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &EventsArgs) -> Result<Exit, CliError> {
    if !workspace.has_store() {
        if !args.follow {
            if !ui.is_json() {
                writeln!(ui.err(), "nothing has been recorded yet")?;
            }
            return Ok(Exit::Success);
        }
        while !workspace.has_store() {
            std::thread::sleep(PAUSE);
        }
    }
    let store = workspace.store()?;
    let mut query = EventQuery::default();
    query.since = args.since.and_then(|age| SystemTime::now().checked_sub(age));
    query.skill.clone_from(&args.skill);
    query.agent.clone_from(&args.agent);
    query.limit = args.limit.max(1);
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
    let mut follower = Follower { query, is_away: false };
    loop {
        ui.flush()?;
        let lines = follower.next(store, |warning| ui.warn(warning))?;
        if lines.is_empty() {
            std::thread::sleep(PAUSE);
        }
        write(ui, &lines)?;
    }
}

/// The place in a journal that is followed.
struct Follower {
    query: EventQuery,
    /// The store did not answer the last time.
    is_away: bool,
}

impl Follower {
    /// Returns the events since the last time; none from a store that does not answer, with one warning.
    fn next(
        &mut self,
        journal: &dyn Journal,
        warn: impl FnOnce(&str) -> io::Result<()>,
    ) -> Result<Vec<JournalLine>, CliError> {
        let lines = match journal.events(&self.query) {
            Ok(lines) => lines,
            Err(error) if error.kind() == ErrorKind::Store => {
                if !std::mem::replace(&mut self.is_away, true) {
                    warn(&format!("the store does not answer, waiting for it: {}", error.chain()))?;
                }
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.into()),
        };
        self.is_away = false;
        if let Some(last) = lines.last() {
            self.query.after = Some(last.id);
        }
        Ok(lines)
    }
}

fn write(ui: &mut Ui, lines: &[JournalLine]) -> Result<(), CliError> {
    for line in lines {
        if ui.is_json() {
            // A full disk can leave lines that are not JSON.
            let text = jsonl::exported(&line.json);
            writeln!(ui.out(), "{}", text.as_ref().unwrap_or(&line.json))?;
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use repertoire::Error;
    use repertoire::event::Event;
    use repertoire::store::{DailyLoads, Retention, UsageCount};

    use super::*;

    /// A journal whose answers are given; the last one first.
    struct ScriptedJournal(std::sync::Mutex<Vec<Result<Vec<u64>, ErrorKind>>>);

    impl Journal for ScriptedJournal {
        fn append(&self, _: &[Event]) -> Result<(), Error> {
            Ok(())
        }
        fn events(&self, query: &EventQuery) -> Result<Vec<JournalLine>, Error> {
            let ids = self.0.lock().unwrap().pop().unwrap().map_err(Error::new)?;
            assert!(ids.iter().all(|id| Some(*id) > query.after));
            Ok(ids.into_iter().map(|id| JournalLine { id, json: "{}".to_owned() }).collect())
        }
        fn usage(&self, _: Option<SystemTime>) -> Result<Vec<UsageCount>, Error> {
            Ok(Vec::new())
        }
        fn daily_loads(&self, _: SystemTime) -> Result<Vec<DailyLoads>, Error> {
            Ok(Vec::new())
        }
        fn prune(&self, _: Retention, _: SystemTime) -> Result<u64, Error> {
            Ok(0)
        }
    }

    #[test]
    fn following_waits_for_a_store_that_is_away_and_warns_once() {
        let away = || Err(ErrorKind::Store);
        let answers = vec![Err(ErrorKind::Corrupt), away(), Ok(vec![3]), away(), away(), Ok(vec![1, 2])];
        let journal = ScriptedJournal(answers.into());
        let mut query = EventQuery::default();
        query.after = Some(0);
        let mut follower = Follower { query, is_away: false };
        let warnings = RefCell::new(0);
        let mut next = || {
            let lines = follower.next(&journal, |_| {
                *warnings.borrow_mut() += 1;
                Ok(())
            });
            lines.map(|lines| (lines.iter().map(|line| line.id).collect::<Vec<_>>(), *warnings.borrow()))
        };
        assert_eq!(next().unwrap(), (vec![1, 2], 0));
        assert_eq!(next().unwrap(), (vec![], 1));
        assert_eq!(next().unwrap(), (vec![], 1));
        assert_eq!(next().unwrap(), (vec![3], 1));
        assert_eq!(next().unwrap(), (vec![], 2), "a new outage has a warning of its own");
        assert!(next().is_err(), "a damaged store does not come back");
    }
}
