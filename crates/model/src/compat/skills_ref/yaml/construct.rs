//! From nodes to values: merge keys, repeated keys and even indentation.

use std::collections::HashSet;

use super::super::value::Value;
use super::cursor::Mark;
use super::fault::Fault;
use super::node::Node;

const MAPPING_CONTEXT: &str = "while constructing a mapping";

/// Returns the value of a document's root.
pub(super) fn construct(root: Node) -> Result<Value, Fault> {
    let mut refused_key = false;
    let value = match root {
        Node::Mapping { pairs, start, .. } => {
            // Merged mappings are thrown away, but those of the root are looked at last.
            let (pairs, merged) = split_merges(pairs, start)?;
            let value = mapping(pairs, start, &mut refused_key)?;
            for node in merged {
                construct_node(node, &mut refused_key)?;
            }
            value
        }
        other => construct_node(other, &mut refused_key)?,
    };
    if refused_key {
        return Err(Fault::crash("AssertionError: <class 'tuple'>"));
    }
    Ok(value)
}

fn construct_node(node: Node, refused_key: &mut bool) -> Result<Value, Fault> {
    match node {
        Node::Scalar { scalar, .. } => Ok(match scalar.text.as_str() {
            "=" if scalar.plain => Value::Opaque("="),
            "<<" if scalar.plain => Value::Opaque("<<"),
            _ => Value::Text(scalar.text),
        }),
        Node::Sequence { items, .. } => items
            .into_iter()
            .map(|item| construct_node(item, refused_key))
            .collect::<Result<_, _>>()
            .map(Value::List),
        Node::Mapping { pairs, start, .. } => {
            let (pairs, merged) = split_merges(pairs, start)?;
            for node in merged {
                construct_node(node, refused_key)?;
            }
            mapping(pairs, start, refused_key)
        }
    }
}

fn mapping(pairs: Vec<(Node, Node)>, start: Mark, refused_key: &mut bool) -> Result<Value, Fault> {
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    let mut places = Vec::new();
    for (key, node) in pairs {
        let (key, key_start, key_end) = match key {
            Node::Scalar { scalar, start, end } => (scalar.text, start, end),
            key @ Node::Mapping { .. } => {
                let key_start = key.start();
                construct_node(key, refused_key)?;
                return Err(Fault::since(MAPPING_CONTEXT, start, "found unhashable key", key_start));
            }
            key @ Node::Sequence { .. } => {
                construct_node(key, refused_key)?;
                construct_node(node, refused_key)?;
                *refused_key = true;
                continue;
            }
        };
        if let Node::Mapping { start, end, .. } = &node {
            places.push((*start, *end));
        }
        let value = construct_node(node, refused_key)?;
        if !seen.insert(key.clone()) {
            let problem = format!("Duplicate key '{key}' found");
            return Err(Fault::since("While parsing", key_start, problem, key_end));
        }
        entries.push((key, value));
    }
    if let Some((first, _)) = places.first()
        && let Some((start, end)) = places.iter().find(|(start, _)| start.column != first.column)
    {
        let problem = "Found mapping with indentation inconsistent with previous mapping";
        return Err(Fault::since("While parsing", *start, problem, *end));
    }
    Ok(Value::Map(entries))
}

type Pairs = Vec<(Node, Node)>;

/// Takes the merge keys out of `pairs` and returns what they would merge.
fn split_merges(pairs: Pairs, start: Mark) -> Result<(Pairs, Vec<Node>), Fault> {
    let mut kept = Vec::new();
    let mut merged = Vec::new();
    for (key, value) in pairs {
        if !matches!(&key, Node::Scalar { scalar, .. } if scalar.plain && scalar.text == "<<") {
            kept.push((key, value));
            continue;
        }
        if !merged.is_empty() {
            return Err(Fault::crash("by default when using the new API."));
        }
        match value {
            Node::Mapping { .. } => merged.push(value),
            Node::Sequence { items, .. } => {
                for item in items {
                    if !matches!(item, Node::Mapping { .. }) {
                        let problem = format!("expected a mapping for merging, but found {}", item.name());
                        return Err(Fault::since(MAPPING_CONTEXT, start, problem, item.start()));
                    }
                    merged.push(item);
                }
            }
            Node::Scalar { .. } => {
                let problem = "expected a mapping or list of mappings for merging, but found scalar";
                return Err(Fault::since(MAPPING_CONTEXT, start, problem, value.start()));
            }
        }
    }
    Ok((kept, merged))
}
