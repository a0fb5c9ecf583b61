//! Checks the set-up: configuration, places, state, sandboxes, the library and clients.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use repertoire::discovery::{Place, Presence, Tier};
use repertoire::proposal::ProposalMode;
use repertoire::provider::Problem;
use repertoire::session::ToolOptions;
use repertoire::tool::OfferedTools;
use repertoire::{AgentPrompt, BindingOptions, Entry};
use repertoire_model::{Diagnostic, RuleId, Severity, State};
use repertoire_sources::LOCK_FILE;

use crate::docs::docs;
use crate::explain::first_of;
use crate::installation::{Installation, programs_on_path};
use crate::view::{CheckStatus as Status, CheckView};
use crate::workspace::environment::{self as env, Env};
use crate::workspace::{
    Library, Reporter, UnreadableState, Workspace, WorkspaceOptions, settings, shell_word,
};

use repertoire::config::{DisabledPattern, Settings};
use repertoire_model::text::{count, list};

/// The most skills that are named one by one.
pub(super) const MAX_NAMED: usize = 5;

/// Runs all checks of the workspace that `options` open in `env`.
pub fn checks(env: Env, options: &WorkspaceOptions, reporter: Arc<dyn Reporter>) -> Vec<CheckView> {
    let mut checks = Checks(Vec::new());
    checks.ok("version", format!("rep {}", env!("CARGO_PKG_VERSION")));
    checks.installation(&env);
    checks.environment(&env);
    let Some(settings) = checks.configuration(&env, options) else { return checks.0 };
    let workspace = Workspace::new(env, options.clone(), settings, reporter);
    let (profile, left_out) = (&workspace.settings.profile, &workspace.settings.profile_left_out);
    if left_out.is_empty() {
        checks.ok("profile", profile.as_str());
    } else {
        let message = format!("{profile}, chosen by the project, except for {}", left_out.join(", "));
        let hint =
            format!("only you can set these; write `profile = \"{profile}\"` in your user configuration");
        checks.add(Status::Warn, "profile", message, Some(&hint));
    }
    let library = &workspace.inspect(workspace.settings.policy.clone());
    for place in &library.places {
        checks.place(&workspace, library, place);
    }
    if library.places.is_empty() {
        checks.add(
            Status::Warn,
            "place",
            "no places are looked at",
            Some("set `roots`, or turn discovery on"),
        );
    }
    checks.cache(&workspace);
    checks.index(&workspace, library);
    checks.store(&workspace);
    checks.sandboxes(&workspace);
    checks.proposals(&workspace.settings);
    checks.following(&workspace);
    checks.library(&workspace, library);
    checks.records(&workspace, library);
    checks.agents(&workspace, library);
    checks.search(&workspace);
    checks.clients(&workspace);
    checks.files_read_twice(&workspace, library);
    checks.listings(&workspace, library);
    checks.links(&workspace);
    checks.0
}

pub(super) struct Checks(Vec<CheckView>);

impl Checks {
    pub(super) fn add(
        &mut self,
        status: Status,
        topic: &'static str,
        message: impl Into<String>,
        hint: Option<&str>,
    ) {
        // Some errors of databases have several lines.
        let message = message.into().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        self.0.push(CheckView { status, topic, message, hint: hint.map(str::to_owned) });
    }

    pub(super) fn ok(&mut self, topic: &'static str, message: impl Into<String>) {
        self.add(Status::Ok, topic, message, None);
    }

    pub(super) fn info(&mut self, topic: &'static str, message: impl Into<String>) {
        self.add(Status::Info, topic, message, None);
    }

    /// Names the way in which the program was installed, and warns if a shell finds several.
    fn installation(&mut self, env: &Env) {
        if let Some(installation) = Installation::find(env) {
            let message = format!("{}, {}", installation.program.display(), installation.description());
            self.ok("installed", message);
        }
        if let [first, others @ ..] = &programs_on_path(env)[..]
            && !others.is_empty()
        {
            let others: Vec<String> = others.iter().map(|path| path.display().to_string()).collect();
            let others = list(&others.iter().map(String::as_str).collect::<Vec<_>>());
            let message = format!("a shell starts {}, and finds {others} too", first.display());
            self.add(Status::Warn, "installed", message, Some("remove all but one, or change PATH"));
        }
    }

    /// Says if agents are offered tools to propose changes.
    fn proposals(&mut self, settings: &Settings) {
        let ToolOptions { offered, propose_tools, .. } = &settings.session.tools;
        let is_shown = *propose_tools || !matches!(offered, OfferedTools::Needed(_));
        if settings.proposals.mode == ProposalMode::Off {
            return self.ok("proposals", "`proposals.mode` refuses proposals");
        }
        if is_shown && offered.includes("propose_skill_update") {
            return self.ok("proposals", "agents are offered tools to propose changes of skills");
        }
        let hint = "set `proposals.offer = true` in your user configuration to offer them";
        let message = "agents are not offered tools to propose changes of skills";
        self.add(Status::Info, "proposals", message, Some(hint));
    }

    fn environment(&mut self, env: &Env) {
        for (name, near) in settings::unknown_variables(env) {
            let hint = near
                .map_or(format!("every variable is listed in {}", docs("reference/configuration")), |near| {
                    format!("did you mean {near}?")
                });
            self.add(Status::Warn, "variable", format!("{name} is set but means nothing"), Some(&hint));
        }
        let is_choice =
            |word: &OsStr| ["auto", "always", "never"].iter().any(|choice| word.eq_ignore_ascii_case(choice));
        if env.get(env::COLOR).is_some_and(|word| !is_choice(word)) {
            let hint = "it takes auto, always or never";
            self.add(Status::Warn, "variable", format!("{} is not understood", env::COLOR), Some(hint));
        }
        if let Some(state) = UnreadableState::find(env) {
            self.add(Status::Warn, "state", state.message(), Some(&state.remedy()));
        }
        if env.home().is_none() {
            let message = "there is no home directory, so the user's skills and configuration are not read";
            self.add(Status::Warn, "home", message, Some("set HOME"));
        }
    }

    /// Returns the settings, unless it is broken.
    fn configuration(&mut self, env: &Env, options: &WorkspaceOptions) -> Option<Settings> {
        let files = settings::input(env, options).files();
        let outcome = settings::load(env, options);
        match &outcome {
            Ok(_) => {
                for (owner, path) in &files.found {
                    self.ok("config", format!("{} ({})", path.display(), owner.as_str()));
                }
                for path in &files.absent {
                    self.info("config", format!("{} is not there", path.display()));
                }
            }
            Err(error) => {
                let line = error.file().is_some().then_some("run `rep list` to see the line");
                let hint = error.hints().first().map(String::as_str).or(line);
                self.add(Status::Error, "config", error.message_with_causes(), hint);
            }
        }
        outcome.ok()
    }

    fn place(&mut self, workspace: &Workspace, library: &Library, place: &Place) {
        let path = workspace.shown(&place.root.path.display().to_string());
        let (entries, label) = (library.snapshot.entries(), place.root.label.as_str());
        let message = match &place.presence {
            Presence::Found => {
                let own = entries.iter().filter(|entry| *entry.source == *label).count();
                let also = entries.iter().flat_map(|entry| &entry.also);
                let also = match also.filter(|route| *route.source == *label).count() {
                    0 => String::new(),
                    also => format!(", {also} more found before"),
                };
                return self.ok("place", format!("{path}: {}{also} ({label})", count(own, "skill")));
            }
            Presence::SameAs(first) => {
                return self.ok("place", format!("{path} leads to the same directory as {first}"));
            }
            Presence::Missing => format!("{path} is not there ({label})"),
            Presence::NotDirectory => format!("{path} is not a directory that can be read ({label})"),
        };
        let (status, hint) = match place.root.tier {
            Tier::Given => (Status::Error, "give --root a directory that exists"),
            Tier::Configured if place.presence == Presence::NotDirectory => {
                (Status::Error, "correct `roots` in the configuration")
            }
            Tier::Configured | Tier::Pack | Tier::Plugin => {
                (Status::Warn, "correct it in the configuration, or make it")
            }
            Tier::Project | Tier::User if place.presence == Presence::Missing => return,
            Tier::Project | Tier::User => (Status::Warn, "make it a directory of skills, or remove it"),
        };
        self.add(status, "place", message, Some(hint));
    }

    /// Reports records of installers that cannot be read.
    fn records(&mut self, workspace: &Workspace, library: &Library) {
        for (path, message) in workspace.broken_records(&workspace.origins(library)) {
            let is_own = path.ends_with(LOCK_FILE);
            let status = if is_own { Status::Error } else { Status::Warn };
            let hint = "correct the file, or take it from version control";
            self.add(status, "record", message, Some(hint));
        }
    }

    /// Reports the agents of the configuration whose prompts cannot be made.
    fn agents(&mut self, workspace: &Workspace, library: &Library) {
        let options = BindingOptions::of(&workspace.session_options(None));
        for name in workspace.settings.agents.keys() {
            let prompt = workspace.agent(name).and_then(|agent| {
                Ok(pollster::block_on(AgentPrompt::load(&library.registry, &agent, &options))?)
            });
            match prompt {
                Ok(_) => self.ok("agent", name),
                Err(error) => {
                    let hint = format!("run `rep prompt --agent {name}`");
                    self.add(Status::Warn, "agent", error.message_with_causes(), Some(&hint));
                }
            }
        }
    }

    /// Reports that skills are found by their words alone, where the configuration wants more.
    fn search(&mut self, workspace: &Workspace) {
        if let Some(fault) = workspace.search_fault() {
            let message = format!("skills are found by their words alone: {fault}");
            self.add(
                Status::Warn,
                "search",
                message,
                Some("correct the keys of `search` in your user configuration"),
            );
        }
    }

    fn cache(&mut self, workspace: &Workspace) {
        let Some(directory) = workspace.cache_directory() else {
            return self.ok("cache", "off");
        };
        let shown = directory.display();
        match fs::create_dir_all(&directory).and_then(|()| probe(&directory)) {
            Ok(()) => self.ok("cache", format!("{shown}, {}", bytes(size(&directory)))),
            Err(error) => self.add(
                Status::Warn,
                "cache",
                format!("{shown} cannot be written: {error}"),
                Some("set REPERTOIRE_CACHE_DIR, or REPERTOIRE_NO_CACHE=1; it only costs time"),
            ),
        }
    }

    fn index(&mut self, workspace: &Workspace, library: &Library) {
        let searcher = workspace.searcher(&library.places, &workspace.settings.policy);
        let Some(file) = searcher.index_file() else {
            return self.ok("index", "off; every run that searches makes its own");
        };
        let (shown, size) = (file.display(), fs::metadata(file).map(|metadata| metadata.len()));
        match (searcher.stored_skills(), size) {
            (Some(skills), Ok(size)) => {
                self.ok("index", format!("{shown}: {}, {}", count(skills, "skill"), bytes(size)))
            }
            (None, Ok(_)) => self.ok("index", format!("{shown} is stale; the next search rebuilds it")),
            (_, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                self.ok("index", format!("{shown} is not built yet; the first search builds it"));
            }
            (_, Err(error)) => {
                let hint = "every run that searches makes its own; correct the directory of the cache";
                self.add(Status::Warn, "index", format!("{shown} cannot be read: {error}"), Some(hint));
            }
        }
    }

    /// Warns of `skills`, each with the reason and the word by which `rep check` finds it, in one message.
    fn skills(&mut self, is: &str, are: &str, skills: Vec<(&Entry, String, String)>) {
        let names: Vec<String> = skills.iter().map(|(entry, ..)| entry.name().to_string()).collect();
        let message = match &skills[..] {
            [] => return,
            [(entry, why, _)] => format!("{} {is}: {why}", entry.name()),
            _ => format!("{} {are}: {}", count(skills.len(), "skill"), first_of(&names, MAX_NAMED, "more")),
        };
        let words: Vec<String> = skills.iter().take(MAX_NAMED).map(|(.., word)| shell_word(word)).collect();
        self.add(Status::Warn, "skill", message, Some(&format!("run `rep check {}`", words.join(" "))));
    }

    fn library(&mut self, workspace: &Workspace, library: &Library) {
        // A directory that is missing, or a file, is reported as a place.
        let is_place = |path: &str| {
            let is_file = |place: &Place| place.presence == Presence::NotDirectory;
            library.places.iter().any(|place| is_file(place) && place.root.path == Path::new(path))
        };
        let is_new = |problem: &&Problem| match problem.diagnostic.rule {
            RuleId::SourceMissing => false,
            RuleId::SourceBroken => !is_place(&problem.path),
            _ => true,
        };
        for problem in library.problems.iter().filter(is_new) {
            let found = &problem.diagnostic;
            let status = if found.severity == Severity::Error { Status::Error } else { Status::Warn };
            let message = format!("{} ({})", found.message, workspace.shown(&problem.path));
            self.add(status, "source", message, found.help.as_deref());
        }
        let entries = library.snapshot.entries();
        let active: Vec<&Entry> = library.snapshot.active().collect();
        let findings = library.check(&active);
        let has_error = |found: &&Diagnostic| found.severity == Severity::Error;
        let with_errors = active.iter().zip(&findings).filter_map(|(entry, found)| {
            Some((*entry, found.iter().find(has_error)?.message.clone(), entry.name().to_string()))
        });
        self.skills("has errors", "have errors", with_errors.collect());
        let is_large =
            |found: &&Diagnostic| found.rule == RuleId::BodyOversize && found.severity >= Severity::Warning;
        let large = active.iter().zip(&findings).filter_map(|(entry, found)| {
            Some((*entry, found.iter().find(is_large)?.message.clone(), entry.name().to_string()))
        });
        self.skills("has too many instructions", "have too many instructions", large.collect());
        let of = |state| entries.iter().filter(move |entry| entry.state == state);
        let recorded = workspace.recorded_in_force(library);
        let (served, broken) = of(State::Quarantined)
            .map(|entry| (entry, why(entry), workspace.shown(&entry.path)))
            .partition(|(entry, ..)| recorded.contains_key(&*entry.path));
        self.skills("is quarantined", "are quarantined", broken);
        let words = "broken on disk, agents get the last good version";
        self.skills(&format!("is {words}"), &format!("are {words}"), served);
        let shadowed: Vec<&Entry> = of(State::Shadowed).collect();
        let message = match shadowed[..] {
            [] => None,
            [entry] => Some(why(entry)),
            _ => {
                let names: Vec<String> = shadowed.iter().map(|entry| entry.name().to_string()).collect();
                Some(format!(
                    "{} lose their names to others: {}",
                    count(shadowed.len(), "skill"),
                    first_of(&names, MAX_NAMED, "more")
                ))
            }
        };
        if let Some(message) = message {
            self.add(Status::Warn, "duplicate", message, Some("run `rep list --duplicates`"));
        }
        for entry in of(State::Disabled).take(MAX_NAMED) {
            let hints = workspace.enabling_steps(entry);
            let message = format!("{} is disabled by {}", entry.name(), workspace.disabled_where(entry));
            self.add(Status::Info, "disabled", message, Some(&hints.join(" and ")));
        }
        let is_used = |it: &DisabledPattern| {
            entries.iter().any(|entry| it.pattern.matches(&entry.source, entry.name().as_str()))
        };
        for disabled in workspace.settings.disabled.iter().filter(|it| !is_used(it)).take(MAX_NAMED) {
            self.info("disabled", format!("{} matches no skill", workspace.pattern_and_file(disabled)));
        }
        // A skill whose last good version is served is active.
        let counts = [
            (of(State::Active).count() + recorded.len(), "active"),
            (of(State::Shadowed).count(), "shadowed"),
            (of(State::Disabled).count(), "disabled"),
            (of(State::Quarantined).count().saturating_sub(recorded.len()), "quarantined"),
            (recorded.len(), "broken on disk"),
        ];
        let is_shown =
            |(number, word): &&(usize, &str)| *number > 0 || !["disabled", "broken on disk"].contains(word);
        let counts: Vec<String> =
            counts.iter().filter(is_shown).map(|(number, word)| format!("{number} {word}")).collect();
        if let Err(error) = pollster::block_on(library.registry.accepted()) {
            let hint = "run `rep check`, or use `--profile standard`";
            self.add(Status::Error, "library", error.to_string(), Some(hint));
        } else if entries.is_empty() {
            let hint = workspace.hint_without_skills();
            self.add(Status::Warn, "library", "there are no skills", Some(&hint));
        } else {
            self.ok("library", counts.join(", "));
        }
        for hint in workspace.hints_about_unlisted(library) {
            self.info("library", hint);
        }
    }
}

/// Returns the reason that `entry` was set aside: an error of its own, or else that of the resolution.
fn why(entry: &Entry) -> String {
    let error = entry.diagnostics().find(|found| found.severity == Severity::Error);
    error.or(entry.diagnostics().next_back()).map(|found| found.message.clone()).unwrap_or_default()
}

/// Writes and removes a file in `directory`.
pub(super) fn probe(directory: &Path) -> std::io::Result<()> {
    let path = directory.join(format!(".probe.{}", std::process::id()));
    fs::write(&path, b"")?;
    fs::remove_file(&path)
}

fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

pub(super) fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} bytes"),
        1024..1_048_576 => format!("{} KiB", size / 1024),
        _ => format!("{} MiB", size / 1_048_576),
    }
}
