//! `rep dashboard`.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use repertoire_exec::notify::run_with_input;
use repertoire_web::http::PageSecret;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::server::{self, ServeArgs};
use crate::ui::Ui;
use crate::wire::Workspace;

/// The program that opens addresses in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Maximum time for the opener to start the browser.
const OPEN_TIME: Duration = Duration::from_secs(10);

/// Opens a web page with the skills, their cost and use, and the changes that agents propose
///
/// The page is served at a free port of this machine, for as long as the command runs, and cannot be reached
/// from other machines. The printed address opens it in any of your browsers. Other accounts and programs of
/// this machine cannot see it without that address. It shows the same library as the other commands. See
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/dashboard.md.
#[derive(Debug, Args)]
pub(crate) struct DashboardArgs {
    /// Do not open the browser; print the address only
    #[arg(long)]
    no_open: bool,
    /// Let the page change something: decide about proposals, restore versions, switch skills
    #[arg(long)]
    allow_write: bool,
    /// Use this port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

pub(crate) fn run(ui: &mut Ui, workspace: Workspace, args: &DashboardArgs) -> Result<Exit, CliError> {
    let address = format!("127.0.0.1:{}", args.port);
    let secret = PageSecret::new()?;
    let serve = ServeArgs::of_dashboard(&address, args.allow_write, secret.clone());
    server::run(ui, workspace.serving(None, Vec::new())?, &serve, &|ui, address| {
        let url = format!("http://{address}{}", secret.path());
        if ui.is_json() {
            ui.write_json(&json!({"url": url}))?;
        } else {
            writeln!(ui.out(), "{url}")?;
        }
        if !args.no_open {
            // Every account of the machine can read the arguments of a program.
            let url = format!("http://{address}{}", secret.one_time_path(Instant::now())?);
            // The address is on the terminal, so a machine without a browser needs no message.
            thread::spawn(move || run_with_input(OPENER, &[url], Vec::new(), OPEN_TIME));
        }
        Ok(())
    })
}
