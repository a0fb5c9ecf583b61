//! Options of a server of MCP.

use std::path::PathBuf;
use std::time::Duration;

use repertoire::SessionOptions;
use repertoire::event::Surface;
use repertoire::session::{Account, Refresh};
use repertoire_model::answer::Render;
use repertoire_model::ledger::Reload;

/// The default of [`McpOptions::instructions_tokens`].
pub const INSTRUCTIONS_TOKENS: usize = 2_000;

/// Switches a feature on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// The feature is offered; the default.
    #[default]
    On,
    /// The feature is neither offered nor announced.
    Off,
}

impl Switch {
    /// Returns whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// The format of tool results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultForm {
    /// Markdown text only: clients show structured content to the model as escaped JSON.
    #[default]
    Markdown,
    /// JSON, both as text and as structured content.
    Json,
    /// XML text only.
    Xml,
    /// The sentences of the harness guide only.
    Text,
}

impl ResultForm {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Json, Self::Xml, Self::Text];

    /// Returns the name of the form in configuration and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Json => "json",
            Self::Xml => "xml",
            Self::Text => "text",
        }
    }

    /// Returns the form called `word`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == word)
    }
}

/// Options of a server of MCP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpOptions {
    /// The name of the server.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Tools for models.
    pub tools: Switch,
    /// The Skills extension and its resources.
    pub extension: Switch,
    /// The format of tool results.
    pub result: ResultForm,
    /// Maximum tokens of the catalog in `instructions`; 0 for no instructions.
    pub instructions_tokens: usize,
    /// The directory that clients over stdio work in if they name none: skills whose `paths` match a file in it are offered.
    pub project: Option<PathBuf>,
    /// The user's home directory: a repository there is not the project of the directories below it.
    pub home: Option<PathBuf>,
    /// Maximum sessions of one caller over HTTP. One more closes the session that was idle longest.
    pub sessions: usize,
    /// Maximum idle sessions of one caller over HTTP: those without an event stream and without a request in flight. One more
    /// closes the session that was idle longest.
    pub idle_sessions: usize,
    /// Time after which an idle session over HTTP is closed.
    pub session_time: Duration,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            name: "repertoire".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tools: Switch::default(),
            extension: Switch::default(),
            result: ResultForm::default(),
            instructions_tokens: INSTRUCTIONS_TOKENS,
            project: None,
            home: None,
            sessions: 1_024,
            idle_sessions: 128,
            session_time: Duration::from_secs(30 * 60),
        }
    }
}

impl McpOptions {
    /// Returns `options` as sessions of a server need them, for [`repertoire::LibraryBuilder::session_options`].
    ///
    /// A server sees no transcript, so it always returns the body, and offers `unload_skill` only where the list of
    /// offered tools names it.
    pub fn session_options(&self, mut options: SessionOptions) -> SessionOptions {
        options.render = match self.result {
            ResultForm::Markdown => Render::Markdown,
            ResultForm::Json => Render::Json,
            ResultForm::Xml => Render::Xml,
            ResultForm::Text => Render::Text,
        };
        options.surface = Surface::Mcp;
        options.account = Account::None;
        options.reload = Reload::AlwaysBody;
        options.refresh = Refresh::Session;
        options.unload_tool &= options.offered.lists("unload_skill");
        options.show_loaded = false;
        options
    }
}
