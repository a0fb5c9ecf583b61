//! Options of a server of MCP.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use repertoire::event::Surface;
use repertoire::session::{Account, Refresh};
use repertoire::{SessionOptions, SkillName};
use repertoire_model::answer::Render;
use repertoire_model::ledger::Reload;

/// The default of [`McpOptions::instructions_tokens`].
pub const INSTRUCTIONS_TOKENS: usize = 2_000;

/// Finds the skills that a client reads from files by itself.
#[derive(Clone)]
pub struct OwnFiles(Arc<NamesRead>);

/// Returns the names of the skills that the client with this name reads from files.
type NamesRead = dyn Fn(&str) -> BTreeSet<SkillName> + Send + Sync;

impl OwnFiles {
    /// Returns the finder that calls `names` with the name by which a client introduces itself.
    pub fn new(names: impl Fn(&str) -> BTreeSet<SkillName> + Send + Sync + 'static) -> Self {
        Self(Arc::new(names))
    }

    /// Returns the names of the skills that the client called `client` reads.
    pub(crate) fn of(&self, client: &str) -> BTreeSet<SkillName> {
        (self.0)(client)
    }
}

repertoire_model::options! {
    /// Options of a server of MCP.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct McpOptions {
        /// The name of the server.
        pub name: String = "repertoire".to_owned(),
        /// Its version.
        pub version: String = env!("CARGO_PKG_VERSION").to_owned(),
        /// Tools for models.
        pub tools: bool = true,
        /// The Skills extension and its resources.
        pub extension: bool = true,
        /// The format of tool results: Markdown, because clients show structured content to the model as
        /// escaped JSON. With [`Render::Json`] the result is in the text and in the structured content.
        pub result: Render = Render::Markdown,
        /// Maximum tokens of the catalog in `instructions`; 0 for no instructions.
        pub instructions_tokens: usize = INSTRUCTIONS_TOKENS,
        /// The directory of stdio clients that name none; skills whose `paths` match its files are offered.
        pub project: Option<PathBuf>,
        /// The user's home directory: a repository there is not the project of the directories below it.
        pub home: Option<PathBuf>,
        /// The skills that a client on this machine reads from files, which are left out of its catalog.
        pub own_files: Option<OwnFiles>,
        /// Maximum sessions of one caller over HTTP. One more closes the session that was idle longest.
        pub sessions: usize = 1_024,
        /// Maximum idle sessions of one caller over HTTP: those without an event stream and without a request
        /// in flight. One more closes the session that was idle longest.
        pub idle_sessions: usize = 128,
        /// Maximum idle sessions of all callers over HTTP. One more closes the session that was idle longest.
        pub all_idle_sessions: usize = 192,
        /// Time after which an idle session over HTTP is closed.
        pub session_time: Duration = Duration::from_secs(30 * 60),
    }
}

impl McpOptions {
    /// Returns `options` as servers need them, for [`repertoire::LibraryBuilder::session_options`].
    ///
    /// A server sees no transcript, so it always returns the body, and offers `unload_skill` only where the
    /// list of offered tools names it.
    pub fn session_options(&self, mut options: SessionOptions) -> SessionOptions {
        options.render = self.result;
        options.surface = Surface::Mcp;
        options.loading.account = Account::None;
        options.loading.reload = Reload::AlwaysBody;
        options.refresh = Refresh::Session;
        options.tools.unload_tool &= options.tools.offered.lists("unload_skill");
        options.show_loaded = false;
        options
    }
}
