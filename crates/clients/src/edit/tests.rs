//! Tests of the editors: files of all kinds, with the entry put in, put in again, and taken out.

use serde_json::{Map, Value, json};

use super::{Spot, parse, read, remove, write};
use crate::client::Format;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn spot(format: Format) -> Spot<'static> {
    let table = match format {
        Format::Json => "mcpServers",
        Format::Toml => "mcp_servers",
        Format::Yaml => "extensions",
    };
    Spot { table, name: "skills" }
}

fn entry() -> Map<String, Value> {
    map(json!({ "command": "rep", "args": ["serve", "--stdio"] }))
}

/// The part of the file that is restored when the entry is removed.
#[derive(Clone, Copy, PartialEq)]
enum RestoredPart {
    Exact,
    /// The table stays, empty.
    Table,
    /// The meaning is the same, the text is not.
    Meaning,
}

fn check(format: Format, before: &str, expect: &str, back: RestoredPart) {
    let spot = spot(format);
    let after =
        write(format, before, spot, &entry(), &[]).unwrap_or_else(|fault| panic!("{before:?} {fault:?}"));
    assert_eq!(after, expect, "\n{before:?}\n{after}");
    assert_eq!(write(format, &after, spot, &entry(), &[]).unwrap(), after, "twice is once");
    let undone = remove(format, &after, spot).unwrap();
    match back {
        RestoredPart::Exact => assert_eq!(undone, before, "undone from\n{after}"),
        RestoredPart::Meaning => {
            assert_eq!(parse(format, &undone).unwrap(), parse(format, before).unwrap(), "{undone}")
        }
        RestoredPart::Table => {
            let document = parse(format, &undone).unwrap();
            assert!(
                document.get(spot.table).is_none_or(|table| table.as_object().is_none_or(Map::is_empty)),
                "{undone}"
            );
        }
    }
}

const PRETTY: &str = "{\n  \"mcpServers\": {\n    \"skills\": {\n      \"command\": \"rep\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }\n}";

#[test]
fn a_table_in_another_one() {
    let spot = Spot { table: "mcp/servers", name: "skills" };
    let entry = map(json!({ "command": "rep" }));
    for (before, expect) in [
        (
            "{\n  // mine\n  \"mcp\": {\n    \"x\": 1\n  }\n}\n",
            json!({"mcp": {"x": 1, "servers": {"skills": entry}}}),
        ),
        ("{\"mcp\": {\"servers\": {\"a\": {}}}}", json!({"mcp": {"servers": {"a": {}, "skills": entry}}})),
        ("", json!({"mcp": {"servers": {"skills": entry}}})),
    ] {
        let after = write(Format::Json, before, spot, &entry, &[]).unwrap();
        assert_eq!(parse(Format::Json, &after).unwrap(), map(expect), "{after}");
        assert!(after.contains("// mine") == before.contains("// mine"), "{after}");
        assert_eq!(read(Format::Json, &after, spot).unwrap(), Some(Value::Object(entry.clone())));
        let undone = remove(Format::Json, &after, spot).unwrap();
        assert_eq!(read(Format::Json, &undone, spot).unwrap(), None, "{undone}");
    }
    let fault = write(Format::Json, "{\"mcp\": {\"servers\": []}}", spot, &entry, &[]).unwrap_err();
    assert!(fault.message.contains("`servers` is not a table of servers"), "{fault:?}");
}

#[test]
fn json() {
    let check = |before: &str, expect: &str, back| check(Format::Json, before, expect, back);
    let pretty = format!("{PRETTY}\n");
    check("", &pretty, RestoredPart::Table);
    check("{}", PRETTY, RestoredPart::Table);
    check("{}\n", &pretty, RestoredPart::Table);
    check("// only a comment\n", &format!("// only a comment\n{pretty}"), RestoredPart::Table);
    check("\u{feff}{}\n", &format!("\u{feff}{pretty}"), RestoredPart::Table);
    check("{\n  \"mcpServers\": {}\n}", PRETTY, RestoredPart::Exact);
    check("{\n  \"mcpServers\": null\n}", PRETTY, RestoredPart::Table);
    check(
        "{\r\n  \"mcpServers\": {}\r\n}\r\n",
        &format!("{}\r\n", PRETTY.replace('\n', "\r\n")),
        RestoredPart::Exact,
    );
    check(
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}",
        &PRETTY.replacen("{\n    \"skills", "{\n    // none yet\n    \"skills", 1),
        RestoredPart::Exact,
    );
    // Tabs, comments, trailing commas and the order of keys stay.
    check(
        "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"a\": {}, // the first\n\t\t/* \"b\": {}, */\n\t},\n\t\"z\": 1.50,\n}\n",
        "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"a\": {}, // the first\n\t\t\"skills\": {\n\t\t\t\"command\": \"rep\",\n\t\t\t\"args\": [\"serve\", \"--stdio\"],\n\t\t},\n\t\t/* \"b\": {}, */\n\t},\n\t\"z\": 1.50,\n}\n",
        RestoredPart::Exact,
    );
    check(
        "{\n    \"mcpServers\": {\n        \"a\": {\"x\": [1,2]} // , a comma\n    }\n}",
        "{\n    \"mcpServers\": {\n        \"a\": {\"x\": [1,2]}, // , a comma\n        \"skills\": {\n            \"command\": \"rep\",\n            \"args\": [\"serve\", \"--stdio\"]\n        }\n    }\n}",
        RestoredPart::Exact,
    );
    // Objects on one line are broken into several, and stay so.
    let block =
        "\"skills\": {\n      \"command\": \"rep\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }";
    check(
        "{\"mcpServers\":{\"a\":{}}}",
        &format!("{{\"mcpServers\":{{\n    \"a\":{{}},\n    {block}}}"),
        RestoredPart::Meaning,
    );
    check("{ \"mcpServers\": {} }", &format!("{{ \"mcpServers\": {{\n    {block} }}"), RestoredPart::Exact);
    check(
        "{\"mcpServers\":{ /* x */ }}",
        &format!("{{\"mcpServers\":{{\n    /* x */\n    {block}}}"),
        RestoredPart::Meaning,
    );
    check(
        "{\n  \"a\": 1\n}\n",
        &format!("{{\n  \"a\": 1,\n{}\n", PRETTY.trim_start_matches("{\n")),
        RestoredPart::Table,
    );
}

#[test]
fn toml() {
    let check = |before: &str, expect: &str, back| check(Format::Toml, before, expect, back);
    let block = "[mcp_servers.skills]\ncommand = \"rep\"\nargs = [\"serve\", \"--stdio\"]\n";
    check("", block, RestoredPart::Exact);
    // Comments at the end stay there.
    check("# only a comment\n", &format!("{block}# only a comment\n"), RestoredPart::Exact);
    check("model = 'x' # mine", &format!("model = 'x' # mine\n\n{block}"), RestoredPart::Meaning);
    check(
        "\u{feff}a = 1\r\n",
        &format!("\u{feff}a = 1\r\n\r\n{}", block.replace('\n', "\r\n")),
        RestoredPart::Exact,
    );
    check("mixed = 1\nends = 2\r\n", &format!("mixed = 1\nends = 2\n\n{block}"), RestoredPart::Meaning);
    for (before, behind) in [
        ("[mcp_servers]\n", ""),
        ("[mcp_servers.a]\ncommand = \"x\"\n", "# about a\n\n# the end\n"),
        ("[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.env]\nX = \"1\"\n", "[z]\n# in z\n"),
        ("[[list]]\na = 1\n[[list]]\na = 2\n", ""),
        ("a = 1\n", "\n\n"),
    ] {
        check(&format!("{before}{behind}"), &format!("{before}\n{block}{behind}"), RestoredPart::Exact);
    }
}

#[test]
fn yaml() {
    let entry = "  skills:\n    command: rep\n    args:\n    - serve\n    - --stdio\n";
    let check = |before: &str, expect: &str, back| check(Format::Yaml, before, expect, back);
    check("", &format!("extensions:\n{entry}"), RestoredPart::Table);
    check("# only a comment\n", &format!("# only a comment\nextensions:\n{entry}"), RestoredPart::Table);
    check("GOOSE_MODEL: x\n", &format!("GOOSE_MODEL: x\nextensions:\n{entry}"), RestoredPart::Table);
    check(
        "extensions: {} # none\nz: 1\n",
        &format!("extensions: # none\n{entry}z: 1\n"),
        RestoredPart::Exact,
    );
    check("extensions:\nz: 1\n", &format!("extensions:\n{entry}z: 1\n"), RestoredPart::Table);
    let deep = "    skills:\n      command: rep\n      args:\n      - serve\n      - --stdio\n";
    check(
        "# mine\nextensions:\n    a:  # the first\n        enabled: true\n        text: |\n          # no comment\n\n# below\nz: [1, 2]\n",
        &format!(
            "# mine\nextensions:\n    a:  # the first\n        enabled: true\n        text: |\n          # no comment\n{deep}\n# below\nz: [1, 2]\n"
        ),
        RestoredPart::Exact,
    );
    check(
        "extensions:\r\n  a:\r\n    x: 1",
        &format!("extensions:\r\n  a:\r\n    x: 1\r\n{}", entry.trim_end().replace('\n', "\r\n")),
        RestoredPart::Exact,
    );
    check(
        "\u{feff}extensions:\n  a: {}\n",
        &format!("\u{feff}extensions:\n  a: {{}}\n{entry}"),
        RestoredPart::Exact,
    );
}

/// A file that cannot be parsed is not changed, and the error names the line.
#[test]
fn refusals() {
    for (format, text, expect) in [
        (Format::Json, "{\n  \"a\": 1,\n  b\n}", Some(3)),
        (Format::Json, "{\n  \"a\": 1\n  \"b\": 2\n}", Some(2)),
        (Format::Json, "[]", Some(1)),
        (Format::Json, "{\"mcpServers\": []}", None),
        (Format::Json, "{\"mcpServers\": {\"skills\": 1}}", None),
        (Format::Json, "{\"mcpServers\": {},\n\"mcpServers\": {}}", None),
        (Format::Toml, "a = 1\nb = \n", Some(2)),
        (Format::Toml, "mcp_servers = { a = { command = \"x\" } }\n", None),
        (Format::Toml, "mcp_servers.a.command = \"x\"\n", None),
        (Format::Toml, "mcp_servers = 1\n", None),
        (Format::Yaml, "a: &x 1\nb: *x\n", Some(1)),
        (Format::Yaml, "extensions: {a: {}}\n", Some(1)),
        (Format::Yaml, "{extensions: {}}\n", Some(1)),
        (Format::Yaml, "a: 1\n---\nb: 2\n", Some(2)),
        (Format::Yaml, "extensions: [a]\n", None),
        (Format::Yaml, "extensions:\n  - a\n", None),
        (Format::Yaml, "a:\n\t- b\n", Some(2)),
        (Format::Yaml, "extensions: {}\na: 1\nextensions: {}\n", Some(3)),
    ] {
        let fault = write(format, text, spot(format), &entry(), &[]).unwrap_err();
        assert_eq!(fault.line, expect, "{text:?} {fault:?}");
    }
}

/// In an existing entry, keys that differ are replaced, and keys that Repertoire does not write are kept.
#[test]
fn changes() {
    let check = |format, before: &str, expect: &str| {
        let after = write(format, before, spot(format), &entry(), &["command", "args", "url"]);
        assert_eq!(after.unwrap(), expect);
    };
    check(
        Format::Json,
        "{\"mcpServers\": {\"skills\": {\n  \"command\": \"/old/rep\", // old\n  \"env\": {\"A\": \"1\"},\n  \"url\": \"x\"\n}}}",
        "{\"mcpServers\": {\"skills\": {\n  \"command\": \"rep\", // old\n  \"env\": {\"A\": \"1\"},\n      \"args\": [\"serve\", \"--stdio\"]\n}}}",
    );
    check(
        Format::Toml,
        "[mcp_servers.skills] # ours\nurl = \"x\"\ncommand = '/old/rep' # old\nstartup_timeout_sec = 5\n\n[z]\n",
        "[mcp_servers.skills] # ours\ncommand = \"rep\" # old\nstartup_timeout_sec = 5\nargs = [\"serve\", \"--stdio\"]\n\n[z]\n",
    );
    check(
        Format::Yaml,
        "extensions:\n  skills:\n    command: /old/rep\n    bundled: null\n    args: [serve]\n    url: x\n  b: {}\n",
        "extensions:\n  skills:\n    command: rep\n    bundled: null\n    args:\n    - serve\n    - --stdio\n  b: {}\n",
    );
}

#[test]
fn removals_take_what_was_added_to_the_entry_and_nothing_else() {
    let check = |format, before: &str, expect: &str| {
        assert_eq!(remove(format, before, spot(format)).unwrap(), expect);
    };
    check(
        Format::Json,
        "{\"mcpServers\": {\n  \"skills\": {\"command\": \"rep\"}, // ours\n  \"b\": {} // theirs\n}}",
        "{\"mcpServers\": {\n  \"b\": {} // theirs\n}}",
    );
    check(Format::Json, "{\"mcpServers\": {\"skills\": {}, \"b\": {}}}", "{\"mcpServers\": { \"b\": {}}}");
    check(
        Format::Toml,
        "# a\n[mcp_servers.skills]\ncommand = \"rep\"\nenv.A = \"1\"\n# kept\n\n[x]\ny = 1\n\n[mcp_servers.skills.tools.load]\nmode = \"a\"\n[z]\n",
        "# kept\n\n[x]\ny = 1\n[z]\n",
    );
    check(
        Format::Yaml,
        "extensions:\n  # first\n  skills:\n    command: rep\n\n    more: 1\n  # second\n  b: {}\n",
        "extensions:\n  # first\n  # second\n  b: {}\n",
    );
}

#[test]
fn words_of_yaml_are_quoted_where_they_would_mean_something_else() {
    let words = json!({ "args": ["serve", "--root", "C:\\a b", "yes", "1.5", "a: b", "#x", "", "- x", "ü", "~", "*a"] });
    let after = write(Format::Yaml, "", spot(Format::Yaml), &map(words.clone()), &[]).unwrap();
    insta::assert_snapshot!(after, @r##"
    extensions:
      skills:
        args:
        - serve
        - --root
        - C:\a b
        - "yes"
        - "1.5"
        - "a: b"
        - "#x"
        - ""
        - "- x"
        - ü
        - "~"
        - "*a"
    "##);
    assert_eq!(read(Format::Yaml, &after, spot(Format::Yaml)).unwrap(), Some(words));
}
