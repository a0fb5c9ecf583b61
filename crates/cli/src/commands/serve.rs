//! `rep serve`: the skills for MCP clients.

mod notices;

use clap::Args;
use repertoire_server::{Notices, ResultForm, Server, ServerOptions, Stop, Switch};

use self::notices::Teller;
use crate::cli::agent_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

/// Serves the skills to MCP clients, over standard input and output or over HTTP
///
/// Clients that know the Skills extension get skills with digests; all others get tools to load skills and to read their
/// files, and a catalog in the server's instructions. docs/guides/serving-mcp.md tells how to connect clients.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("transport").required(true))]
pub(crate) struct ServeArgs {
    /// Serve standard input and output, as clients that start the server themselves expect
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Serve what this agent of the configuration may see
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// How results of tools are written
    #[arg(long, value_name = "HOW", value_parser = ResultForm::ALL.map(ResultForm::as_str))]
    result: Option<String>,
    /// Offer no tools
    #[arg(long)]
    no_tools: bool,
    /// Do not offer the Skills extension
    #[arg(long)]
    no_extension: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ServeArgs) -> Result<Exit, CliError> {
    ui.flush()?;
    let options = options(args);
    let session_options = options.session_options(context.session_options(None));
    let registry = context.registry(session_options, args.agent.as_deref().as_slice())?;
    // Answers need not wait until everything is watched.
    let _watcher = context.follow(&registry);
    let server = Server::new(registry, options);
    let stop = Stop::new();
    let interrupted = stop.clone();
    ctrlc::set_handler(move || interrupted.stop())
        .map_err(|error| CliError::usage("cannot be told of an interruption").because(error))?;
    server.serve_stdio_blocking(args.agent.as_deref(), &stop)?;
    Ok(Exit::Success)
}

/// Returns what the flags and the configuration say.
fn options(args: &ServeArgs) -> ServerOptions {
    let teller = Teller::default();
    let switch = |is_off: bool| if is_off { Switch::Off } else { Switch::On };
    ServerOptions {
        tools: switch(args.no_tools),
        extension: switch(args.no_extension),
        result: args.result.as_deref().and_then(ResultForm::parse).unwrap_or_default(),
        notices: Notices::new(move |notice| teller.tell(notice)),
        ..ServerOptions::default()
    }
}
