//! Edits a list in a JSON file item by item, so that the other items keep their text and comments.

use jsonc_parser::cst::{CstArray, CstNode};
use serde_json::Value;

use super::json::{self, input, tree};
use super::one_line::spaced;
use super::text::{EditFault, split_bom};
use super::value::{not_editable, set_in, verified};

/// The text in place of an item until that is written.
const MARK: &str = "\u{fdd0}";

/// Returns `text` without the items that `is_gone` accepts in the list at `path` and in the lists `inner` of
/// its items, which go where nothing is left there, and with `added` at the end.
pub(crate) fn edit_list(
    text: &str,
    path: &[&str],
    inner: &str,
    is_gone: &dyn Fn(&Value) -> bool,
    added: Option<&Value>,
) -> Result<String, EditFault> {
    let (bom, body) = split_bom(text);
    let mut expect = json::parse(body)?;
    let found = path.iter().try_fold(&Value::Object(expect.clone()), |value, key| value.get(key)).cloned();
    let (Some((last, above)), Some(Value::Array(mut items))) = (path.split_last(), found) else {
        return Err(not_editable());
    };
    let root = tree(body)?;
    let list = || {
        let object = above.iter().try_fold(root.object_value()?, |object, key| object.object_value(key));
        object?.array_value(last)
    };
    let list = list().ok_or_else(not_editable)?;
    let is_all_gone = |items: &Vec<Value>| !items.is_empty() && items.iter().all(is_gone);
    take_out(&list, &mut items, &|item| is_gone(item) || item[inner].as_array().is_some_and(is_all_gone));
    for (node, item) in list.elements().iter().zip(&mut items) {
        let nodes = node.as_object().and_then(|object| object.array_value(inner));
        if let (Some(nodes), Some(Value::Array(items))) = (nodes, item.get_mut(inner)) {
            take_out(&nodes, items, is_gone);
        }
    }
    let mark = Value::from(MARK);
    if let Some(added) = added {
        // `jsonc-parser` keeps only simple values on a line with others.
        let is_on_lines = items.is_empty() || list.children().iter().any(CstNode::is_newline);
        list.append(input(if is_on_lines { added } else { &mark }));
        items.push(added.clone());
    }
    let mut after = root.to_string();
    if let Some(added) = added {
        after = after.replacen(&mark.to_string(), &spaced(added), 1);
    }
    set_in(&mut expect, path, Some(Value::Array(items)))?;
    verified(bom, after, &expect)
}

/// Takes the items that `is_gone` accepts out of `list`, whose values are `items`.
fn take_out(list: &CstArray, items: &mut Vec<Value>, is_gone: &dyn Fn(&Value) -> bool) {
    let gone = list.elements().into_iter().zip(items.iter()).filter(|(_, item)| is_gone(item));
    gone.for_each(|(node, _)| node.remove());
    items.retain(|item| !is_gone(item));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(text: &str, added: Option<&Value>) -> String {
        edit_list(text, &["on", "start"], "run", &|item| *item == json!("rep"), added).unwrap()
    }

    #[test]
    fn an_item_is_added_and_taken_out_to_the_byte() {
        for before in [
            "{\n  \"on\": {\n    \"start\": [\n      // one\n      { \"run\": [\"a\"] }, // two\n      /* three */ { \"b\":  2 } // four\n      // five\n    ]\n  }\n}\n",
            "\u{feff}{\n\t\"on\": {\n\t\t\"start\": [\n\t\t\t{ \"run\": [\"a\"] },\n\t\t]\n\t}\n}",
            "{\"on\": {\"start\": [{\"run\":[ \"a\" ]}]}, \"b\": 1}\n",
            "{ \"on\": {\n  \"start\": [ {\"run\": [\"a\"]} ]\n} }\n",
            "{\n  \"on\": { \"start\": [{\n    \"run\": [\"a\"]\n  }] }\n}\n",
            "{\n  \"on\": {\n    \"start\": []\n  }\n}\n",
        ] {
            let after = edited(before, Some(&json!({"run": ["rep"]})));
            assert!(after.contains("rep"), "{after}");
            assert_eq!(edited(&after, None), before);
        }
        let line = edited("{\"on\": {\"start\": [{\"run\": [\"a\"]}]}}", Some(&json!({"run": ["rep"]})));
        assert_eq!(line, "{\"on\": {\"start\": [{\"run\": [\"a\"]}, {\"run\": [\"rep\"]}]}}");
    }

    #[test]
    fn of_a_mixed_item_only_a_part_is_taken_out() {
        let text = "{\"on\": {\"start\": [\n  {\"run\": [\n    \"rep\", // ours\n    \"a\" // theirs\n  ]},\n  {\"run\": [\"rep\"]}, \"rep\", {\"run\": []}\n]}}";
        let after = edited(text, None);
        assert_eq!(
            json::parse(&after).unwrap()["on"]["start"],
            json!([{"run": ["a"]}, {"run": []}]),
            "{after}"
        );
        assert!(after.contains("// theirs"), "{after}");
        assert!(edit_list("{\"on\": []}", &["on", "start"], "run", &|_| true, None).is_err());
    }
}
