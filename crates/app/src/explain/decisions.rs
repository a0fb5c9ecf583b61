//! Every decision about a skill that is there, in the order they were made.

use std::path::Path;

use repertoire::Entry;
use repertoire::discovery::{Place, Presence};
use repertoire_clients::{DisabledClient, disabled_for_clients};
use repertoire_model::catalog::Tier;
use repertoire_model::{Diagnostic, RuleId, Severity, State, document};

use crate::error::Error;
use crate::view::SkillDecisionView;
use crate::workspace::{Library, Workspace, shell_word};

/// Returns the decisions about `entry` with its findings `found`; `refusal` is why the library is refused.
pub(super) fn of(
    workspace: &Workspace,
    library: &Library,
    entry: &Entry,
    found: &[Diagnostic],
    refusal: Option<&repertoire::Error>,
) -> Result<Vec<SkillDecisionView>, Error> {
    let mut decisions = Decisions(Vec::new());
    decisions.place(workspace, library, entry);
    decisions.identity(entry);
    for found in found.iter().filter(|found| found.rule != RuleId::DuplicateName) {
        let line = found.line().map(|line| format!(":{line}")).unwrap_or_default();
        let file = found.file.as_deref().unwrap_or(&entry.manifest_file);
        decisions.add("rule", format!("{}[{}] {} ({file}{line})", found.severity, found.rule, found.message));
    }
    decisions.standing(workspace, library, entry, found, refusal.is_some());
    match refusal {
        None => decisions.catalog(workspace, library, entry)?,
        Some(refusal) => decisions.refusal(library, entry, found, refusal),
    }
    Ok(decisions.0)
}

struct Decisions(Vec<SkillDecisionView>);

impl Decisions {
    fn add(&mut self, topic: &'static str, text: impl Into<String>) {
        self.0.push(SkillDecisionView { topic, text: text.into() });
    }

    fn place(&mut self, workspace: &Workspace, library: &Library, entry: &Entry) {
        let place = library.places.iter().find(|place| place.root.label == *entry.source);
        let because = place.map(|place| format!(", {}", place.root.tier.as_str())).unwrap_or_default();
        self.add("found", format!("in {} by {}{because}", workspace.shown(&entry.path), entry.source));
        let same =
            |place: &&Place| matches!(&place.presence, Presence::SameAs(label) if **label == *entry.source);
        for place in library.places.iter().filter(same) {
            let path = workspace.shown(&place.root.path.display().to_string());
            self.add("also", format!("{path} leads to the same directory"));
        }
        for route in &entry.also {
            self.add(
                "also",
                format!(
                    "the same directory is reached by {} as {}",
                    route.source,
                    workspace.shown(&route.path)
                ),
            );
        }
        if entry.manifest_file != document::MANIFEST_FILE {
            self.add("file", format!("its SKILL.md is spelled {}", entry.manifest_file));
        }
    }

    fn identity(&mut self, entry: &Entry) {
        let document = &entry.document;
        if document.repaired {
            self.add("repair", "its frontmatter is not valid YAML and was read as it was meant");
        }
        let name = entry.name().as_str();
        self.add(
            "name",
            match document.manifest.name.as_deref() {
                Some(written) if written == name => "taken from the frontmatter".to_owned(),
                Some(written) if Path::new(&*entry.path).file_name().is_some_and(|last| last == name) => {
                    format!("taken from the directory; the frontmatter says `{written}`")
                }
                Some(written) => {
                    format!("made from `{written}` in the frontmatter, which cannot be used as it is")
                }
                None => "taken from the directory, because the frontmatter has no name".to_owned(),
            },
        );
        let length = document.description.chars().count();
        self.add(
            "description",
            match &document.manifest.description {
                Some(written) if !written.trim().is_empty() => {
                    format!("taken from the frontmatter, {length} characters")
                }
                _ if length == 0 => "missing, and there is no text to make one from".to_owned(),
                _ => {
                    format!(
                        "made from the text, because the frontmatter has no description: {}",
                        document.description
                    )
                }
            },
        );
        if let Some(version) = &document.manifest.version {
            self.add("version", version.clone());
        }
    }

    fn standing(
        &mut self,
        workspace: &Workspace,
        library: &Library,
        entry: &Entry,
        found: &[Diagnostic],
        is_refused: bool,
    ) {
        let collision = found.iter().find(|found| found.rule == RuleId::DuplicateName);
        let collision = collision.map(|found| found.message.as_str());
        match entry.state {
            State::Active => {
                let name = entry.name();
                let losers = library
                    .snapshot
                    .entries()
                    .iter()
                    .filter(|other| other.name() == name)
                    .filter(|other| !matches!(other.state, State::Active | State::Disabled));
                for loser in losers {
                    self.add("collision", format!("it wins over {} ({})", loser.path, loser.source));
                }
                let loadable = if is_refused {
                    "active: no other skill of this name comes before it"
                } else if entry.allows_models() {
                    "active: agents can load it"
                } else {
                    "active: people can invoke it; agents can neither see nor load it"
                };
                self.add("state", loadable);
            }
            State::Shadowed => {
                self.add("collision", collision.unwrap_or("another skill has its name and comes first"));
                self.add("state", format!("shadowed: load it as {}", entry.qualified_name()));
            }
            State::Disabled => {
                let (name, place) = (entry.name(), workspace.disabled_where(entry));
                self.add("state", format!("disabled by {place}: `{name}` does not exist for agents"));
                for step in workspace.enabling_steps(entry) {
                    self.add("enable", step);
                }
            }
            State::Quarantined => {
                if let Some(collision) = collision {
                    self.add("collision", collision);
                }
                self.add("state", "quarantined: it is set aside and cannot be loaded until this is mended");
            }
        }
        // Clients of this machine read directories alone.
        let clients = entry.identity.as_ref().map(|_| disabled_for_clients(&workspace.env.places()));
        for DisabledClient { pattern, client } in clients.unwrap_or_default() {
            if pattern.matches(&entry.source, entry.name().as_str()) {
                let command = format!("`rep enable --client {client} {}`", shell_word(&pattern.to_string()));
                self.add("client", format!("disabled for {client} alone; {command} enables it"));
            }
        }
    }

    /// Adds that nothing of the library can be loaded.
    fn refusal(
        &mut self,
        library: &Library,
        entry: &Entry,
        found: &[Diagnostic],
        refusal: &repertoire::Error,
    ) {
        let is_error = found.iter().any(|found| found.severity == Severity::Error);
        let is_reason = (is_error && library.registry.policy().refuses_errors_of(&entry.source))
            || library.snapshot.refusals().any(|(refused, _)| std::ptr::eq(refused, entry));
        let because = match refusal.subject().filter(|_| !is_reason) {
            Some(other) => format!("`{other}`"),
            None => "it".to_owned(),
        };
        self.add(
            "refusal",
            format!(
                "the policy in force refuses the whole library because of {because}: no skill of it can be loaded"
            ),
        );
        self.add("catalog", "there is no catalog, because the library is refused");
    }

    fn catalog(&mut self, workspace: &Workspace, library: &Library, entry: &Entry) -> Result<(), Error> {
        if entry.state != State::Active {
            let why = if entry.state == State::Disabled { "disabled" } else { "not active" };
            self.add("catalog", format!("left out, because it is {why}"));
            return Ok(());
        }
        if !entry.is_offered() {
            self.add("catalog", "left out, because its author set disable-model-invocation");
            return Ok(());
        }
        let options = workspace.settings.session.catalog_options();
        let catalog = library.snapshot.catalog(&options).map_err(|error| Error::no(error.to_string()))?;
        let tier = catalog.report.tiers.iter().find(|skill| skill.name == entry.name().as_str());
        let shown = match tier.map(|skill| skill.tier) {
            None | Some(Tier::Omitted) => "left out, because the catalog has no room for it",
            Some(Tier::NameOnly) => "shown by its name only",
            Some(Tier::FirstSentence) => "shown with the first sentence of its description",
            Some(Tier::Full) => "shown with its whole description",
        };
        let budget = options
            .budget_tokens
            .map_or("no limit of tokens".to_owned(), |budget| format!("a limit of {budget} tokens"));
        self.add("catalog", format!("{shown}, with {budget}"));
        Ok(())
    }
}
