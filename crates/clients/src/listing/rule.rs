//! The rule by which a client lists skills to its model.

use std::path::PathBuf;

/// The rule by which a client lists the skills that it reads from files.
#[derive(Debug, Clone, Copy)]
pub struct ListingRule {
    /// The version of the client that has the rule.
    pub version: &'static str,
    /// The address that the rule was read at; `None` if it was compared with requests of the client.
    pub read_at: Option<&'static str>,
    /// The tokens of the context window that the budget is a part of.
    pub window: usize,
    /// The room for all skills.
    pub budget: ListingBudget,
    /// The room that the user set in place of the budget, in its unit.
    pub room: Option<usize>,
    /// The most characters of a description; `None` if any length is shown.
    pub longest: Option<usize>,
    /// The end of a longer description, which is cut; `None` if its skill is left out.
    pub cut_mark: Option<&'static str>,
    /// Returns a description as the model gets it, before it is shortened.
    pub written: fn(&str) -> String,
    /// Returns the entry of a skill with this description, or without one.
    pub entry: fn(&OfferedSkill, &str) -> String,
    /// Returns the text that the listing is sorted by.
    pub order: fn(&OfferedSkill) -> String,
    /// The skill that hides its namesake: the user's (`true`) or the project's; `None` if both are listed.
    pub user_wins: Option<bool>,
    /// True if skills whose author keeps them for people are left out.
    pub leaves_out_manual: bool,
    /// True if skills with `paths`, and of packages below, are listed only after a file of theirs was used.
    pub waits_for_paths: bool,
    /// The names and description lengths of the client's own skills, which share the budget.
    pub own: &'static [(&'static str, usize)],
}

/// The room that a client leaves for the listing, and how it fits skills into it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ListingBudget {
    /// There is no limit.
    Unlimited,
    /// A part of the context window, in columns: so many for a token of a window of 1,000,000 tokens, and of
    /// a smaller one. Names stay; descriptions are whole or left out, and the skills that were used most come
    /// first. The last number is taken by what is not shown.
    MostUsed(f64, [usize; 2], usize),
    /// A part of the context window, in tokens of four bytes. All descriptions are cut at about the same
    /// length; where names alone are too long, skills at the end are left out.
    Even(f64),
    /// A number of characters. The first skill that does not fit, and all behind it, are named alone.
    FirstCome(usize),
}

/// A skill that a client reads from files.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedSkill {
    /// The name by which the client knows it.
    pub name: String,
    /// The name by which the library knows it.
    pub library_name: String,
    /// Its description, as written.
    pub description: String,
    /// The path of its `SKILL.md`, where the client finds it.
    pub path: PathBuf,
    /// True if it is one of the user's, not of a project.
    pub is_users: bool,
    /// The weight of its use; 0 if it was not used, or that is not known.
    pub uses: f64,
}

impl OfferedSkill {
    /// Returns the name of the directory of its `SKILL.md`.
    pub(super) fn directory_name(&self) -> String {
        let directory = self.path.parent().and_then(|directory| directory.file_name());
        directory.unwrap_or_default().to_string_lossy().into_owned()
    }
}
