//! The tree between tokens and values: it still knows where things stood.

use super::cursor::Mark;
use super::token::Scalar;

/// A part of a document.
#[derive(Debug)]
pub(super) enum Node {
    Scalar { scalar: Scalar, start: Mark, end: Mark },
    Sequence { items: Vec<Node>, start: Mark },
    Mapping { pairs: Vec<(Node, Node)>, start: Mark, end: Mark },
}

impl Node {
    /// Returns the scalar that stands where nothing is written.
    pub(super) fn empty(mark: Mark) -> Self {
        Self::Scalar { scalar: Scalar { text: String::new(), plain: true }, start: mark, end: mark }
    }

    pub(super) fn start(&self) -> Mark {
        match self {
            Self::Scalar { start, .. } | Self::Sequence { start, .. } | Self::Mapping { start, .. } => *start,
        }
    }

    /// Returns the kind's name in complaints.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Scalar { .. } => "scalar",
            Self::Sequence { .. } => "sequence",
            Self::Mapping { .. } => "mapping",
        }
    }
}
