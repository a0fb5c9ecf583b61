//! `rep migrate`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use repertoire::change::{FileKind, MAX_FILE_BYTES, replace_file};
use repertoire::migrate::{Pack, RoleFiles, RoleSplit, RolesFound, read_roles};
use repertoire::{Entry, ErrorKind, regular_file};
use repertoire_app::workspace::new_skill_place;
use repertoire_model::text::count;
use serde::Serialize;

use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::{Library, Workspace};

/// Converts other layouts to skills
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct MigrateArgs {
    /// The layout.
    #[command(subcommand)]
    layout: Layout,
}

/// A layout that skills are made of.
#[derive(Debug, Subcommand)]
enum Layout {
    /// Converts every role to a skill: ROLE/system_prompt.md or ROLE/prompt.jinja2, with task_prompt.md and
    /// config.yaml if they exist
    ///
    /// Shows what it would write, and asks. Existing files are never overwritten, and the files of the roles
    /// stay as they are: a role that has a skill uses it, and the others work as before.
    Roles(RolesArgs),
}

/// The arguments of `rep migrate roles`.
#[derive(Debug, Args)]
struct RolesArgs {
    /// The directory of the roles, as in templates/roles
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
    /// Make the skills in this directory; by default, in the project's .agents/skills
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Divide each role: its knowledge becomes a skill, the role stays a prompt, and an agent with both goes
    /// to repertoire.toml
    #[arg(long)]
    split: bool,
    /// Only show what would be written
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Write the skills without asking
    #[arg(long, short)]
    yes: bool,
}

/// The place of the prompts and agents of divided roles.
struct AgentFiles<'a> {
    roles: &'a Path,
    /// The project's configuration.
    config: &'a Path,
}

/// The prompt and the agent of a divided role.
#[derive(Serialize)]
struct AgentJson {
    path: String,
    prompt: String,
    /// The path of the configuration file.
    config: String,
    /// The table that is added to it.
    toml: String,
}

impl AgentJson {
    /// Returns the absolute path of the prompt.
    fn prompt_file(&self) -> PathBuf {
        let config = Path::new(&self.config);
        config.parent().unwrap_or(config).join(&self.path)
    }
}

#[derive(Serialize)]
struct MigrationJson {
    directory: String,
    to: String,
    roles: Vec<RoleJson>,
    problems: Vec<ProblemJson>,
}

impl MigrationJson {
    /// Returns the number of roles in `state`.
    fn count(&self, state: &str) -> usize {
        self.roles.iter().filter(|role| role.state == state).count()
    }
}

/// The outcome for one role.
#[derive(Serialize)]
struct RoleJson {
    role: String,
    name: Option<String>,
    path: Option<String>,
    state: &'static str,
    files: Vec<FileJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentJson>,
    notes: Vec<String>,
}

impl RoleJson {
    /// Returns `true` if something other than another role's skill of the name stands in its place.
    fn is_there(&self) -> bool {
        self.state == EXISTS && self.notes.is_empty()
    }
}

#[derive(Serialize)]
struct FileJson {
    path: &'static str,
    text: String,
}

#[derive(Serialize)]
struct ProblemJson {
    path: String,
    message: String,
}

/// The configuration of a project.
const PROJECT_FILE: &str = "repertoire.toml";
/// The prompt of a divided role, in the directory of the role.
const ROLE_FILE: &str = "prompt.md";
/// It would be written.
const PLANNED: &str = "planned";
/// It was written.
const WRITTEN: &str = "written";
/// Something of that name is there already.
const EXISTS: &str = "exists";
/// No name for a skill can be made of the role's.
const NAMELESS: &str = "nameless";

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &MigrateArgs) -> Result<Exit, CliError> {
    let Layout::Roles(args) = &args.layout;
    let env = &workspace.env;
    let directory = env.working_directory().join(&args.directory);
    let to = args.dir.as_ref().map_or_else(|| new_skill_place(env), |to| env.working_directory().join(to));
    let found = read_roles(&directory).map_err(|error| match error.kind() {
        ErrorKind::FileNotFound => CliError::no(format!("there is no directory {}", directory.display()))
            .hint("name the directory whose sub-directories are the roles"),
        _ => CliError::from(error),
    })?;
    let plan = migration(workspace, args, &directory, &to, &found, args.yes)?;
    let done = plan.count(PLANNED);
    let consent = match done {
        _ if args.yes || args.dry_run => Consent::Refused,
        _ if ui.is_json() => Consent::Unasked,
        0 => Consent::Refused,
        _ => {
            report(ui, &plan, false)?;
            ui.consent(&format!("write {}?", count(done, "skill")), false)?
        }
    };
    let is_written = args.yes || consent == Consent::Given;
    let migration = match consent {
        Consent::Given => migration(workspace, args, &directory, &to, &found, true)?,
        _ => plan,
    };
    if ui.is_json() {
        ui.write_json(&migration)?;
    } else if is_written || args.dry_run || done == 0 {
        report(ui, &migration, is_written)?;
    }
    if !is_written && !args.dry_run && done > 0 {
        return Err(not_written(consent, format!("{} would be written", count(done, "skill"))));
    }
    // A plan that finds everything done is not a failure; a skill that was to be written and was not is one.
    let is_done =
        |role: &RoleJson| matches!(role.state, PLANNED | WRITTEN) || (!is_written && role.is_there());
    let all_done = migration.problems.is_empty() && migration.roles.iter().all(is_done);
    Ok(if all_done { Exit::Success } else { Exit::No })
}

/// Returns the outcome for each role of `found`, whose skills are written if `write` is `true`.
fn migration(
    workspace: &Workspace,
    args: &RolesArgs,
    directory: &Path,
    to: &Path,
    found: &RolesFound,
    write: bool,
) -> Result<MigrationJson, CliError> {
    let mut taken = BTreeSet::new();
    let mut roles = Vec::new();
    let config = workspace.env.working_directory().join(PROJECT_FILE);
    let agents = args.split.then_some(AgentFiles { roles: &args.directory, config: &config });
    // New skills must not hide existing ones without a word.
    let library = workspace.inspect(workspace.settings.policy.clone());
    for role in &found.roles {
        let mut migrated = migrate(role, to, write, agents.as_ref(), &mut taken)?;
        migrated.notes.extend(twins(&library, &migrated));
        let is_new = matches!(migrated.state, PLANNED | WRITTEN);
        if is_new && migrated.agent.is_some() && workspace.settings.agents.contains_key(&role.name) {
            let note = format!("an agent `{}` is configured already and stays as it is", role.name);
            migrated.notes.push(note);
        }
        roles.push(migrated);
    }
    let problems = found.problems.iter();
    Ok(MigrationJson {
        directory: directory.display().to_string(),
        to: to.display().to_string(),
        roles,
        problems: problems
            .map(|(path, message)| ProblemJson { path: path.display().to_string(), message: message.clone() })
            .collect(),
    })
}

/// Returns notes about skills elsewhere that have the name of the one that `role` becomes.
fn twins(library: &Library, role: &RoleJson) -> Vec<String> {
    let entries = library.snapshot.entries().iter().filter(|entry| {
        matches!(role.state, PLANNED | WRITTEN)
            && Some(entry.name().as_str()) == role.name.as_deref()
            && Some(&*entry.path) != role.path.as_deref()
    });
    let note = |entry: &Entry| {
        let (name, path) = (entry.name(), &entry.path);
        format!(
            "{path} is a skill `{name}` too, and only one of the two is offered; see `rep explain {name}`"
        )
    };
    entries.map(note).collect()
}

fn migrate(
    role: &RoleFiles,
    to: &Path,
    write: bool,
    agents: Option<&AgentFiles<'_>>,
    taken: &mut BTreeSet<String>,
) -> Result<RoleJson, CliError> {
    let split = agents.and_then(|agents| Some((agents, RoleSplit::of(role)?)));
    let (pack, agent) = match split {
        Some((agents, split)) => {
            let agent = agent(agents, role, &split);
            (Some(split.pack), Some(agent))
        }
        None => (Pack::of(role), None),
    };
    let Some(pack) = pack else {
        let notes = vec!["no name for a skill can be made of it; rename the directory".to_owned()];
        let (role, files) = (role.name.clone(), Vec::new());
        return Ok(RoleJson { role, name: None, path: None, state: NAMELESS, files, agent: None, notes });
    };
    let directory = to.join(pack.name.as_str());
    let is_twin = !taken.insert(pack.name.to_string());
    let state = if is_twin || fs::symlink_metadata(&directory).is_ok() {
        EXISTS
    } else if !write {
        PLANNED
    } else if write_pack(&pack, to, &directory)? {
        WRITTEN
    } else {
        EXISTS
    };
    // Files that are not written need no review.
    let mut notes = match state {
        EXISTS if is_twin => vec![format!("another role becomes `{}` too; rename one of the two", pack.name)],
        EXISTS => Vec::new(),
        _ => pack.notes,
    };
    if agent.is_none() && state != EXISTS && !role.uses_skills.is_empty() {
        notes.push(format!(
            "its manifest.yaml uses the skills {}; give them to an agent, with `uses_skills`",
            role.uses_skills.join(", ")
        ));
    }
    if agents.is_some() && agent.is_none() && state != EXISTS {
        notes.push("the prompt has no section of knowledge, so it is not divided".to_owned());
    }
    match (&agent, state) {
        (Some(agent), WRITTEN) => notes.extend(write_agent(agent, &role.name)?),
        (Some(agent), PLANNED) if fs::symlink_metadata(agent.prompt_file()).is_ok() => {
            notes.push(format!("{} is already there and would be left alone", agent.path));
        }
        _ => {}
    }
    let files = pack.files.into_iter().map(|file| FileJson { path: file.path, text: file.text });
    Ok(RoleJson {
        agent,
        role: role.name.clone(),
        name: Some(pack.name.to_string()),
        path: Some(directory.display().to_string()),
        state,
        files: files.collect(),
        notes,
    })
}

/// Returns the prompt and the agent of the divided `role`.
fn agent(agents: &AgentFiles<'_>, role: &RoleFiles, split: &RoleSplit) -> AgentJson {
    let path = agents.roles.join(&role.name).join(ROLE_FILE);
    let mut table = toml::Table::new();
    table.insert("prompt".to_owned(), path.display().to_string().into());
    let own = std::iter::once(split.pack.name.to_string());
    table.insert("uses_skills".to_owned(), own.chain(role.uses_skills.clone()).collect::<Vec<_>>().into());
    if let Some(text) = &role.instructions {
        table.insert("instructions".to_owned(), text.clone().into());
    }
    let agent = toml::Table::from_iter([(role.name.clone(), toml::Value::Table(table))]);
    let root = toml::Table::from_iter([("agents".to_owned(), toml::Value::Table(agent))]);
    AgentJson {
        path: path.display().to_string(),
        prompt: split.prompt.clone(),
        config: agents.config.display().to_string(),
        toml: root.to_string(),
    }
}

/// Writes the prompt of a divided role and its agent, unless they exist. Returns notes about files that do.
fn write_agent(agent: &AgentJson, role: &str) -> Result<Vec<String>, CliError> {
    let mut notes = Vec::new();
    let (config, path) = (Path::new(&agent.config), agent.prompt_file());
    match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            file.write_all(agent.prompt.as_bytes()).map_err(|error| CliError::io("write", &path, error))?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            notes.push(format!("{} is already there and was left alone", agent.path));
        }
        Err(error) => return Err(CliError::io("write", &path, error)),
    }
    let before = match regular_file::read_no_follow(config, MAX_FILE_BYTES) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(CliError::io("read", config, error)),
    };
    let written = std::str::from_utf8(before.as_deref().unwrap_or_default())
        .map_err(|error| CliError::io("read", config, io::Error::other(error)))?;
    let parsed = written.parse::<toml::Table>();
    let agents = parsed.as_ref().map(|table| table.get("agents").and_then(toml::Value::as_table));
    match agents {
        Ok(agents) if !agents.is_some_and(|agents| agents.contains_key(role)) => {
            let gap = if written.is_empty() {
                ""
            } else if written.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            };
            let after = format!("{written}{gap}{}", agent.toml);
            // An inline table of agents cannot be extended by a table of its own.
            if after.parse::<toml::Table>().is_ok() {
                let kind = FileKind::User { before: before.as_deref() };
                replace_file(config, kind, Some(after.as_bytes()))?;
            } else {
                notes.push(format!("add this to {PROJECT_FILE}: {}", agent.toml.trim_end()));
            }
        }
        // The caller notes that there is one.
        Ok(_) => {}
        Err(_) => {
            notes.push(format!("{PROJECT_FILE} cannot be read; add this to it: {}", agent.toml.trim_end()))
        }
    }
    Ok(notes)
}

/// Writes the files of `pack`; returns `false` if something exists in their place.
fn write_pack(pack: &Pack, to: &Path, directory: &Path) -> Result<bool, CliError> {
    fs::create_dir_all(to).map_err(|error| CliError::io("make", to, error))?;
    match fs::create_dir(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(CliError::io("make", directory, error)),
    }
    for file in &pack.files {
        let path = directory.join(file.path);
        let outcome = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            let mut written = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
            written.write_all(file.text.as_bytes())
        });
        outcome.map_err(|error| CliError::io("write", &path, error))?;
    }
    Ok(true)
}

/// Reports the migration, with the files in the manner of a diff.
fn report(ui: &mut Ui, migration: &MigrationJson, write: bool) -> Result<(), CliError> {
    let mut text = String::new();
    for role in &migration.roles {
        let path = role.path.as_deref().unwrap_or("nowhere");
        let _ = writeln!(text, "{} -> {path} ({})", role.role, state_in_words(role.state));
        for note in &role.notes {
            let _ = writeln!(text, "  note: {note}");
        }
        if role.state == PLANNED {
            for file in &role.files {
                let _ = writeln!(text, "--- /dev/null\n+++ {path}/{}", file.path);
                added(&mut text, &file.text);
            }
            if let Some(agent) = &role.agent {
                let _ = writeln!(text, "--- /dev/null\n+++ {}", agent.path);
                added(&mut text, &agent.prompt);
                let _ = writeln!(text, "--- {0}\n+++ {0}", agent.config);
                added(&mut text, &agent.toml);
            }
        }
        text.push('\n');
    }
    for problem in &migration.problems {
        let _ = writeln!(text, "{}: {}", problem.path, problem.message);
    }
    ui.write_untrusted(text.as_bytes())?;
    let done = migration.count(PLANNED) + migration.count(WRITTEN);
    let left = migration.roles.len() - done + migration.problems.len();
    let verb = if write { "written" } else { "would be written" };
    let summary = format!("{done} {verb}, {left} left alone");
    ui.line(Style::Heading, &summary)?;
    if migration.roles.is_empty() {
        ui.hint(&format!("no directory in {} has a system_prompt.md or prompt.jinja2", migration.directory))?;
    } else if write && done > 0 {
        ui.hint(&format!("look at the notes, then run `rep check {} --profile strict`", migration.to))?;
    }
    Ok(())
}

/// Writes `lines` as lines that a diff adds.
fn added(text: &mut String, lines: &str) {
    for line in lines.lines() {
        let _ = writeln!(text, "+{line}");
    }
}

fn state_in_words(state: &str) -> &'static str {
    match state {
        PLANNED => "would be written",
        WRITTEN => "written",
        EXISTS => "is already there, left alone",
        _ => "left alone",
    }
}
