//! `rep watch`: changes of the library as they are seen.

mod account;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, SystemTime};

use clap::Args;
use repertoire::event::jsonl::rfc3339;
use repertoire::registry::watch::{FollowMethod, SourceState};
use repertoire::{Change, Registry, ReloadMode, Snapshot, Subscription, Watcher};
use repertoire_app::view::DiagnosticView;
use repertoire_model::SkillName;
use repertoire_model::text::count;
use serde::Serialize;
use serde_json::{Value, json};

use self::account::{Account, Finding};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::ui::{Style, Ui, escape};
use crate::wire::Workspace;

/// The most skills of one kind that one change names to a person.
const MAX_LINES: usize = 50;
/// The most skills of one kind that one change names to a program.
const MAX_NAMES: usize = 1_000;
/// The time until a very large library is watched.
const READY: Duration = Duration::from_secs(120);
/// The timeout of one wait for a change, after which the next begins; a subscription has no other end.
const LISTEN: Duration = Duration::from_secs(3_600);

/// Prints each change of the library as it happens
///
/// For every change the skills that came (+), went (-) or are different (~), what that did to the catalog's
/// tokens, and the diagnostics that are new or resolved. It ends when it is interrupted, and watches whatever
/// `reload.mode` says. With --json, one object per line; see
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/json.md.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {}

/// The event that ends a wait.
enum Wake {
    Changed(Box<Change>),
    Interrupted,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, _args: &WatchArgs) -> Result<Exit, CliError> {
    let (sender, wakes) = wakes();
    let interrupted = sender.clone();
    on_interrupt(move |_| {
        let _ = interrupted.send(Wake::Interrupted);
    })?;
    let registry = workspace.open_to_follow();
    // A recorded version may be in force for the skill that is refused; other commands decide with it.
    if pollster::block_on(registry.accepted()).is_err() {
        workspace.open()?;
    }
    let watcher = registry.watch(workspace.eager_reload())?;
    watcher.wait_ready(READY);
    let (snapshot, changes) = subscribe(&registry);
    let mut tokens = tokens(workspace, &snapshot);
    complain(ui, workspace, &snapshot)?;
    begin(ui, &snapshot, &watcher, tokens)?;
    drop(snapshot);
    listen(changes, sender);
    while let Ok(Wake::Changed(change)) = wakes.recv() {
        let before = tokens;
        if !ui.is_json() {
            skills(ui, &change)?;
            ui.flush()?;
        }
        if change.is_of_catalog() {
            tokens = self::tokens(workspace, &change.after);
        }
        let account = Account::between(&change.before, &change.after);
        if ui.is_json() {
            write_json(ui, &json_of(&change, before, tokens, &account))?;
        } else {
            effects(ui, workspace, &change, (before, tokens), &account)?;
        }
        ui.flush()?;
    }
    Ok(Exit::Success)
}

/// Returns the two ends of a channel without a buffer, so that changes which are not taken become one.
fn wakes() -> (SyncSender<Wake>, Receiver<Wake>) {
    mpsc::sync_channel(0)
}

/// Returns the current snapshot of `registry`, and a subscription to all later ones.
fn subscribe(registry: &Registry) -> (Arc<Snapshot>, Subscription) {
    loop {
        let snapshot = registry.snapshot();
        let changes = registry.subscribe();
        // If it is still the same, it was so in between too.
        if Arc::ptr_eq(&snapshot, &registry.snapshot()) {
            return (snapshot, changes);
        }
    }
}

/// Hands `changes` on, one at a time, from a thread that ends with the process or with the receiver.
fn listen(mut changes: Subscription, sender: SyncSender<Wake>) {
    std::thread::spawn(move || {
        loop {
            if let Some(change) = changes.next_within(LISTEN)
                && sender.send(Wake::Changed(Box::new(change))).is_err()
            {
                return;
            }
        }
    });
}

/// Returns the number of tokens of the catalog of `snapshot`; 0 if it cannot be rendered.
fn tokens(workspace: &Workspace, snapshot: &Snapshot) -> usize {
    let options = workspace.settings.session.catalog_options();
    let catalog = snapshot.catalog(&options);
    catalog
        .map_or(0, |catalog| catalog.report.tokens.unwrap_or_else(|| options.tokenizer.count(&catalog.text)))
}

/// Reports problems of the sources, and a configuration under which others do not follow them.
fn complain(ui: &mut Ui, workspace: &Workspace, snapshot: &Snapshot) -> Result<(), CliError> {
    // Programs find them among the diagnostics of the first line.
    let shown = if ui.is_json() { 0 } else { MAX_LINES };
    for problem in snapshot.problems().iter().take(shown) {
        let found = &problem.diagnostic;
        let (style, word) = (found.severity.into(), format!("{}:", found.severity));
        ui.message(style, &word, &format!("{} ({})", found.message, problem.path))?;
    }
    let mode = workspace.settings.reload.mode;
    let others = match mode {
        ReloadMode::Watch | ReloadMode::Poll => return Ok(()),
        ReloadMode::Lazy => "look when they are used",
        ReloadMode::Off => "do not",
    };
    let mode = mode.as_str();
    ui.hint(&format!(
        "`reload.mode` is \"{mode}\": this command watches all the same; sessions and servers {others}"
    ))?;
    Ok(())
}

fn begin(ui: &mut Ui, snapshot: &Snapshot, watcher: &Watcher, tokens: usize) -> Result<(), CliError> {
    let state = watcher.state();
    if ui.is_json() {
        let source = |state: &SourceState| {
            let (watches, reason) = match &state.following {
                FollowMethod::Watching(count) => (*count, None),
                FollowMethod::Polling(reason) => (0, Some(reason.to_string())),
                FollowMethod::OnUse | FollowMethod::Not => (0, None),
            };
            json!({"source": &*state.source, "watches": watches, "polled_because": reason})
        };
        let problems: Vec<DiagnosticView> =
            watcher.problems().iter().chain(snapshot.problems()).map(DiagnosticView::of_source).collect();
        let value = json!({
            "time": time(),
            "snapshot": snapshot.number(),
            "skills": snapshot.active().count(),
            "sources": state.iter().map(source).collect::<Vec<Value>>(),
            "catalog_tokens": tokens,
            "diagnostics": problems,
        });
        write_json(ui, &value)?;
        return Ok(ui.flush()?);
    }
    let skills = snapshot.active().count();
    let heading = format!("following {}, {tokens} tokens in the catalog", count(skills, "skill"));
    ui.line(Style::Heading, &heading)?;
    let is_silent = |state: &SourceState| {
        let is_empty = !snapshot.entries().iter().any(|entry| entry.source == state.source);
        is_empty && matches!(state.following, FollowMethod::Watching(_))
    };
    let (silent, shown): (Vec<SourceState>, Vec<SourceState>) = state.into_iter().partition(is_silent);
    for SourceState { source, following, .. } in shown {
        let how = match following {
            FollowMethod::Watching(number) => {
                let directories = if number == 1 { "directory" } else { "directories" };
                format!("{number} {directories} watched")
            }
            FollowMethod::Polling(reason) => {
                format!("polled every {} s or less often: {reason}", watcher.options().poll.as_secs_f64())
            }
            FollowMethod::OnUse => "looked at on use".to_owned(),
            FollowMethod::Not => "not followed".to_owned(),
        };
        ui.line(Style::Faint, &escape(&format!("  {source}: {how}")))?;
    }
    if !silent.is_empty() {
        let sources = count(silent.len(), "source");
        ui.line(Style::Faint, &format!("  {sources} without skills so far, watched"))?;
    }
    for problem in watcher.problems() {
        let word = ui.paint(Style::Warning, "warning:");
        writeln!(ui.out(), "{word} {}", escape(&problem.diagnostic.message))?;
    }
    Ok(ui.flush()?)
}

/// Writes which skills came, went or are different.
fn skills(ui: &mut Ui, change: &Change) -> Result<(), CliError> {
    names(ui, "+", Style::Added, &change.added)?;
    names(ui, "-", Style::Removed, &change.removed)?;
    for (name, aspects) in change.changed.iter().take(MAX_LINES) {
        let aspects: Vec<&str> = aspects.iter().map(|aspect| aspect.as_str()).collect();
        let line = ui.paint(Style::Info, &format!("~ {}", escape(name.as_str())));
        writeln!(ui.out(), "{line} ({})", aspects.join(", "))?;
    }
    more(ui, "~", change.changed.len())
}

fn names(ui: &mut Ui, sign: &str, style: Style, names: &[SkillName]) -> Result<(), CliError> {
    for name in names.iter().take(MAX_LINES) {
        ui.line(style, &format!("{sign} {}", escape(name.as_str())))?;
    }
    more(ui, sign, names.len())
}

fn more(ui: &mut Ui, sign: &str, count: usize) -> Result<(), CliError> {
    if let Some(more @ 1..) = count.checked_sub(MAX_LINES) {
        writeln!(ui.out(), "{sign} and {more} more")?;
    }
    Ok(())
}

/// Writes what the change did to the catalog and to diagnostics.
fn effects(
    ui: &mut Ui,
    workspace: &Workspace,
    change: &Change,
    (before, after): (usize, usize),
    account: &Account<'_>,
) -> Result<(), CliError> {
    for (word, findings) in [("new", &account.new), ("resolved", &account.resolved)] {
        for finding in findings.iter().take(MAX_LINES) {
            let found = finding.diagnostic;
            let style = if word == "new" { found.severity.into() } else { Style::Good };
            let word = ui.paint(style, &format!("{word} {}[{}]", found.severity.as_str(), found.rule));
            let text = ui.shown(&format!("{} ({})", found.message, workspace.shown(&finding.path)));
            writeln!(ui.out(), "  {word} {text}")?;
        }
        if let Some(more @ 1..) = findings.len().checked_sub(MAX_LINES) {
            writeln!(ui.out(), "  and {more} more {word}")?;
        }
    }
    let catalog = match (after as i64) - (before as i64) {
        0 => format!("{after} tokens as before"),
        difference => format!("{before} -> {after} tokens ({difference:+})"),
    };
    let line =
        format!("  catalog {catalog}, snapshot {}, {:.1} ms", change.after.number(), milliseconds(change));
    ui.line(Style::Faint, &line)?;
    Ok(())
}

fn json_of(change: &Change, before: usize, after: usize, account: &Account<'_>) -> Value {
    let names =
        |names: &[SkillName]| names.iter().take(MAX_NAMES).map(ToString::to_string).collect::<Vec<_>>();
    let changed = change.changed.iter().take(MAX_NAMES).map(|(name, aspects)| {
        let what: Vec<&str> = aspects.iter().map(|aspect| aspect.as_str()).collect();
        json!({"name": name.as_str(), "what": what})
    });
    let lists = [change.added.len(), change.removed.len(), change.changed.len()];
    let more: usize = lists.iter().map(|length| length.saturating_sub(MAX_NAMES)).sum();
    let findings = |findings: &[Finding<'_>], state: &'static str| {
        let findings = findings.iter().take(MAX_NAMES);
        findings
            .map(|Finding { path, diagnostic }| FindingJson {
                state,
                finding: DiagnosticView::new(diagnostic, path.clone()),
            })
            .collect::<Vec<_>>()
    };
    let mut diagnostics = findings(&account.new, "new");
    diagnostics.extend(findings(&account.resolved, "resolved"));
    json!({
        "time": time(),
        "snapshot": change.after.number(),
        "added": names(&change.added),
        "removed": names(&change.removed),
        "changed": changed.collect::<Vec<Value>>(),
        "more": more,
        "catalog_tokens": {"before": before, "after": after},
        "diagnostics": diagnostics,
        "took_ms": milliseconds(change),
    })
}

#[derive(Serialize)]
struct FindingJson {
    state: &'static str,
    #[serde(flatten)]
    finding: DiagnosticView,
}

fn write_json(ui: &mut Ui, value: &Value) -> Result<(), CliError> {
    serde_json::to_writer(ui.out(), value).map_err(std::io::Error::from)?;
    Ok(ui.out().write_all(b"\n")?)
}

fn milliseconds(change: &Change) -> f64 {
    (change.took.as_secs_f64() * 10_000.0).round() / 10.0
}

fn time() -> String {
    rfc3339(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use repertoire::{FsOptions, FsProvider, Policy};

    use super::*;

    #[test]
    fn changes_that_are_not_received_are_merged() {
        let directory = tempfile::tempdir().unwrap();
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", directory.path())));
        let registry = pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap();
        let (sender, wakes) = wakes();
        listen(subscribe(&registry).1, sender);
        let count = 10;
        for number in 0..count {
            let skill = directory.path().join(format!("skill-{number}"));
            fs::create_dir(&skill).unwrap();
            let text = format!("---\nname: skill-{number}\ndescription: Does it. Use when asked.\n---\nx\n");
            fs::write(skill.join("SKILL.md"), text).unwrap();
            pollster::block_on(registry.reload());
            // The receiver gets time to run.
            std::thread::sleep(Duration::from_millis(5));
        }
        let (mut received, mut added) = (0, 0);
        while let Ok(Wake::Changed(change)) = wakes.recv_timeout(Duration::from_secs(1)) {
            received += 1;
            added += change.added.len();
        }
        assert_eq!(added, count);
        assert!(received <= 2, "the first and all others as one, not {received}");
    }
}
