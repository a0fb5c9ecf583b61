//! The screen of `rep` without a command.

use repertoire_app::clients::clients;
use repertoire_app::view::{ClientView, SkillWay};
use repertoire_clients::CLIENTS;
use repertoire_model::State;
use repertoire_model::text::{count, list};

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::{Style, Ui, wrap_indented};
use crate::wire::{Workspace, load};

/// The commands that most people need, by heading.
const COMMANDS: [(&str, &[(&str, &str)]); 4] = [
    (
        "Skills",
        &[
            ("list", "Every skill, which client gets it, what is wrong with it"),
            ("search", "The skills that a task needs"),
            ("show", "The instructions of a skill, and its files"),
            ("new", "Start a skill"),
            ("check", "Find mistakes and fix them"),
        ],
    ),
    (
        "From elsewhere",
        &[
            ("add", "From a repository, an archive, a package or a server"),
            ("update", "Bring them up to date; your edits are kept"),
            ("remove", "Take one away"),
            ("undo", "Take back the last change"),
        ],
    ),
    (
        "Agents",
        &[
            ("connect", "Give your skills to Claude Code, Codex, Cursor and others"),
            ("disable", "Switch a skill off, for all clients or for one"),
            ("approve", "Let the tools of a skill run, in a sandbox"),
            ("agent", "Work on a task with nothing but skills"),
        ],
    ),
    (
        "Looking back",
        &[
            ("doctor", "What needs attention, worst first"),
            ("stats", "What is used and what is not"),
            ("dashboard", "The same in a browser; proposals to review"),
        ],
    ),
];

/// Prints the screen; on a terminal with the state of the library.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: &Globals) -> Result<Exit, CliError> {
    if ui.is_json() {
        return Err(CliError::usage("no command is given").hint("run `rep help`"));
    }
    let title = format!("Repertoire {}:", env!("CARGO_PKG_VERSION"));
    writeln!(ui.out(), "{title} one library of skills for every AI agent\n")?;
    if ui.out_is_terminal() {
        // Errors of the configuration are reported by the commands that need it.
        if let Ok(workspace) = load(ui, env, globals) {
            for line in state(&workspace) {
                let line = wrap_indented(&line, ui.width(), 0);
                writeln!(ui.out(), "{line}")?;
            }
            writeln!(ui.out())?;
        }
    }
    for (heading, commands) in COMMANDS {
        ui.line(Style::Heading, heading)?;
        for (command, words) in commands {
            let command = ui.paint(Style::Name, &format!("{command:<10}"));
            writeln!(ui.out(), "  {command} {words}")?;
        }
    }
    writeln!(ui.out(), "\nrep help --all: commands for scripts, for teams, for people who build agents")?;
    Ok(Exit::Success)
}

/// Returns the state of the library in lines.
fn state(workspace: &Workspace) -> Vec<String> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let active = library.snapshot.active().count();
    if active == 0 {
        return vec!["No skills yet: `rep add`, or `rep new`".to_owned()];
    }
    let clients = clients(workspace, &library);
    let mut lines = vec![format!("{}.{}", count(active, "skill"), clients_in_words(&clients))];
    // As `rep doctor` counts them; it looks at more, which takes longer.
    let has = |state| usize::from(library.snapshot.entries().iter().any(|entry| entry.state == state));
    let of_skills = has(State::Quarantined) + has(State::Shadowed) + library.problems.len();
    let to_do = of_skills + clients.iter().filter(|it| it.advice.is_some()).count();
    if to_do > 0 {
        lines.push(format!("At least {} to do: `rep doctor`", count(to_do, "thing")));
    }
    lines
}

/// Returns which of `clients` have all skills, and the command for the others.
fn clients_in_words(clients: &[ClientView]) -> String {
    let can_connect = |client: &&ClientView| CLIENTS.iter().any(|known| known.id == client.id);
    let (without, with): (Vec<&ClientView>, Vec<&ClientView>) =
        clients.iter().filter(can_connect).partition(|client| client.count(SkillWay::None) > 0);
    let titles =
        |clients: &[&ClientView]| list(&clients.iter().map(|client| client.title).collect::<Vec<_>>());
    let verb = |clients: &[&ClientView], one: &'static str, more| if clients.len() == 1 { one } else { more };
    let mut words = String::new();
    if !with.is_empty() {
        words += &format!(" {} {} them.", titles(&with), verb(&with, "has", "have"));
    }
    if !without.is_empty() {
        let ids: Vec<&str> = without.iter().map(|client| client.id).collect();
        let (all, ids) =
            if with.is_empty() { (" have all of them", "--all".to_owned()) } else { ("", ids.join(" ")) };
        let verb = verb(&without, "does", "do");
        words += &format!(" {} {verb} not{all}: `rep connect {ids}`", titles(&without));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn the_commands_exist_and_the_screen_is_narrow() {
        let mut number = 0;
        for (name, words) in COMMANDS.iter().flat_map(|(_, commands)| *commands) {
            assert!(command().find_subcommand(name).is_some(), "{name}");
            assert!(words.len() <= 66, "{words}");
            number += 1;
        }
        assert!(number <= 17);
    }
}
