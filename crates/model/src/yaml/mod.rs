//! A small YAML tree that keeps both views of a scalar: its source text and its type.
//!
//! Built from the events of `granit-parser` under a budget: no anchors, aliases or tags, a bounded depth and
//! a bounded number of nodes, one document. Scalars stay text until [`Node::to_json`] gives them the types of
//! the YAML 1.2 core schema, so `version: 1.10` reads as the string `1.10` and as the JSON number `1.1`.

mod tree;
mod simple;
mod parser;

pub use parser::{MAX_DEPTH, MAX_NODES, YamlFault, parse, parse_within};
pub use tree::{MappingEntry, Node, ParsedYaml, Range, Scalar, entries_to_json};
