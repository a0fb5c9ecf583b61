//! Reads configuration and token files again while a server runs: on SIGHUP, and when they change.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

use repertoire::config::ConfigFiles;
use repertoire_model::text::count;
use repertoire_web::http::{HttpAccess, HttpControl};

use super::{oidc, tokens};
use crate::error::CliError;
use crate::served::ServedArgs;
use crate::ui::say;
use crate::wire::Workspace;

/// The interval in which files are looked at. A change may take effect so much later.
const LOOK: Duration = Duration::from_secs(2);

/// Reads the part of the configuration that a running server can take over.
pub(super) struct AccessReader {
    /// A workspace of its own: that of the server has to be dropped at the end, which waits for its events.
    workspace: Workspace,
    served: ServedArgs,
    tokens: Option<TokenSource>,
}

/// The token file of a server for several people and programs, and the agent of tokens without one.
#[derive(Debug, Clone)]
pub(super) struct TokenSource {
    pub(super) file: Option<PathBuf>,
    pub(super) agent: Option<String>,
}

/// The identity of a file's content: its time and its size; none if there is no file.
type FileStamp = Option<(SystemTime, u64)>;

impl AccessReader {
    /// Returns the reader for a server that was started with these options in `workspace`.
    pub(super) fn new(workspace: &Workspace, served: ServedArgs, tokens: Option<TokenSource>) -> Self {
        let workspace = workspace.confined_to(workspace.options.roots.clone());
        Self { workspace, served, tokens }
    }

    /// Returns the tokens, agents and kits of the current configuration, and the files that they come from.
    fn read(&self) -> Result<(HttpAccess, Vec<PathBuf>), CliError> {
        let workspace =
            self.workspace.reloaded()?.serving(self.served.store.as_deref(), self.served.channels())?;
        let mut access = access(&workspace, self.tokens.as_ref())?;
        let agents = workspace.settings.agents.keys().map(|name| workspace.agent(name));
        access.agents = Some(agents.collect::<Result<Vec<_>, _>>()?);
        Ok((access, self.files(&workspace)))
    }

    /// Returns the files with configuration and tokens, including files that do not exist yet.
    fn files(&self, workspace: &Workspace) -> Vec<PathBuf> {
        let ConfigFiles { found, absent, .. } = self.workspace.config_input().files();
        let here = self.workspace.env.working_directory();
        let mut files: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).chain(absent).collect();
        let token_file = self.tokens.as_ref().and_then(|tokens| tokens.file.as_ref());
        files.extend(token_file.map(|file| here.join(file)));
        let agents = workspace.settings.agents.values();
        files.extend(agents.filter_map(|agent| Some(agent.token_file.as_ref()?.path.clone())));
        let secret = workspace.settings.oidc.client_secret_file.iter();
        files.extend(secret.map(|file| here.join(&file.path)));
        files
    }

    /// Applies changes to the server of `control` while it runs. The returned sender asks to read it all now.
    pub(super) fn start(self, control: HttpControl) -> Sender<()> {
        let (sender, asked) = channel();
        let files = self.files(&self.workspace);
        std::thread::spawn(move || self.follow(files, &asked, &control));
        sender
    }

    fn follow(&self, mut files: Vec<PathBuf>, asked: &Receiver<()>, control: &HttpControl) {
        let mut seen = stamps(&files);
        loop {
            let is_asked = match asked.recv_timeout(LOOK) {
                Ok(()) => true,
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let found = stamps(&files);
            if !is_asked && found == seen {
                continue;
            }
            seen = found;
            match self.read() {
                Ok((access, read)) => {
                    let tokens = access.tokens.len();
                    match control.replace_blocking(access) {
                        Ok(()) => say(&format!(
                            "the configuration was read again: agents, kits, oidc and {}; other keys take effect when the server is started again",
                            count(tokens, "token file")
                        )),
                        Err(error) => say_kept(&CliError::from(error)),
                    }
                    if read != files {
                        files = read;
                        seen = stamps(&files);
                    }
                }
                Err(error) => say_kept(&error),
            }
        }
    }
}

/// Returns the tokens, provider and kits of `workspace`. A server without a token source is for one person.
pub(super) fn access(workspace: &Workspace, source: Option<&TokenSource>) -> Result<HttpAccess, CliError> {
    let mut access = HttpAccess::default();
    access.kits.clone_from(&workspace.settings.kits);
    if let Some(source) = source {
        access.tokens = tokens::read(workspace, source.file.as_deref(), source.agent.as_deref())?;
        access.oidc = oidc::read(workspace)?;
    }
    Ok(access)
}

/// Tells that the server goes on as before.
fn say_kept(error: &CliError) {
    let why = error.message_with_causes();
    say(&format!("the new configuration is wrong, the server keeps the old one: {why}"));
}

fn stamps(files: &[PathBuf]) -> Vec<FileStamp> {
    let stamp = |file: &PathBuf| {
        let metadata = file.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(stamp).collect()
}
