//! The questions that the dashboard asks the program around it, because the answers are not in the library.

use repertoire::{Entry, Registry};
use repertoire_app::doctor::HealthItem;
use repertoire_model::Digest;
use repertoire_model::scope::Pattern;
use repertoire_model::toolbox::Toolbox;

/// Answers questions about the surroundings of a library. Methods are called on threads that may block.
///
/// Every method has a default, so that a host answers what it knows.
pub trait Host: Send + Sync {
    /// Returns the decisions about the skill of `registry` called `name`, as `rep explain` prints them.
    fn explain(&self, registry: &Registry, name: &str) -> Result<Vec<Decision>, String> {
        let _ = (registry, name);
        Ok(Vec::new())
    }

    /// Returns the records of installers about `entry`.
    fn origins(&self, entry: &Entry) -> Vec<SkillOrigin> {
        let _ = entry;
        Vec::new()
    }

    /// Returns the state of the approval of the skill's tools, which are `toolbox` in a bundle with `digest`; `None` if they were never
    /// approved.
    fn approval(&self, entry: &Entry, digest: &Digest, toolbox: &Toolbox) -> Option<String> {
        let _ = (entry, digest, toolbox);
        None
    }

    /// Asks the source of the skill for its newest version; `None` if it was not added from one.
    fn newest(&self, entry: &Entry) -> Result<Option<NewestVersion>, String> {
        let _ = entry;
        Ok(None)
    }

    /// Returns the reason that the host does not switch skills off and on, with what to do instead; `None` if it does.
    fn switch_refusal(&self) -> Option<String> {
        Some("this server does not switch skills; use `rep disable` and `rep enable`".to_owned())
    }

    /// Switches the skill off or on for all agents, as `rep disable` and `rep enable` do. Returns the patterns of all skills that are
    /// disabled now. It is called only without a [`Host::switch_refusal`].
    fn switch(&self, entry: &Entry, is_on: bool) -> Result<Vec<Pattern>, String> {
        let _ = (entry, is_on);
        Err("this server does not switch skills".to_owned())
    }

    /// Returns a sentence about each client that reads the skill from files although it is disabled, as `rep disable` warns of it.
    fn still_read(&self, entry: &Entry) -> Vec<String> {
        let _ = entry;
        Vec::new()
    }

    /// Returns the health of what the server does not know itself, such as sandboxes.
    fn health(&self) -> Vec<HealthItem> {
        Vec::new()
    }
}

/// A decision about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Its subject, such as `catalog`.
    pub topic: String,
    /// The decision and its reason.
    pub text: String,
}

/// A record of an installer about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillOrigin {
    /// The installer.
    pub installer: String,
    /// The source that it installed the skill from.
    pub source: Option<String>,
    /// The difference since then, in words.
    pub state: String,
}

/// The newest version of a skill in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestVersion {
    /// The word for it, as in `rep outdated`: `current`, `outdated`, `renamed`, `removed`, `broken` or `unreachable`.
    pub state: &'static str,
    /// The version, the new name, or the reason.
    pub detail: Option<String>,
}
