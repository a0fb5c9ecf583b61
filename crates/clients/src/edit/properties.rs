//! Properties of all files: writing an entry twice is writing it once, and removing it restores the file.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Spot, parse, remove, write};
use crate::client::Format;

fn entry() -> Map<String, Value> {
    match json!({ "command": "rep", "args": ["serve", "--stdio"], "env": {} }) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Returns `text` with the entry, and without it again.
fn edited(format: Format, table: &str, text: &str) -> Result<(String, String), TestCaseError> {
    let spot = Spot { table, name: "skills" };
    prop_assert!(parse(format, text).is_ok(), "the test makes sound files: {text:?}");
    let after = write(format, text, spot, &entry(), &[]);
    prop_assert!(after.is_ok(), "{text:?} {after:?}");
    let after = after.unwrap_or_default();
    prop_assert_eq!(&write(format, &after, spot, &entry(), &[]).unwrap_or_default(), &after);
    let undone = remove(format, &after, spot).unwrap_or_default();
    Ok((after, undone))
}

/// Asserts that comments survive the entry, and that removing it restores the meaning. `jsonc-parser` breaks
/// objects on one line into several, and takes a comment before the entry on its line for the entry's.
fn restores_meaning(format: Format, table: &str, text: &str) -> Result<(), TestCaseError> {
    let (after, undone) = edited(format, table, text)?;
    for comment in ["/* , } */", "// { ,"] {
        prop_assert_eq!(after.matches(comment).count(), text.matches(comment).count(), "{}", after);
    }
    prop_assert_eq!(parse(format, &undone), parse(format, text), "{}", undone);
    Ok(())
}

/// Asserts that removing the entry restores the text.
fn restores_text(format: Format, table: &str, text: &str) -> Result<(), TestCaseError> {
    let (_, undone) = edited(format, table, text)?;
    // `toml_edit` ends the last line.
    prop_assert_eq!(undone.trim_end_matches(['\r', '\n']), text.trim_end_matches(['\r', '\n']));
    Ok(())
}

/// Blanks and comments between the tokens of JSON.
fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" /* , } */ ".to_owned()),
        1 => Just(" // { ,\n".to_owned()),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1.50".to_owned()),
        Just("\"a, \\\"b\\\" }\"".to_owned()),
        Just("null".to_owned()),
        Just("[1,2 , 3]".to_owned()),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        (prop::collection::vec((gap(), inner, gap()), 1..3), any::<bool>()).prop_map(|(items, trailing)| {
            let items = items.iter().enumerate();
            let items = items.map(|(index, (a, value, b))| format!("{a}\"k{index}\":{value}{b}"));
            let comma = if trailing { "," } else { "" };
            format!("{{{}{comma}}}", items.collect::<Vec<_>>().join(","))
        })
    })
}

fn json_file() -> impl Strategy<Value = String> {
    let servers = prop::collection::vec((gap(), value(), gap()), 1..4);
    (gap(), servers, any::<bool>(), gap(), any::<bool>(), gap()).prop_map(
        |(start, servers, trailing, inner, bom, end)| {
            let servers = servers.iter().enumerate();
            let servers = servers.map(|(index, (a, value, b))| format!("{a}\"s{index}\": {value}{b}"));
            let comma = if trailing { "," } else { "" };
            let servers = servers.collect::<Vec<_>>().join(",");
            let bom = if bom { "\u{feff}" } else { "" };
            format!("{bom}{start}{{\"a\": 1,{inner}\"mcpServers\":{{{servers}{comma}{inner}}}{end}}}{end}")
        },
    )
}

fn lines(choices: &'static [&'static str]) -> impl Strategy<Value = (Vec<&'static str>, bool, bool)> {
    (prop::collection::vec(prop::sample::select(choices), 0..8), any::<bool>(), any::<bool>())
}

fn joined((lines, crlf, open): (Vec<&str>, bool, bool)) -> String {
    let text = if crlf { lines.concat().replace('\n', "\r\n") } else { lines.concat() };
    if open { text.trim_end_matches(['\n', '\r']).to_owned() } else { text }
}

proptest! {
    #[test]
    fn json(text in json_file()) {
        restores_meaning(Format::Json, "mcpServers", &text)?;
    }

    #[test]
    fn toml(parts in lines(&["\n", "# a comment\n", "  # another\n", "[[list]]\nx = \"\"\"\n[mcp_servers.skills]\n\"\"\"\n", "[[other]]\ny = [\n 1, # one\n]\n"])) {
        restores_text(Format::Toml, "mcp_servers", &joined(parts))?;
    }

    #[test]
    fn yaml(
        before in lines(&["\n", "# a comment\n"]),
        inside in lines(&["\n", "  # about\n", "# at the edge\n"]),
        behind in lines(&["\n", "# a comment\n"]),
        is_last in any::<bool>(),
    ) {
        let (before, inside, behind) = (before.0.concat(), inside.0.concat(), behind.0.concat());
        let next = if is_last { "" } else { "z:\n- 1\n- {x: y}\n" };
        let text = format!("{before}extensions:\n{inside}  a:\n    text: |\n      # no comment\n\n      end\n{inside}  b: {{}}\n{inside}{next}{behind}");
        restores_text(Format::Yaml, "extensions", &text)?;
    }
}
