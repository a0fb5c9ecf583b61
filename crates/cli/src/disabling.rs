//! The arguments and the report of commands that disable and enable skills.

use std::collections::BTreeSet;

use clap::Args;
use repertoire::change::{ChangeSteps, PathStep, WriterLock};
use repertoire_app::switch::disabled_list;
use repertoire_app::workspace::ChangeSite;
use repertoire_clients::Owner;
use repertoire_clients::disable::{ChangeKind, ChangeState, ClientChanges, DisabledList};
use repertoire_model::Pattern;
use serde_json::{Value, json};

use crate::complete::client_names;
use crate::error::CliError;
use crate::ui::Ui;
use crate::wire::{Library, Workspace};

/// The file that is written.
#[derive(Debug, Default, Args)]
pub(crate) struct FileArgs {
    /// Write the project's repertoire.toml, for everybody who works on it
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Write the user's configuration file, which is the default
    #[arg(long)]
    user: bool,
    /// Change only what this client reads from files: links that were made for it, and its own switch
    #[arg(long, value_name = "CLIENT", value_parser = client_names())]
    pub(crate) client: Option<String>,
    /// Show what would be changed and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl FileArgs {
    /// Returns whose links and settings of clients are changed.
    pub(crate) fn owner(&self) -> Owner {
        if self.project { Owner::Project } else { Owner::User }
    }

    /// Waits until no other process makes a change, unless nothing is changed.
    pub(crate) fn begin(&self, workspace: &Workspace) -> Result<Option<ChangeInProgress>, CliError> {
        if self.dry_run {
            return Ok(None);
        }
        // A file that is named belongs to no one, and is written alone.
        let is_named = workspace.config_input().file.is_some();
        let owner = if is_named && self.client.is_none() { Owner::Project } else { self.owner() };
        let site = ChangeSite::of(&workspace.env, owner)?;
        let lock = site.begin()?;
        Ok(Some(ChangeInProgress { site, lock }))
    }

    /// Reads the list of the configuration file that is written.
    pub(crate) fn open_list(&self, workspace: &Workspace) -> Result<DisabledList, CliError> {
        disabled_list(workspace, (self.project || self.user).then(|| self.owner()))
    }
}

/// The place of a change, which is locked.
pub(crate) struct ChangeInProgress {
    site: ChangeSite,
    lock: WriterLock,
}

impl ChangeInProgress {
    /// Takes `steps`, which are `about` these patterns, and notes that `changes` are made.
    pub(crate) fn apply(
        &self,
        command: &str,
        about: &[String],
        steps: Vec<PathStep>,
        changes: Option<&mut ClientChanges>,
        ui: &mut Ui,
    ) -> Result<(), CliError> {
        let about = about.to_vec();
        let change = ChangeSteps { command, about, steps, ..ChangeSteps::default() };
        let note = self.site.apply(&self.lock, &change)?;
        changes.into_iter().for_each(ClientChanges::finish);
        Ok(ui.warn_all(&note)?)
    }
}

pub(crate) fn client_changes(
    workspace: &Workspace,
    args: &FileArgs,
    client: &str,
) -> Result<ClientChanges, CliError> {
    ClientChanges::open(workspace.env.places(), args.owner(), Some(client))?
        .ok_or_else(|| CliError::usage("there is no home directory").hint("set HOME, or use `--project`"))
}

/// Returns the pattern that `name` stands for: the name of a skill, or else a pattern with `*` or `?`.
pub(crate) fn pattern(library: &Library, name: &str) -> Result<Pattern, CliError> {
    let text = if name.contains(['*', '?']) {
        name.to_owned()
    } else {
        let entry = library.find_any(name)?;
        let qualified = entry.qualified_name();
        if qualified == name { qualified } else { entry.name().to_string() }
    };
    Pattern::new(&text).map_err(|fault| CliError::usage(format!("`{name}` is not a pattern: {fault}")))
}

/// The verbs for changes, planned and done.
pub(crate) struct ChangeWords {
    pub(crate) link: (&'static str, &'static str),
    pub(crate) switch: (&'static str, &'static str),
}

/// Writes a line for each of `changes`; `words` are for the links and for the switches, planned and done.
pub(crate) fn show(
    ui: &mut Ui,
    workspace: &Workspace,
    changes: &ClientChanges,
    words: &ChangeWords,
) -> Result<(), CliError> {
    let mut warned = BTreeSet::new();
    for line in &changes.lines {
        let path = workspace.shown(&line.path);
        let (planned, done) = if line.kind == ChangeKind::Link { words.link } else { words.switch };
        let verb = match line.state {
            ChangeState::Planned => planned,
            ChangeState::Done => done,
            ChangeState::LeftAlone | ChangeState::Failed => {
                // Two skills of one name have the same reason.
                let refusal = line.refusal(&path);
                if warned.insert(refusal.clone()) {
                    ui.warn(&refusal)?;
                }
                continue;
            }
        };
        let text = format!("{verb} {}, for {}", line.subject(&path), line.titles());
        ui.write_planned(None, &text)?;
    }
    if changes.is_unfinished() {
        ui.hint("what could not be changed stays recorded; run the command again when it can be")?;
    }
    Ok(())
}

pub(crate) fn lines_json(changes: Option<&ClientChanges>) -> Value {
    let lines = changes.into_iter().flat_map(|changes| &changes.lines);
    lines
        .map(|line| {
            json!({
                "kind": line.kind.as_str(),
                "skill": line.skill,
                "clients": line.clients,
                "path": line.path,
                "state": line.state.as_str(),
                "reason": line.reason,
            })
        })
        .collect()
}
