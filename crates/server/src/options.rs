//! What a host may choose about serving.

use std::fmt;
use std::sync::Arc;

use repertoire::session::{Account, Refresh};
use repertoire::{Diagnostic, SessionOptions};
use repertoire_model::answer::Render;
use repertoire_model::ledger::Reload;

/// The most tokens of the catalog in `instructions`, unless the host says otherwise.
pub const INSTRUCTIONS_TOKENS: usize = 2_000;

/// Whether something is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// It is; the default.
    #[default]
    On,
    /// It is not, and clients are not told of it.
    Off,
}

impl Switch {
    /// Returns whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// How results of tools are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultForm {
    /// As Markdown and nothing else: clients put structured content before the model as escaped JSON.
    #[default]
    Markdown,
    /// As JSON, in the text and as structured content.
    Json,
}

impl ResultForm {
    /// Every form.
    pub const ALL: [Self; 2] = [Self::Markdown, Self::Json];

    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Json => "json",
        }
    }

    /// Returns the form that goes by `word`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == word)
    }
}

/// Something that whoever runs the server may want to know.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Notice {
    /// A skill is not on `skills/list`; tools still reach it.
    Withheld {
        /// The skill.
        skill: String,
        /// Where it lies.
        path: String,
        /// Why, the first reason first.
        reasons: Vec<Diagnostic>,
    },
}

/// Takes notices; it is called from any thread and should be quick.
#[derive(Clone, Default)]
pub struct Notices(Option<Arc<Take>>);

type Take = dyn Fn(&Notice) + Send + Sync;

impl Notices {
    /// Returns what hands notices to `take`.
    pub fn new(take: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(take)))
    }

    pub(crate) fn give(&self, notice: &Notice) {
        if let Some(take) = &self.0 {
            take(notice);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}

/// What a host may choose about serving.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What the server calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether models are offered tools.
    pub tools: Switch,
    /// Whether hosts are offered the Skills extension and its resources.
    pub extension: Switch,
    /// How results of tools are written.
    pub result: ResultForm,
    /// The most tokens of the catalog in `instructions`; 0 for none at all.
    pub instructions_tokens: usize,
    /// Who takes notices.
    pub notices: Notices,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            name: "repertoire".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tools: Switch::default(),
            extension: Switch::default(),
            result: ResultForm::default(),
            instructions_tokens: INSTRUCTIONS_TOKENS,
            notices: Notices::default(),
        }
    }
}

impl ServerOptions {
    /// Returns `options` as sessions of a server need them, for [`repertoire::LibraryBuilder::session_options`].
    ///
    /// A server sees no transcript, so it always gives the body, and there is nothing to unload or to mark.
    pub fn session_options(&self, mut options: SessionOptions) -> SessionOptions {
        options.render = match self.result {
            ResultForm::Markdown => Render::Markdown,
            ResultForm::Json => Render::Json,
        };
        options.account = Account::None;
        options.reload = Reload::AlwaysBody;
        options.refresh = Refresh::Session;
        options.unload_tool = false;
        options.show_loaded = false;
        options
    }
}
