//! `rep`, the command line of Repertoire.
//!
//! This is the only crate that reads the environment, prints and exits. `cli.rs` describes the command line,
//! `wire.rs` opens the workspace, and `commands/` has one file per command.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]
// The doc comments of commands are help texts; a terminal would show the brackets of `<https://…>`.
#![allow(rustdoc::bare_urls)]

mod age;
mod answered_call;
mod change_guard;
mod channel_changes;
mod cli;
mod commands;
mod complete;
mod disabling;
mod env;
mod error;
mod exit;
mod first_screen;
mod globals;
mod http;
mod interrupt;
mod old_words;
mod place_args;
mod role;
mod served;
mod server;
mod standard_input;
mod terminal_approver;
mod ui;
mod wire;

#[cfg(test)]
mod reference_tests;

use std::process::ExitCode;

use repertoire_app::workspace::{UnreadableState, expect_directories, finish_interrupted_changes};

use crate::cli::{Cli, Command};
use crate::commands::{
    add, adopt, agent, approve, call, catalog, check, completions, connect, cost, dashboard, disable, doctor,
    enable, eval, events, explain, history, hook, init, kit, link, list, migrate, new, pack, prompt,
    proposal, publish, remove, revoke, run, search, self_command, serve, session, show, stats, sync, team,
    undo, update, watch,
};
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::load;

fn main() -> ExitCode {
    // Sandboxed commands are started by this program, which runs itself again for that.
    if let Some(code) = repertoire_exec::launcher::run_if_asked() {
        return code;
    }
    let env = env::capture();
    if let Some(code) = cli::complete(&env).or_else(cli::verbose_version) {
        return code;
    }
    let cli = cli::parse();
    let mut ui = Ui::new(&cli.globals, &env);
    if let Some(Command::Hook(args)) = &cli.command {
        return hook::run(&mut ui, env, &cli.globals, args).into();
    }
    wire::finish_interrupted_runs(&mut ui, &env);
    if cli.command.as_ref().is_some_and(needs_whole_changes) {
        for change in finish_interrupted_changes(&env) {
            let _ = ui.warn(&change.message);
            for hint in &change.hints {
                let _ = ui.hint(hint);
            }
        }
    }
    // `rep doctor` reports it among everything else.
    if let Some(state) =
        UnreadableState::find(&env).filter(|_| !matches!(cli.command, Some(Command::Doctor(_))))
    {
        let _ = ui.warn(&format!("{}; {}", state.message(), state.remedy()));
    }
    let outcome = run(&mut ui, env, cli).and_then(|exit| Ok(ui.flush().map(|()| exit)?));
    let report = |error: CliError| error::report(&error.map_hints(|hint| ui.with_options(hint)), &mut ui);
    outcome.unwrap_or_else(report).into()
}

/// Returns `true` if `command` changes skills or files of clients, or hands skills to a model: before that, a
/// change that was interrupted is completed or undone. Commands that only read write nothing.
fn needs_whole_changes(command: &Command) -> bool {
    use Command::*;

    let changes_files = matches!(
        command,
        Add(_)
            | Update(_)
            | Sync(_)
            | Remove(_)
            | Undo(_)
            | Link(_)
            | Adopt(_)
            | Disable(_)
            | Enable(_)
            | Migrate(_)
            | Proposal(_)
            | Publish(_)
    );
    let serves_models = matches!(
        command,
        Serve(_) | Dashboard(_) | Session(_) | Agent(_) | Call(_) | Run(_) | Catalog(_) | Prompt(_)
    );
    let connects = matches!(command, Connect(args) if !args.names_no_client());
    let fixes_skills = matches!(command, Check(args) if args.fixes());
    let restores_a_version = matches!(command, History(args) if args.restores());
    changes_files || connects || fixes_skills || restores_a_version || serves_models
}

/// Runs the command. Each loads the configuration itself where it has to work with a broken one.
fn run(ui: &mut Ui, env: Env, cli: Cli) -> Result<Exit, CliError> {
    let globals = cli.globals;
    let Some(command) = cli.command else { return first_screen::run(ui, env, &globals) };
    // `rep doctor` reports bad directories among everything else.
    if !matches!(command, Command::Doctor(_)) {
        expect_directories(&env, &globals.root)?;
    }
    match command {
        Command::List(args) => list::run(ui, &load(ui, env, &globals)?, &args),
        Command::Search(args) => search::run(ui, &load(ui, env, &globals)?, &args),
        Command::Show(args) => show::run(ui, &load(ui, env, &globals)?, &args),
        Command::Explain(args) => explain::run(ui, &load(ui, env, &globals)?, &args),
        Command::Catalog(args) => catalog::run(ui, &load(ui, env, &globals)?, &args),
        Command::Cost(args) => cost::run(ui, &load(ui, env, &globals)?, &args),
        Command::Prompt(args) => prompt::run(ui, &load(ui, env, &globals)?, &args),
        Command::Watch(args) => watch::run(ui, &load(ui, env, &globals)?, &args),
        Command::New(args) => new::run(ui, env, &globals, &args),
        Command::Check(args) => check::run(ui, env, globals, &args),
        Command::Eval(args) => eval::run(ui, &load(ui, env, &globals)?, &args),
        Command::Pack(args) => pack::run(ui, &load(ui, env, &globals)?, &args),
        Command::Migrate(args) => migrate::run(ui, &load(ui, env, &globals)?, &args),
        Command::Init(args) => init::run(ui, &env, &args),
        Command::Add(args) => add::run(ui, &load(ui, env, &globals)?, &args),
        Command::Update(args) => update::run(ui, &load(ui, env, &globals)?, &args),
        Command::Sync(args) => sync::run(ui, &load(ui, env, &globals)?, &args),
        Command::Remove(args) => remove::run(ui, &load(ui, env, &globals)?, &args),
        Command::Undo(args) => undo::run(ui, &load(ui, env, &globals)?, &args),
        Command::Connect(args) => connect::run(ui, env, globals, &args),
        Command::Link(args) => link::run(ui, &load(ui, env, &globals)?, &args),
        Command::Adopt(args) => adopt::run(ui, &load(ui, env, &globals)?, &args),
        Command::Disable(args) => disable::run(ui, &load(ui, env, &globals)?, &args),
        Command::Enable(args) => enable::run(ui, &load(ui, env, &globals)?, &args),
        Command::Kit(args) => kit::run(ui, env, globals, &args),
        Command::Serve(args) => serve::run(ui, args.served.load(ui, env, &globals)?, &args),
        Command::Dashboard(args) => dashboard::run(ui, load(ui, env, &globals)?, &args),
        Command::Publish(args) => publish::run(ui, &load(ui, env, &globals)?, &args),
        Command::Team(args) => team::run(ui, &load(ui, env, &globals)?, &args),
        Command::Hook(args) => Ok(hook::run(ui, env, &globals, &args)),
        Command::Session(args) => session::run(ui, args.served.load(ui, env, &globals)?, &args),
        Command::Call(args) => call::run(ui, &args.served.load(ui, env, &globals)?, &args),
        Command::Agent(args) => agent::run(ui, &args.served.load(ui, env, &globals)?, &args),
        Command::Doctor(args) => doctor::run(ui, env, globals, &args),
        Command::Completions(args) => completions::run(ui, &env, &args),
        Command::Itself(action) => self_command::run(ui, &env, &action, cli::command()),
        Command::Run(args) => run::run(ui, &load(ui, env, &globals)?, &args),
        Command::Approve(args) => approve::run(ui, &load(ui, env, &globals)?, &args),
        Command::Revoke(args) => revoke::run(ui, &load(ui, env, &globals)?, &args),
        Command::Events(args) => events::run(ui, &load(ui, env, &globals)?, &args),
        Command::Stats(args) => stats::run(ui, &load(ui, env, &globals)?, &args),
        Command::History(args) => history::run(ui, &load(ui, env, &globals)?, &args),
        Command::Proposal(args) => proposal::run(ui, &load(ui, env, &globals)?, &args),
    }
}
