//! A skill that may be put back after a compaction.

use crate::{Digest, SkillName};

/// A skill whose instructions could be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a SkillName,
    /// Its instructions.
    pub body: &'a str,
    /// The digest of `body`.
    pub digest: Digest,
    /// Their hard rules, as [`essence`](crate::essence::essence) finds them or a host wrote them; may be empty.
    pub essence: &'a str,
}
