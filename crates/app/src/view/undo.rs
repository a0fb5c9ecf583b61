//! Changes that can be taken back.

use std::time::{Duration, UNIX_EPOCH};

use repertoire::change::{DoneChange, UNDO};
use repertoire::event::jsonl::rfc3339;
use schemars::JsonSchema;
use serde::Serialize;

/// A change of files, or something that stands in files of clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeView {
    /// The number that `rep undo` takes; `null` if it cannot be taken back from here.
    pub number: Option<usize>,
    /// The command that made it, or makes such a thing.
    pub command: String,
    /// The skills, clients or patterns that it is about.
    pub about: Vec<String>,
    /// The root of the project, or the home directory.
    pub place: String,
    /// The time at which it was made, in RFC 3339; `null` for what stands without a record.
    pub time: Option<String>,
    /// The state: `made`, `undone`, `undo` for one that took another one back, `stands` for what has no
    /// record, or `elsewhere` for one of another project.
    pub state: &'static str,
}

impl ChangeView {
    /// Returns the view of `change` in this state, without a number.
    pub fn new(change: &DoneChange, state: &'static str) -> Self {
        let time = UNIX_EPOCH + Duration::from_millis(change.time);
        Self {
            number: None,
            command: change.command.clone(),
            about: change.about.clone(),
            place: change.base.display().to_string(),
            time: (state != "stands").then(|| rfc3339(time)),
            state,
        }
    }

    /// Returns the command with what it is about.
    pub fn words(&self) -> String {
        let mut about = self.about[..self.about.len().min(MOST_NAMED)].join(" ");
        if self.about.len() > MOST_NAMED {
            about += &format!(" and {} others", self.about.len() - MOST_NAMED);
        }
        match self.command.as_str() {
            UNDO => format!("{UNDO}, of {about}"),
            command if about.is_empty() => command.to_owned(),
            command => format!("{command} {about}"),
        }
    }
}

/// The changes, the newest first, and behind them what stands without a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoListView {
    /// The changes.
    pub changes: Vec<ChangeView>,
}

/// The most skills, clients or patterns that are named.
const MOST_NAMED: usize = 5;

/// A change that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoView {
    /// The change.
    #[serde(flatten)]
    pub change: ChangeView,
    /// The files, links and directories that change with it.
    pub paths: Vec<String>,
    /// A sentence about each that was changed since and is left alone.
    pub left_alone: Vec<String>,
    /// True if it was taken back; false if it would be.
    pub taken_back: bool,
}
