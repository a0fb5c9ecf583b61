//! `rep session`: one session over standard input and output, for harnesses in any language.

mod protocol;
mod lines;

use clap::Args;
use repertoire_model::answer::Render;

use self::lines::{Line, Lines};
use self::protocol::Conversation;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

/// Opens one session over standard input and output, one JSON object per line
///
/// Write {"op":"catalog"}, {"op":"tools"}, {"op":"call","tool":"load_skill","arguments":{"name":"git"}} and so on; each line is
/// answered with one line. The session ends with the input. docs/reference/session.md describes every operation.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Open the session for this agent of the configuration
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How answers of tools are written
    #[arg(long, value_name = "HOW", value_parser = Render::ALL.map(Render::as_str))]
    render: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SessionArgs) -> Result<Exit, CliError> {
    let options = context.session_options(args.render.as_deref());
    let session = context.session(options, args.agent.as_deref())?;
    // What changes meanwhile is known by the time that somebody asks.
    let _watcher = context.follow(session.registry());
    let mut conversation = Conversation::new(session);
    let mut lines = Lines::new(std::io::stdin().lock());
    loop {
        let answer = match lines.next_line()? {
            Line::End => return Ok(Exit::Success),
            Line::Text(line) if line.trim_ascii().is_empty() => continue,
            Line::Text(line) => conversation.answer(line),
            Line::TooLong => protocol::too_long(),
        };
        serde_json::to_writer(ui.out(), &answer).map_err(std::io::Error::from)?;
        ui.out().write_all(b"\n")?;
        ui.flush()?;
    }
}
