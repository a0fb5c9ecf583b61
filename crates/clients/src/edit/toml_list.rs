//! Adds a table to a list of tables in a TOML file, and takes it out again.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike};

use super::text::{EditFault, split_bom};
use super::toml::{document, implicit_table, toml_text};

/// Returns `text` with the table `entry` in the list `outer.inner`, at its end.
pub(crate) fn push_table(
    text: &str,
    (outer, inner): (&str, &str),
    entry: Table,
) -> Result<String, EditFault> {
    let (_, body) = split_bom(text);
    let mut edited = document(body)?;
    let parent = edited.entry(outer).or_insert_with(implicit_table).as_table_mut();
    let parent = parent.filter(|parent| !parent.is_dotted()).ok_or_else(|| not_editable(outer))?;
    let list = parent.entry(inner).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    list.as_array_of_tables_mut().ok_or_else(|| not_editable(inner))?.push(entry);
    verified(text, edited)
}

/// Returns `text` without the last table of the list `outer.inner` that `is_meant`; `None` without one.
pub(crate) fn remove_table(
    text: &str,
    (outer, inner): (&str, &str),
    is_meant: impl Fn(&Table) -> bool,
) -> Result<Option<String>, EditFault> {
    let (_, body) = split_bom(text);
    let mut edited = document(body)?;
    let Some(parent) = edited.get_mut(outer).and_then(Item::as_table_mut) else { return Ok(None) };
    let Some(list) = parent.get_mut(inner).and_then(Item::as_array_of_tables_mut) else { return Ok(None) };
    let position =
        list.iter().enumerate().filter(|(_, table)| is_meant(table)).map(|(index, _)| index).last();
    let Some(position) = position else { return Ok(None) };
    list.remove(position);
    if list.is_empty() {
        parent.remove(inner);
    }
    if parent.is_implicit() && TableLike::is_empty(parent) {
        edited.remove(outer);
    }
    verified(text, edited).map(Some)
}

/// Returns `true` if the list `outer.inner` of `text` has a table that `is_meant`.
pub(crate) fn has_table(
    text: &str,
    (outer, inner): (&str, &str),
    is_meant: impl Fn(&Table) -> bool,
) -> Result<bool, EditFault> {
    let (_, body) = split_bom(text);
    let document = document(body)?;
    let list = document.get(outer).and_then(|outer| outer.get(inner)).and_then(Item::as_array_of_tables);
    Ok(list.is_some_and(|list| list.iter().any(is_meant)))
}

fn not_editable(key: &str) -> EditFault {
    EditFault::of(format!("`{key}` is written in a way that is not edited for you"))
}

fn verified(before: &str, edited: DocumentMut) -> Result<String, EditFault> {
    let text = toml_text(before, &edited);
    document(split_bom(&text).1).map(|_| text)
}

#[cfg(test)]
mod tests {
    use toml_edit::value;

    use super::*;

    const SPOT: (&str, &str) = ("skills", "config");

    fn entry() -> Table {
        let mut table = Table::new();
        table.insert("path", value("/p/pdf/SKILL.md"));
        table.insert("enabled", value(false));
        table
    }

    fn is_ours(table: &Table) -> bool {
        table.get("path").and_then(Item::as_str) == Some("/p/pdf/SKILL.md")
    }

    #[test]
    fn a_table_is_added_and_taken_out_to_the_byte() {
        let added = "[[skills.config]]\npath = \"/p/pdf/SKILL.md\"\nenabled = false\n";
        let check = |before: &str, after: &str| {
            assert_eq!(push_table(before, SPOT, entry()).unwrap(), after);
            assert_eq!(has_table(after, SPOT, is_ours), Ok(true));
            assert_eq!(remove_table(after, SPOT, is_ours).unwrap().as_deref(), Some(before));
        };
        check("", added);
        check("# Mine.\nmodel = \"x\"\n", &format!("# Mine.\nmodel = \"x\"\n\n{added}"));
        let other = "[[skills.config]]\npath = \"/p/x/SKILL.md\" # why\nenabled = true\n\n[tui]\na = 1\n";
        let both = format!(
            "[[skills.config]]\npath = \"/p/x/SKILL.md\" # why\nenabled = true\n\n{added}\n[tui]\na = 1\n"
        );
        check(other, &both);
        assert_eq!(remove_table("a = 1\n", SPOT, is_ours), Ok(None));
        assert!(push_table("skills = { config = [] }\n", SPOT, entry()).is_err());
    }
}
