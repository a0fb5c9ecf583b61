//! A small YAML tree that keeps both views of a scalar: its source text and its type.
//!
//! Built from the events of `granit-parser` under a budget: no anchors, aliases or tags, a bounded depth and a
//! bounded number of nodes, one document. Scalars stay text until [`Node::to_json`] gives them the types of the YAML
//! 1.2 core schema, so `version: 1.10` is `1.10` to whoever reads a string and `1.1` to whoever reads JSON.

mod tree;
mod simple;

pub(crate) use tree::parse_within;
pub use tree::{Entry, Fault, MAX_DEPTH, MAX_NODES, Node, Parsed, Range, Scalar, entries_to_json, parse};
