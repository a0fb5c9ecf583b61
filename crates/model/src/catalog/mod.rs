//! The catalog: the level-1 text in the system prompt of every agent, one line or element per skill.
//!
//! It is paid for on every turn of every agent and it is the prefix that prompt caches match on. Hence:
//!
//! - **The same skills give the same bytes.** Entries are sorted bytewise by name. Loading a skill changes
//!   nothing, unless a host without a cache asks the `menu` format to mark what is loaded.
//! - **No skills, no text.** An empty set renders the empty string, so that nothing needs to be injected.
//! - **A description is data.** It is flattened to one line, stripped of control, invisible and
//!   direction-changing characters, bounded by [`MAX_DESCRIPTION_CHARS`], and escaped so that it cannot close
//!   its wrapper or open another entry.
//! - **Every name stays.** Over a budget descriptions give way, by the rule below; names do not, unless the
//!   host chose [`OverBudget::SearchOnly`] or gave a [`Ranking`] of what is needed. What was left out is
//!   announced in the text, with the tool that finds it.
//!
//! No format ends with a line break: the host joins its sections as it likes.
//!
//! # Skills with full descriptions
//!
//! Shortening all descriptions alike is the one thing that is known not to work: a skill that is described in
//! half a sentence is not chosen, and then none is. Cutting the list off by alphabet hides the skills called
//! `z`. So each skill has its full description, or its first sentence, or its name only:
//!
//! 1. Every name is paid for first, with the frame around the entries and the footer.
//! 2. The highlighted skill and then those of [`CatalogOptions::priority`], in that order, take the most that
//!    still fits: their full description or else its first sentence.
//! 3. If the first sentence of every other skill fits, each has it, and the rest of the budget completes
//!    descriptions, cheapest first, ties by name.
//! 4. Otherwise the cheapest descriptions are taken in full first, ties by name, until none fits any more,
//!    and what is left buys first sentences in the same way.
//!
//! No other order gives more skills their full description, and none depends less on how a skill is called;
//! terse descriptions are favoured, which is the incentive their authors should have.
//!
//! The text is counted again as a whole at the end, and the last purchases are returned if it should be over.
//!
//! # With a ranking
//!
//! If the host knows the task, [`CatalogOptions::ranking`] holds the skills it needs, best first. A skill
//! that no task ever brings to the top would then never be seen, so a share of the cost of descriptions,
//! [`FAIR_PERCENT`], goes to all skills by turns: in an order that only their names decide, each
//! [epoch](Ranking::epoch) shows the next few. After [`CatalogReport::turns`] epochs each skill has been
//! shown in full once, independent of the tasks; if its description takes more than half of what is left
//! beside the names, its first sentence. Between the second and the third step:
//!
//! - Skills of this turn have their full description, or else its first sentence, within half of the rest.
//! - Skills that the task needs take the most that still fits, best first. Skills of this turn that half did
//!   not suffice for come after them.
//!
//! Names without a description stand together in one line behind the footer, in which they cost a fraction of
//! a line each; only the highlighted skill keeps its own.
//!
//! If the names take more than half of what the frame leaves, the skills of this turn and of the task come
//! before them, and some names are left out. The rest of the budget buys names of skills that the task may
//! need or of this turn, then descriptions of the skills of the next turns, then their names: skills without
//! a description are hardly ever chosen. The footer has the number of unlisted skills. If nothing fits, the
//! skill that the task needs most is still named. An empty ranking, without a task, does the same. The text
//! stays sorted by name; the ranking decides only how much of a skill is shown, see [`CatalogReport`].
//!
//! ```
//! use repertoire_model::catalog::{CatalogEntry, CatalogOptions, Format, render};
//!
//! let entries = [
//!     CatalogEntry { name: "git", description: "Version control.", location: None },
//!     CatalogEntry { name: "docx", description: "Word\nfiles.", location: None },
//! ];
//! let mut options = CatalogOptions::default();
//! options.format = Format::Menu;
//! options.usage = false;
//! assert_eq!(
//!     render(&entries, &options).unwrap().text,
//!     "Available skills (use load_skill to activate):\n\n- docx: Word files.\n- git: Version control."
//! );
//! ```

mod budget;
mod compose;
mod entry;
mod notice;
mod options;
pub(crate) mod render;
mod report;
mod rotation;
mod sentence;

pub use crate::tokens::Tokenizer;
pub use compose::{Catalog, render};
pub use entry::{CatalogEntry, MAX_DESCRIPTION_CHARS};
pub(crate) use entry::{flatten, shown_name};
pub use options::{
    CatalogError, CatalogOptions, Format, LIST_TOOL, LOAD_TOOL, OverBudget, READ_TOOL, SEARCH_TOOL,
};
pub use options::{FAIR_PERCENT, Ranking};
pub use report::{CatalogReport, Reason, SkillTier, Tier};
pub use sentence::{MAX_SENTENCE_CHARS, first_sentence};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
