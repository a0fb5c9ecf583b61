//! Options of fetching.

use std::path::PathBuf;

use repertoire::http::HttpClient;

use crate::git::GitPrompt;

const NPM: &str = "https://registry.npmjs.org";
/// The index of Python packages.
const PYPI: &str = "https://pypi.org";

/// Options of fetching.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FetchOptions {
    /// The directory for scratch directories.
    pub scratch: PathBuf,
    /// Decides if git may ask for credentials.
    pub prompt: GitPrompt,
    /// The token for the server of an index; it is sent to no other.
    pub token: Option<String>,
    /// The skills of an index to fetch; all if it is empty.
    pub wanted: Vec<String>,
    /// The treatment of a bad entry of an index if it alone is wanted.
    pub(crate) single_bad_entry: BadEntry,
    /// The registry of npm.
    pub npm: String,
    /// The index of Python packages.
    pub pypi: String,
    /// The client that requests go through that are not git's; git has its own settings.
    pub http: HttpClient,
}

/// The treatment of an entry of an index that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadEntry {
    /// Fetching fails.
    Fail,
    /// It is left out, with the reason.
    LeaveOut,
}

impl FetchOptions {
    /// Returns options with scratch directories in `scratch`; nobody is asked for credentials.
    pub fn new(scratch: impl Into<PathBuf>) -> Self {
        Self {
            scratch: scratch.into(),
            prompt: GitPrompt::Never,
            token: None,
            wanted: Vec::new(),
            single_bad_entry: BadEntry::Fail,
            npm: NPM.to_owned(),
            pypi: PYPI.to_owned(),
            http: HttpClient::default(),
        }
    }
}
