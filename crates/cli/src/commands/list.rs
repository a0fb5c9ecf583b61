//! `rep list`.

mod changed;
mod client;
mod duplicates;

use clap::Args;
use repertoire::Entry;
use repertoire_app::clients::SeeingClients;
use repertoire_app::token_counter::TokenCounter;
use repertoire_app::view::{
    DiagnosticView, DisabledByView, OriginView, SeeingClientView, SkillTokensView, SkillView,
};
use repertoire_clients::{DisabledClient, disabled_for_clients};
use repertoire_model::{Severity, State, diagnostic};
use serde::Serialize;

use crate::complete::{client_names, skill_names};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Style, Table, Ui};
use crate::wire::{ComparedOrigin, Library, Workspace, compared_origins, shell_word};

/// The part of a line that the ids of the clients of a skill may take.
const CLIENTS_OF_LINE: usize = 5;

/// The characters of a digest that a table shows.
const DIGEST_CHARS: usize = "sha256:".len() + 12;

/// Lists the skills
///
/// Shows every active skill, the clients on this machine that get it (`+2` for two more), and the source it
/// comes from; `!` marks one with findings. Two skills of one name are never merged: the first source wins,
/// and the other is shown by --all. Instructions and files are not checked; `rep check` does that.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only these skills, as NAME or as SOURCE:NAME, in whatever state
    #[arg(value_name = "NAME", add = skill_names())]
    names: Vec<String>,
    /// Show shadowed, disabled and quarantined skills too
    #[arg(long)]
    all: bool,
    /// Show the digest of each skill's files
    #[arg(long)]
    digest: bool,
    /// Count the tokens of each skill's catalog entry and instructions
    #[arg(long)]
    tokens: bool,
    /// Show who installed each skill, from where, and if it was changed since
    #[arg(long)]
    origin: bool,
    /// Show only skills that differ from the records of their installers, and exit with 1 if there are any
    ///
    /// Reads repertoire.lock of `rep add`, skills-lock.json and .skill-lock.json of `npx skills`,
    /// apm.lock.yaml, agents.lock of dotagents, what `gh skill` writes into the frontmatter, .openskills.json
    /// and .clawhub/origin.json, and computes the hash that each of them records. Nothing is fetched. Exits
    /// with 1 if a skill was changed since it was installed, if one is missing, or a record is unreadable.
    #[arg(long, requires = "origin", conflicts_with_all = ["all", "digest", "tokens"])]
    changed: bool,
    /// Show only skills that are there more than once
    ///
    /// Shows skills of one name in several directories, and whether their files are the same, and skills of
    /// different names with the same files. A link to a skill is not a second one. `rep adopt` gathers copies
    /// in one place.
    #[arg(long, conflicts_with_all = ["all", "digest", "tokens", "origin"])]
    duplicates: bool,
    /// Show the differences between the first and each of the others
    #[arg(long, requires = "duplicates")]
    diff: bool,
    /// Show what is left of the skills in the listing that this client gives its model
    ///
    /// Shows which skills that the client reads from files are whole, cut, named alone or gone, and the
    /// changes that bring most.
    #[arg(long, value_name = "CLIENT", value_parser = client_names(), conflicts_with_all = ["names", "all", "digest", "tokens", "origin", "duplicates"])]
    client: Option<String>,
    /// The tokens of the context window that the budget of the client is a part of
    #[arg(long, value_name = "TOKENS", requires = "client", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

impl ListArgs {
    /// Returns `true` if skills are shown in whatever state.
    fn shows_all(&self) -> bool {
        self.all || !self.names.is_empty()
    }
}

#[derive(Serialize)]
struct ListJson {
    snapshot: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenizer: Option<&'static str>,
    skills: Vec<SkillView>,
    problems: Vec<DiagnosticView>,
}

/// A skill of the snapshot, with the requested details.
struct Row<'a> {
    entry: &'a Entry,
    digest: Option<Option<String>>,
    tokens: Option<SkillTokensView>,
    origins: Option<Vec<ComparedOrigin>>,
    /// The clients of this machine, with what each gets of it.
    clients: Vec<SeeingClientView>,
    /// The clients that it is disabled for, if not for all.
    disabled_for: Vec<String>,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &ListArgs) -> Result<Exit, CliError> {
    if args.changed {
        return changed::write(ui, workspace, &args.names);
    }
    if args.duplicates {
        return duplicates::write(ui, workspace, &args.names, args.diff);
    }
    if let Some(client) = &args.client {
        return client::write(ui, workspace, client, args.window);
    }
    // A refused library can still be inspected.
    let is_all = args.shows_all();
    let library = if is_all {
        workspace.inspect_served(workspace.settings.policy.clone())
    } else {
        workspace.open()?
    };
    for name in &args.names {
        library.find_any(name)?;
    }
    let is_meant = |entry: &Entry| {
        let is_name = |name: &String| entry.name().as_str() == name || entry.qualified_name() == *name;
        args.names.is_empty() || args.names.iter().any(is_name)
    };
    let clients = SeeingClients::of(workspace, &library);
    let counter = TokenCounter::new(workspace, &library);
    let origins = args.origin.then(|| workspace.origins(&library));
    let for_clients = if is_all { disabled_for_clients(&workspace.env.places()) } else { Vec::new() };
    let entries = library.snapshot.entries().iter();
    let rows: Vec<Row<'_>> = entries
        .filter(|entry| is_meant(entry) && (is_all || entry.state == State::Active))
        .map(|entry| Row {
            entry,
            digest: args.digest.then(|| digest(&library, entry)),
            tokens: args.tokens.then(|| counter.count(entry)),
            origins: origins.as_ref().map(|origins| compared_origins(origins, entry)),
            clients: clients.of_skill(entry),
            disabled_for: clients_of(&for_clients, entry),
        })
        .collect();
    if ui.is_json() {
        let tokenizer = args.tokens.then(|| workspace.settings.session.catalog.tokenizer.as_str());
        let document = ListJson {
            snapshot: library.snapshot.number(),
            tokenizer,
            skills: rows.iter().map(|row| skill_json(workspace, row)).collect(),
            problems: library.problems.iter().map(DiagnosticView::of_source).collect(),
        };
        ui.write_json(&document)?;
    } else {
        if !rows.is_empty() {
            table(ui, workspace, &rows, args).write(ui)?;
        }
        let meant = library.snapshot.entries().iter().filter(|entry| is_meant(entry)).collect();
        summary(ui, workspace, &library, meant, args)?;
    }
    for (_, message) in origins.iter().flat_map(|origins| workspace.broken_records(origins)) {
        ui.warn(&message)?;
    }
    ui.flush()?;
    // The process ends here; freeing a large library piece by piece would only take time.
    std::mem::forget(library);
    Ok(Exit::Success)
}

fn skill_json(workspace: &Workspace, row: &Row<'_>) -> SkillView {
    let mut skill = SkillView::new(row.entry);
    skill.digest.clone_from(&row.digest);
    skill.tokens = row.tokens;
    let disabled_by = workspace
        .disabled_by(row.entry)
        .map(|by| DisabledByView { pattern: by.pattern.to_string(), file: by.file.display().to_string() });
    skill.disabled_by = Some(disabled_by.collect()).filter(|by: &Vec<_>| !by.is_empty());
    skill.outside_kits = workspace.kits_without(row.entry).map(|choice| choice.names.clone());
    skill.disabled_for = Some(row.disabled_for.clone()).filter(|clients| !clients.is_empty());
    skill.clients = Some(row.clients.clone());
    skill.origins = row.origins.as_ref().map(|origins| origins.iter().map(OriginView::new).collect());
    skill
}

/// Returns the clients that `entry` is disabled for, as `disabled` has them by pattern.
fn clients_of(disabled: &[DisabledClient], entry: &Entry) -> Vec<String> {
    let is_match = |it: &&DisabledClient| it.pattern.matches(&entry.source, entry.name().as_str());
    let mut clients: Vec<String> = disabled.iter().filter(is_match).map(|it| it.client.clone()).collect();
    clients.sort();
    clients.dedup();
    clients
}

/// A skill whose files cannot be read has no digest; `check` gives the reason.
fn digest(library: &Library, entry: &Entry) -> Option<String> {
    pollster::block_on(library.registry.digest(entry)).ok().map(|digest| digest.to_string())
}

fn table<'a>(ui: &Ui, workspace: &Workspace, rows: &'a [Row<'_>], args: &ListArgs) -> Table<'a> {
    let has_disabled =
        rows.iter().any(|row| row.entry.state == State::Disabled || !row.disabled_for.is_empty());
    let mut columns = vec![("NAME", Align::Left, Some(Style::Name))];
    let mark = |entry: &Entry| match diagnostic::worst(entry.diagnostics()) {
        Some(Severity::Warning | Severity::Error) => "!",
        _ => "",
    };
    // A column of its own, so that it stays where a long name is cut.
    let has_marks = rows.iter().any(|row| !mark(row.entry).is_empty());
    if has_marks {
        columns.push(("", Align::Left, Some(Style::Warning)));
    }
    let has_state = args.shows_all();
    if has_state {
        columns.push(("STATE", Align::Left, None));
    }
    if args.tokens {
        columns.push(("CATALOG", Align::Right, None));
        columns.push(("BODY", Align::Right, None));
    }
    if args.digest {
        columns.push(("DIGEST", Align::Left, Some(Style::Faint)));
    }
    let has_clients = rows.iter().any(|row| !row.clients.is_empty());
    if has_clients {
        columns.push(("CLIENTS", Align::Left, None));
    }
    columns.push(("SOURCE", Align::Left, Some(Style::Faint)));
    if has_disabled {
        columns.push(("DISABLED BY", Align::Left, Some(Style::Faint)));
    }
    // The last column, because it is not padded.
    if args.origin {
        columns.push(("SINCE", Align::Left, None));
        columns.push(("ORIGIN", Align::Elastic, None));
    } else {
        columns.push(("DESCRIPTION", Align::Elastic, None));
    }
    let mut table = Table::new(columns);
    for Row { entry, digest, tokens, origins, clients, disabled_for } in rows {
        table.cell(entry.name().as_str());
        if has_marks {
            table.cell(mark(entry));
        }
        if has_state {
            table.cell(if entry.is_last_good() { "last good" } else { entry.state.as_str() });
        }
        if args.tokens {
            let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
            table.cell(count(tokens.map(|tokens| tokens.catalog)));
            table.cell(count(tokens.and_then(|tokens| tokens.body)));
        }
        if args.digest {
            let digest = digest.as_ref().and_then(Option::as_deref).unwrap_or("-");
            table.cell(digest.chars().take(DIGEST_CHARS).collect::<String>());
        }
        if has_clients {
            table.cell(in_ids(clients, ui.width() / CLIENTS_OF_LINE));
        }
        table.cell(short_source(&entry.source));
        if has_disabled {
            let by_clients = format!("switches of {}", disabled_for.join(", "));
            let by_clients = (!disabled_for.is_empty()).then_some(by_clients);
            let everywhere = Some(workspace.disabled_where(entry)).filter(|by| !by.is_empty());
            let by: Vec<String> = everywhere.into_iter().chain(by_clients).collect();
            table.cell(ui.shown(&by.join(" and ")));
        }
        match origins {
            None => table.cell(&*entry.document.description),
            Some(origins) => {
                // Installers may disagree; a change that one of them sees is what matters.
                let states = origins.iter().map(|origin| origin.comparison.as_str());
                let changed = states.clone().find(|state| *state == "changed");
                table.cell(changed.or_else(|| states.clone().next()).unwrap_or("-"));
                table.cell(origins_in_words(origins));
            }
        }
    }
    table
}

/// Returns the ids of a skill's clients, `all` or `-`. Beyond `width`, all but the first are counted.
fn in_ids(clients: &[SeeingClientView], width: usize) -> String {
    let ids: Vec<&str> =
        clients.iter().filter(|client| client.reads || client.connected).map(|client| client.id).collect();
    match ids.len() {
        0 => "-".to_owned(),
        number if number > 1 && number == clients.len() => "all".to_owned(),
        number => match ids.join(", ") {
            all if number > 1 && all.len() > width => format!("{} +{}", ids[0], number - 1),
            all => all,
        },
    }
}

/// Shortens the source `label`: `claude` for the user's `.claude/skills`, `project:claude` for a project's.
fn short_source(label: &str) -> String {
    let (tier, path) = label.split_once(':').unwrap_or(("", label));
    let parts = path.rsplit('/').map(|part| part.trim_start_matches(['.', '$']));
    let directory = parts.skip_while(|part| *part == "skills").find(|part| !part.is_empty());
    // A variable such as `$CODEX_HOME` begins with the client, too.
    let client = directory.and_then(|part| part.split('_').next()).map(str::to_lowercase);
    match (tier, client) {
        ("user", Some(client)) => client,
        ("project", Some(client)) => format!("project:{client}"),
        _ => label.to_owned(),
    }
}

/// Returns the installers and sources of `origins` in one line.
fn origins_in_words(origins: &[ComparedOrigin]) -> String {
    let words = origins.iter().map(|ComparedOrigin { origin, .. }| match origin.in_words() {
        Some(source) => format!("{}: {source}", origin.installer.command()),
        None => origin.installer.command().to_owned(),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "-".to_owned() } else { words.join("; ") }
}

/// Writes the counts of `entries`, and what can be done. Problems of the library belong to a list of all.
fn summary(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    entries: Vec<&Entry>,
    args: &ListArgs,
) -> Result<(), CliError> {
    let problems = if args.names.is_empty() { &library.problems[..] } else { &[] };
    let count = |state| entries.iter().filter(|entry| entry.state == state).count();
    let with = |severity| {
        entries.iter().filter(|entry| diagnostic::worst(entry.diagnostics()) == Some(severity)).count()
    };
    let (faulty, flawed) = (with(Severity::Error), with(Severity::Warning));
    let mut parts = vec![format!("{} active", count(State::Active))];
    let others = [
        (count(State::Shadowed), State::Shadowed.as_str()),
        (count(State::Disabled), State::Disabled.as_str()),
        (count(State::Quarantined), State::Quarantined.as_str()),
        (entries.iter().filter(|entry| entry.is_last_good()).count(), "broken on disk"),
        (faulty, "with errors"),
        (flawed, "with warnings"),
    ];
    for (number, word) in others {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    let mut hints = Vec::new();
    if entries.is_empty() {
        hints.push(
            "no skills were found; run `rep doctor --verbose` to see where they are looked for".to_owned(),
        );
        hints.push(workspace.hint_without_skills());
    }
    if faulty + flawed > 0 || !problems.is_empty() {
        let command =
            std::iter::once("rep check".to_owned()).chain(args.names.iter().map(|name| shell_word(name)));
        let command = command.collect::<Vec<_>>().join(" ");
        hints.push(format!("run `{command}` to see what is wrong; it reads instructions and files too"));
    }
    if let Some(first) = entries.iter().find(|entry| entry.state != State::Active) {
        hints.push(if args.shows_all() {
            format!("run `rep explain {}` to see why", first.name())
        } else {
            "run `rep list --all` to see all".to_owned()
        });
    }
    for problem in problems {
        let found = &problem.diagnostic;
        let (style, word) = (found.severity.into(), format!("{}:", found.severity));
        ui.message(style, &word, &format!("{} ({})", found.message, problem.path))?;
    }
    if let Some((entry, _)) = library.snapshot.refusals().next() {
        ui.warn(&format!("the policy in force refuses this library because of {}", entry.path))?;
    }
    ui.flush()?;
    let counts = ui.paint_err(Style::Heading, &parts.join(", "));
    writeln!(ui.err(), "{counts}")?;
    for hint in hints {
        ui.hint(&hint)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn clients_that_do_not_fit_are_counted() {
        let client = |id, reads| SeeingClientView {
            id,
            reads,
            connected: false,
            switched_off: false,
            known_as: BTreeSet::new(),
        };
        let of = |ids: &[&'static str]| ids.iter().map(|id| client(id, true)).collect::<Vec<_>>();
        let mut some = of(&["claude-code", "cursor", "opencode"]);
        assert_eq!(in_ids(&some, 20), "all");
        some.push(client("codex", false));
        assert_eq!(in_ids(&some, usize::MAX), "claude-code, cursor, opencode");
        assert_eq!(in_ids(&some, 20), "claude-code +2");
        assert_eq!(in_ids(&some[..1], 5), "claude-code");
        assert_eq!(in_ids(&some[3..], 5), "-");
    }

    #[test]
    fn sources_are_shown_in_short_words() {
        for (label, expect) in [
            ("user:.claude/skills", "claude"),
            ("user:$CODEX_HOME/skills", "codex"),
            ("user:.config/opencode/skills", "opencode"),
            ("project:.agents/skills", "project:agents"),
            ("plugin:superpowers", "plugin:superpowers"),
            ("root:one", "root:one"),
        ] {
            assert_eq!(short_source(label), expect);
        }
    }
}
