//! `rep hook`.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use repertoire_app::hook::answer;
use repertoire_app::workspace::{Workspace, WorkspaceOptions, settings};
use repertoire_clients::Client;
use repertoire_clients::hook::HookEvent;
use serde_json::Value;

use crate::env::Env;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::standard_input;
use crate::ui::Ui;

/// Names the skill that fits a prompt, as a hook of a client
///
/// Clients run this before a turn; `rep connect --hooks` registers it. Reads the client's event from standard
/// input, and prints an answer in the client's form, both JSON: at most two lines that name the skills which
/// fit the prompt, or, after a compaction, the skills that were lost. Mostly it prints nothing; errors are
/// silence. The prompt is not stored or sent anywhere.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The client that runs it
    #[arg(value_name = "CLIENT")]
    client: String,
    /// The time that an answer may take
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 150)]
    limit: u64,
}

/// Runs the command, which always succeeds: some clients discard a prompt whose hook fails.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: &Globals, args: &HookArgs) -> Exit {
    let (start, limit) = (Instant::now(), Duration::from_millis(args.limit));
    let (options, client) = (globals.workspace_options(), Client::named(&args.client));
    let (sender, receiver) = channel();
    thread::spawn(move || work(env, options, client, &sender));
    if let Ok(Some(text)) = receiver.recv_timeout(limit) {
        let _ = writeln!(ui.out(), "{text}").and_then(|()| ui.flush());
    }
    // The index is saved in the rest of the time.
    let _ = receiver.recv_timeout(limit.saturating_sub(start.elapsed()));
    Exit::Success
}

/// Sends the answer, and hangs up once the index is saved.
fn work(
    env: Env,
    options: WorkspaceOptions,
    client: Option<&'static Client>,
    sender: &Sender<Option<String>>,
) -> Option<()> {
    let input: Value = serde_json::from_str(&standard_input::read_text("event").ok()?).ok()?;
    let (client, rule) = (client?, client?.hooks?);
    let event = HookEvent::read(rule, &input)?;
    let settings = settings::load(&env, &options).ok()?;
    let workspace = Workspace::new(env, options, settings, Arc::new(()));
    answer(&workspace, client, &event, &|text| {
        let _ = sender.send(text.map(|text| event.answer(rule, &text).to_string()));
    });
    Some(())
}
