//! From nodes to values: merge keys, repeated keys and even indentation.

use std::collections::HashSet;

use super::super::value::Value;
use super::cursor::Mark;
use super::fault::Fault;
use super::node::Node;

const MAPPING_CONTEXT: &str = "while constructing a mapping";

type Pairs = Vec<(Node, Node)>;
type Entries = Vec<(String, Value)>;

/// Returns the value of a document's root.
pub(super) fn construct(root: Node) -> Result<Value, Fault> {
    let mut constructor = Constructor::default();
    let value = match root {
        Node::Mapping { pairs, start, .. } => constructor.mapping(pairs, start, Merging::Late)?,
        other => constructor.node(other)?,
    };
    while !constructor.late.is_empty() {
        for node in std::mem::take(&mut constructor.late) {
            if let Node::Mapping { pairs, start, .. } = node {
                constructor.mapping(pairs, start, Merging::Late)?;
            }
        }
    }
    if constructor.has_list_key {
        return Err(Fault::crash("AssertionError: <class 'tuple'>"));
    }
    Ok(value)
}

/// When the mappings that a `<<` names are constructed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merging {
    /// At once, so that their entries are merged.
    AtOnce,
    /// After the document's root, so that they are still empty when they are merged.
    Late,
}

#[derive(Default)]
struct Constructor {
    late: Vec<Node>,
    /// Whether a list was met as a key, which a later stage of the reference trips over.
    has_list_key: bool,
}

impl Constructor {
    fn node(&mut self, node: Node) -> Result<Value, Fault> {
        match node {
            Node::Scalar { scalar, .. } => Ok(match scalar.text.as_str() {
                "=" if scalar.plain => Value::Opaque("="),
                "<<" if scalar.plain => Value::Opaque("<<"),
                _ => Value::Text(scalar.text),
            }),
            Node::Sequence { items, .. } => {
                let items: Result<_, _> = items.into_iter().map(|item| self.node(item)).collect();
                items.map(Value::List)
            }
            Node::Mapping { pairs, start, .. } => self.mapping(pairs, start, Merging::AtOnce),
        }
    }

    fn mapping(&mut self, pairs: Pairs, start: Mark, merging: Merging) -> Result<Value, Fault> {
        let (pairs, merged) = self.take_merges(pairs, start, merging)?;
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        let mut places = Vec::new();
        for (key, node) in pairs {
            let (key, key_start, key_end) = match key {
                Node::Scalar { scalar, start, end } => (scalar.text, start, end),
                key @ Node::Mapping { .. } => {
                    let key_start = key.start();
                    self.node(key)?;
                    return Err(Fault::since(MAPPING_CONTEXT, start, "found unhashable key", key_start));
                }
                key @ Node::Sequence { .. } => {
                    self.node(key)?;
                    self.node(node)?;
                    self.has_list_key = true;
                    continue;
                }
            };
            if let Node::Mapping { start, end, .. } = &node {
                places.push((*start, *end));
            }
            let value = self.node(node)?;
            if !seen.insert(key.clone()) {
                let problem = format!("Duplicate key '{key}' found");
                return Err(Fault::since("While parsing", key_start, problem, key_end));
            }
            entries.push((key, value));
        }
        entries.extend(merged.into_iter().filter(|(key, _)| seen.insert(key.clone())));
        check_indentation(&places)?;
        Ok(Value::Map(entries))
    }

    /// Takes the merge keys out of `pairs` and returns the entries that they merge, first come first.
    fn take_merges(
        &mut self,
        pairs: Pairs,
        start: Mark,
        merging: Merging,
    ) -> Result<(Pairs, Entries), Fault> {
        let mut kept = Vec::new();
        let mut merged = Vec::new();
        let mut merges = 0;
        for (key, value) in pairs {
            if !matches!(&key, Node::Scalar { scalar, .. } if scalar.plain && scalar.text == "<<") {
                kept.push((key, value));
                continue;
            }
            if merges > 0 {
                return Err(Fault::crash("by default when using the new API."));
            }
            let (named, refusal) = match value {
                Node::Sequence { items, .. } => (items, "expected a mapping for merging, but found"),
                other => (vec![other], "expected a mapping or list of mappings for merging, but found"),
            };
            for node in named {
                if !matches!(node, Node::Mapping { .. }) {
                    let problem = format!("{refusal} {}", node.name());
                    return Err(Fault::since(MAPPING_CONTEXT, start, problem, node.start()));
                }
                merges += 1;
                match merging {
                    Merging::Late => self.late.push(node),
                    Merging::AtOnce => {
                        if let Value::Map(entries) = self.node(node)? {
                            merged.extend(entries);
                        }
                    }
                }
            }
        }
        Ok((kept, merged))
    }
}

/// Refuses mappings that are values of one mapping but start at different columns.
fn check_indentation(places: &[(Mark, Mark)]) -> Result<(), Fault> {
    let Some((first, _)) = places.first() else { return Ok(()) };
    match places.iter().find(|(start, _)| start.column != first.column) {
        None => Ok(()),
        Some((start, end)) => {
            let problem = "Found mapping with indentation inconsistent with previous mapping";
            Err(Fault::since("While parsing", *start, problem, *end))
        }
    }
}
