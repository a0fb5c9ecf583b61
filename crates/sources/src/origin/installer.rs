//! The programs that install skills and leave a record.

use repertoire_model::words;

words! {
    /// A program that installs skills.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    Installer {
        /// `rep add`, which writes `repertoire.lock`.
        Rep "rep",
        /// `npx skills`, which writes `skills-lock.json` and `.skill-lock.json`.
        Skills "skills",
        /// `gh skill`, which writes into the frontmatter.
        Gh "gh",
        /// APM, which writes `apm.lock.yaml`.
        Apm "apm",
        /// Sentry's dotagents, which writes `agents.lock`.
        Dotagents "dotagents",
        /// `openskills`, which writes `.openskills.json` into the skill.
        OpenSkills "openskills",
        /// ClawHub, which writes `.clawhub/origin.json` into the skill.
        ClawHub "clawhub",
        /// Claude Code, which records its plugins in `installed_plugins.json`.
        ClaudePlugin "claude-plugin",
    }
}

impl Installer {
    /// Returns the command as users type it.
    pub fn command(self) -> &'static str {
        match self {
            Self::Skills => "npx skills",
            Self::Gh => "gh skill",
            Self::ClaudePlugin => "claude plugin",
            _ => self.as_str(),
        }
    }
}
