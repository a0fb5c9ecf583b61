//! The programs that install skills and leave a record.

use std::fmt;

/// A program that installs skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Installer {
    /// `rep add`, which writes `repertoire.lock`.
    Rep,
    /// `npx skills`, which writes `skills-lock.json` and `.skill-lock.json`.
    Skills,
    /// `gh skill`, which writes into the frontmatter.
    Gh,
    /// APM, which writes `apm.lock.yaml`.
    Apm,
    /// Sentry's dotagents, which writes `agents.lock`.
    Dotagents,
    /// `openskills`, which writes `.openskills.json` into the skill.
    OpenSkills,
    /// ClawHub, which writes `.clawhub/origin.json` into the skill.
    ClawHub,
    /// Claude Code, which records its plugins in `installed_plugins.json`.
    ClaudePlugin,
}

impl Installer {
    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rep => "rep",
            Self::Skills => "skills",
            Self::Gh => "gh",
            Self::Apm => "apm",
            Self::Dotagents => "dotagents",
            Self::OpenSkills => "openskills",
            Self::ClawHub => "clawhub",
            Self::ClaudePlugin => "claude-plugin",
        }
    }

    /// Returns the command as users type it.
    pub fn command(self) -> &'static str {
        match self {
            Self::Rep => "rep",
            Self::Skills => "npx skills",
            Self::Gh => "gh skill",
            Self::Apm => "apm",
            Self::Dotagents => "dotagents",
            Self::OpenSkills => "openskills",
            Self::ClawHub => "clawhub",
            Self::ClaudePlugin => "claude plugin",
        }
    }
}

impl fmt::Display for Installer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
