//! `rep session`: sessions over standard input and output, for harnesses in any language.

mod args;
mod lines;
mod refusal;
mod open_session;
mod conversation;
mod host;
mod hello;
mod shared_library;
mod engine;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use repertoire::Watcher;
use repertoire::history::Recorder;
use repertoire::registry::ReleaseFollower;

use self::conversation::Conversation;
use self::hello::Hello;
use self::host::Host;
use self::lines::{Line, Lines};
use self::refusal::{Request, answered, parse, too_long};
use self::shared_library::{Libraries, options, runner};
use crate::error::CliError;
use crate::exit::Exit;
use crate::role::Role;
use crate::ui::{TerminalReporter, Ui};
use crate::wire::{Workspace, report};

pub(crate) use self::args::SessionArgs;

pub(crate) fn run(ui: &mut Ui, workspace: Workspace, args: &SessionArgs) -> Result<Exit, CliError> {
    let mut lines = Lines::new(std::io::stdin().lock());
    // Two protocols share the first line: skills are read when it is known which one is spoken.
    let first = loop {
        match lines.next_line()? {
            Line::Text(line) if line.trim_ascii().is_empty() => {}
            Line::Text(line) => match parse(line) {
                Ok(request) if request.get("op").is_some_and(|op| op == "hello") => {
                    return greet(ui, workspace, args, request, lines);
                }
                _ => break Some(Some(line.to_vec())),
            },
            Line::TooLong => break Some(None),
            Line::End => break None,
        }
    };
    let workspace = Arc::new(workspace);
    let mut opened = open(ui, &workspace, args)?;
    let conversation = &mut opened.conversation;
    let Some(first) = first else { return Ok(Exit::Success) };
    let mut answer = match first {
        Some(line) => conversation.answer(&line),
        None => answered(None, Err(too_long())),
    };
    loop {
        serde_json::to_writer(ui.out(), &answer).map_err(std::io::Error::from)?;
        ui.out().write_all(b"\n")?;
        ui.flush()?;
        answer = loop {
            match lines.next_line()? {
                Line::End => {
                    pollster::block_on(conversation.library().save());
                    return Ok(Exit::Success);
                }
                Line::Text(line) if line.trim_ascii().is_empty() => {}
                Line::Text(line) => break conversation.answer(line),
                Line::TooLong => break answered(None, Err(too_long())),
            }
        };
    }
}

/// Answers `first`, a greeting, and then the requests of the host that sent it.
fn greet<R: BufRead>(
    ui: &mut Ui,
    workspace: Workspace,
    args: &SessionArgs,
    first: Request,
    lines: Lines<R>,
) -> Result<Exit, CliError> {
    let host = Arc::new(Host::new(std::io::stdout()));
    let id = first.get("id").cloned();
    let read = Hello::read(first).and_then(|mut hello| {
        let (skills, answer) = (hello.skills(&host)?, hello.answer()?);
        Ok((hello, skills, answer))
    });
    let (hello, skills) = match read {
        Ok((hello, skills, answer)) => {
            host.write(&answered(id, Ok(answer)));
            (hello, skills)
        }
        Err(refusal) => {
            host.write(&answered(id, Err(refusal)));
            return Ok(Exit::Success);
        }
    };
    let reporter = Arc::new(TerminalReporter::new(ui, &workspace.env));
    let libraries = Libraries::new(args, hello, skills, Arc::clone(&host), workspace, reporter);
    engine::run(host, libraries, lines)?;
    Ok(Exit::Success)
}

/// A conversation, and what follows its library.
struct OpenConversation {
    conversation: Conversation,
    _watcher: Option<Watcher>,
    _releases: Option<ReleaseFollower>,
    _recorder: Option<Recorder>,
}

fn open(ui: &mut Ui, workspace: &Arc<Workspace>, args: &SessionArgs) -> Result<OpenConversation, CliError> {
    let mut options = options(workspace, args, args.render.as_deref());
    let role = match &args.role {
        None => None,
        Some(name) => {
            let agent = args.agent.as_deref().map(|name| workspace.agent(name)).transpose()?;
            Some(Role { name: name.clone(), agent, variables: BTreeMap::new() })
        }
    };
    // The catalog alone is to be that of the prompt.
    options.catalog.highlight.clone_from(&args.role);
    let runner = runner(workspace, args, None, &Default::default())?;
    let session = workspace.session_with(options, args.agent.as_deref(), &args.skills, runner)?;
    let snapshot = session.registry().snapshot();
    report(ui, workspace, &snapshot, snapshot.problems())?;
    let conversation = Conversation::new(Arc::clone(workspace), session);
    if let Some(role) = role {
        let origin = conversation.take(role.clone())?;
        role.warn_if_unknown(ui, workspace, &snapshot, &origin)?;
    }
    let registry = conversation.library().registry();
    // Changes in the meantime are known by the next request.
    Ok(OpenConversation {
        _watcher: workspace.follow(registry),
        _releases: workspace.follow_releases(registry),
        _recorder: workspace.recorder(registry),
        conversation,
    })
}
