//! Puts the instructions of loaded skills back into the context after a compaction.
//!
//! A compaction takes instructions that the model was following. Putting all of them back may cost more than
//! the compaction saved, so they are put back under a budget, the last used first:
//!
//! 1. Each skill in turn is given whole, if that fits and leaves room for the line of step 3.
//! 2. Each other is given as its [essence](crate::essence), the lines with its hard rules, if that fits.
//! 3. One line names the rest, as many as fit, and counts the others.
//!
//! Putting skills back is not a use of them, so each compaction finds them in the same order again.
//!
//! The text is counted again as a whole at the end, and less is bought if it should be over.
//!
//! Whole instructions are recognised in a transcript ([`transcript`](crate::transcript)), so they count as
//! loaded and are not given twice.
//!
//! ```
//! use repertoire_model::answer::Wording;
//! use repertoire_model::reattach::{Level, ReattachCandidate, plan};
//! use repertoire_model::{Digest, SkillName};
//!
//! let name = SkillName::new("git").unwrap();
//! let body = "Commit often.";
//! let candidate = ReattachCandidate { name: &name, body, digest: Digest::of(body.as_bytes()), essence: "" };
//! let reattachment = plan(&[candidate], 0, 1_000, &|text| text.len(), &Wording::default());
//! assert_eq!(reattachment.pieces[0].level, Level::Body);
//! assert!(reattachment.text.contains("Commit often."));
//! ```

mod frame;
mod plan;

pub use frame::{ELEMENT, ReattachCandidate, recognise};
pub use plan::{Level, Piece, Reattachment, plan};

#[cfg(test)]
mod tests;
