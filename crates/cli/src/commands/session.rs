//! `rep session`: sessions over standard input and output, for harnesses in any language.

mod args;
mod lines;
mod refusal;
mod open_session;
mod host;
mod hello;
mod libraries;
mod engine;

use std::sync::Arc;

use pollster::block_on;

use self::engine::Engine;
use self::hello::Hello;
use self::host::Host;
use self::libraries::{Libraries, SessionWish};
use self::lines::{Line, Lines};
use self::open_session::OpenSession;
use self::refusal::{Request, answered, parse, too_long};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{TerminalReporter, Ui};
use crate::wire::{Workspace, report};

pub(crate) use self::args::SessionArgs;

pub(crate) fn run(ui: &mut Ui, workspace: Workspace, args: &SessionArgs) -> Result<Exit, CliError> {
    let mut lines = Lines::new(std::io::stdin().lock());
    // Two protocols share the first line: skills are read when it is known which one is spoken.
    let mut first = loop {
        match lines.next_line()? {
            Line::Text(line) if line.trim_ascii().is_empty() => {}
            Line::Text(line) => break Some(parse(line)),
            Line::TooLong => break Some(too_long()),
            Line::End => break None,
        }
    };
    let host = Arc::new(Host::new(std::io::stdout()));
    let reporter = Arc::new(TerminalReporter::new(ui, &workspace.env));
    let is_hello = |request: &Request| request.get("op").is_some_and(|operation| operation == "hello");
    let (mut greeting, mut is_greeted) = ((Hello::default(), Vec::new()), false);
    if let Some((id, Ok(request))) = first.take_if(|(_, request)| request.as_ref().is_ok_and(is_hello)) {
        let read = Hello::read(request, &host);
        let answer = read.map(|read| {
            greeting = read;
            is_greeted = true;
            greeting.0.answer()
        });
        host.write(&answered(id, answer));
        if !is_greeted {
            return Ok(Exit::Success);
        }
    }
    let libraries = Libraries::new(args, host, workspace, greeting, reporter);
    let main = if is_greeted { None } else { Some(converse(ui, &libraries)?) };
    Engine::new(libraries, main).run(first, lines)?;
    Ok(Exit::Success)
}

/// Opens the session of a conversation, and says what is wrong with its library.
fn converse(ui: &mut Ui, libraries: &Libraries<'_>) -> Result<OpenSession, CliError> {
    let (workspace, nothing) = (&libraries.main, Request::new());
    // The command line was checked already.
    let wish =
        SessionWish::read(&nothing, libraries.args).map_err(|refusal| CliError::usage(refusal.message))?;
    let session = block_on(libraries.open(&wish))?;
    let snapshot = session.session().registry().snapshot();
    report(ui, workspace, &snapshot, snapshot.problems())?;
    if let Some((role, origin)) = session.taken() {
        role.warn_if_unknown(ui, workspace, &snapshot, &origin)?;
    }
    Ok(session)
}
