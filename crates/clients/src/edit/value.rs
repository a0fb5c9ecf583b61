//! Sets one value in a JSON file, and takes it back, together with the objects that were made for it.

use jsonc_parser::cst::CstObject;
use serde_json::{Map, Value};

use super::json::{self, input, tree};
use super::one_line;
use super::text::{EditFault, split_bom};

/// A file with one more value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ValueEdit {
    /// The text of the file.
    pub text: String,
    /// The value that was there before.
    pub before: Option<Value>,
    /// The number of objects around the value that were made for it.
    pub made: usize,
}

pub(crate) fn set_value(text: &str, path: &[&str], value: &Value) -> Result<ValueEdit, EditFault> {
    let (bom, body) = split_bom(text);
    let Some((last, above)) = path.split_last() else { return Err(EditFault::of("no key is named")) };
    let mut expect = json::parse(body)?;
    let before = set_in(&mut expect, path, Some(value.clone()))?;
    if let (None, Some((text, made))) = (&before, one_line::insert(body, path, value)?) {
        return verified(bom, text, &expect).map(|text| ValueEdit { text, before, made });
    }
    let root = tree(body)?;
    let (mut object, mut made) = (root.object_value_or_set(), 0);
    for key in above {
        if object.get(key).is_none() {
            made += 1;
        }
        object = object.object_value_or_set(key);
    }
    match object.get(last) {
        Some(property) => property.set_value(input(value)),
        None => drop(object.append(last, input(value))),
    }
    verified(bom, root.to_string(), &expect).map(|text| ValueEdit { text, before, made })
}

/// Returns `text` with `before` at `path` again, or without it, and without the objects around it that are
/// empty then, as far as they were made for it. `None` if the value there is not `value` any more.
pub(crate) fn restore_value(
    text: &str,
    path: &[&str],
    value: &Value,
    before: Option<&Value>,
    made: usize,
) -> Result<Option<String>, EditFault> {
    let (bom, body) = split_bom(text);
    let Some((last, above)) = path.split_last() else { return Err(EditFault::of("no key is named")) };
    let mut expect = json::parse(body)?;
    let found = path.iter().try_fold(&Value::Object(expect.clone()), |value, key| value.get(key)).cloned();
    if found.as_ref() != Some(value) {
        return Ok(None);
    }
    let root = tree(body)?;
    let mut objects: Vec<CstObject> = vec![root.object_value_or_set()];
    for key in above {
        let inner = objects.last().and_then(|object| object.object_value(key));
        objects.push(inner.ok_or_else(not_editable)?);
    }
    let property = objects.last().and_then(|object| object.get(last)).ok_or_else(not_editable)?;
    set_in(&mut expect, path, before.cloned())?;
    // The outermost object that was made for the value and is empty without it, or else the value itself.
    let is_alone = |depth: &usize| objects[*depth].properties().len() == 1;
    let emptied = (1..path.len()).rev().take(made).take_while(is_alone).count();
    let gone = &path[..path.len() - emptied];
    if before.is_none() && emptied > 0 {
        set_in(&mut expect, gone, None)?;
    }
    if let (None, Some(text)) = (before, one_line::remove(body, gone)?) {
        return verified(bom, text, &expect).map(Some);
    }
    match before {
        Some(before) => property.set_value(input(before)),
        None => {
            property.remove();
            for depth in (1..path.len()).rev().take(emptied) {
                objects[depth - 1].get(path[depth - 1]).ok_or_else(not_editable)?.remove();
            }
        }
    }
    verified(bom, root.to_string(), &expect).map(Some)
}

/// Puts `value` at `path`, or removes what is there, and returns what was there.
pub(super) fn set_in(
    document: &mut Map<String, Value>,
    path: &[&str],
    value: Option<Value>,
) -> Result<Option<Value>, EditFault> {
    let Some((last, above)) = path.split_last() else { return Ok(None) };
    let mut object = document;
    for key in above {
        let inner = object.entry(*key).or_insert_with(|| Value::Object(Map::new()));
        object = inner.as_object_mut().ok_or_else(|| EditFault::of(format!("`{key}` is not an object")))?;
    }
    Ok(match value {
        Some(value) => object.insert((*last).to_owned(), value),
        None => object.remove(*last),
    })
}

pub(super) fn not_editable() -> EditFault {
    EditFault::of("it is written in a way that is not edited for you")
}

pub(super) fn verified(bom: &str, after: String, expect: &Map<String, Value>) -> Result<String, EditFault> {
    match json::parse(&after) {
        Ok(found) if found == *expect => Ok(format!("{bom}{after}")),
        _ => Err(not_editable()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_set_and_taken_back_to_the_byte() {
        let path = ["permission", "skill", "pdf"];
        let check = |before: &str, after: &str| {
            let edit = set_value(before, &path, &json!("deny")).unwrap();
            assert_eq!(edit.text, after);
            let back = restore_value(after, &path, &json!("deny"), edit.before.as_ref(), edit.made).unwrap();
            assert_eq!(back.as_deref(), Some(before));
        };
        check(
            "{\n  // Mine.\n  \"a\": 1\n}\n",
            "{\n  // Mine.\n  \"a\": 1,\n  \"permission\": {\n    \"skill\": {\n      \"pdf\": \"deny\"\n    }\n  }\n}\n",
        );
        check(
            "\u{feff}{\n  \"permission\": {\n    \"skill\": {\n      \"*\": \"allow\" // all\n    }\n  }\n}\n",
            "\u{feff}{\n  \"permission\": {\n    \"skill\": {\n      \"*\": \"allow\", // all\n      \"pdf\": \"deny\"\n    }\n  }\n}\n",
        );
        check(
            "{\n  \"permission\": { \"bash\": \"ask\" }\n}\n",
            "{\n  \"permission\": { \"bash\": \"ask\", \"skill\": {\"pdf\": \"deny\"} }\n}\n",
        );
        check("{ }", "{\"permission\": {\"skill\": {\"pdf\": \"deny\"}} }");
        check(
            "{\"a\": {\"b\": []}, \"permission\": {\"skill\": {}}}",
            "{\"a\": {\"b\": []}, \"permission\": {\"skill\": {\"pdf\": \"deny\"}}}",
        );
        check(
            "{\n  \"permission\": {\n    \"skill\": {\n      \"pdf\": \"ask\"\n    }\n  }\n}\n",
            "{\n  \"permission\": {\n    \"skill\": {\n      \"pdf\": \"deny\"\n    }\n  }\n}\n",
        );
    }

    #[test]
    fn a_value_that_was_changed_since_stays() {
        let text = "{\"skillOverrides\": {\"pdf\": \"name-only\"}}";
        assert_eq!(restore_value(text, &["skillOverrides", "pdf"], &json!("off"), None, 1), Ok(None));
        assert_eq!(restore_value("{}", &["skillOverrides", "pdf"], &json!("off"), None, 1), Ok(None));
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        let fault = |text: &str| {
            set_value(text, &["permission", "skill", "pdf"], &json!("deny")).unwrap_err().message
        };
        assert_eq!(fault("{\"permission\": \"allow\"}"), "`permission` is not an object");
        assert_eq!(fault("{\"permission\": {\"skill\": \"allow\"}}"), "`skill` is not an object");
        assert_eq!(fault("[]"), "it is not an object");
        assert!(!fault("{").is_empty());
    }
}
