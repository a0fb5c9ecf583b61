//! Input that is out to hurt: it must neither panic nor run on; a test that takes minutes is one that fails.

use proptest::prelude::*;

use super::super::{decode, read_properties, validate};

#[test]
fn large_input_comes_to_an_end() {
    const SIZE: usize = 1 << 20;
    let indented =
        |line: &str| (0..600).map(|depth| format!("{}{line}\n", " ".repeat(depth))).collect::<String>();
    for text in [
        "x".repeat(SIZE),
        "a: ".repeat(SIZE / 3),
        "- ".repeat(SIZE / 2),
        "? ".repeat(SIZE / 2),
        "[".repeat(SIZE),
        format!("a: {}", "[{".repeat(SIZE / 2)),
        "a\n".repeat(SIZE / 2),
        "\n".repeat(SIZE),
        "# x\n".repeat(SIZE / 4),
        "\n# x\n\n".repeat(SIZE / 6),
        format!("a: '{}", "''\n".repeat(SIZE / 3)),
        format!("a: |\n{}", " x\n\n".repeat(SIZE / 4)),
        format!("a: >\n{}", "  \n".repeat(SIZE / 3)),
        format!("a: {}", "b \n ".repeat(SIZE / 4)),
        (0..SIZE / 10).map(|key| format!("k{key}: v\n")).collect(),
        format!("a: !{}", "%41".repeat(SIZE / 3)),
        indented("a:"),
        indented("- -"),
    ] {
        let content = format!("---\n{text}---\n");
        let _ = validate(&content, "a");
    }
}

#[test]
fn nesting_ends_in_a_crash_of_the_reference() {
    let deep: String = (0..600).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let crash = validate(&format!("---\n{deep}---\n"), "a").unwrap_err();
    assert_eq!(crash.last_line(), "RecursionError: maximum recursion depth exceeded");
}

/// Text from the characters that mean something to YAML.
fn yaml_soup() -> impl Strategy<Value = String> {
    let atoms = [
        ":",
        "-",
        "?",
        "#",
        "|",
        ">",
        "&",
        "*",
        "!",
        "%",
        "@",
        "'",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\\",
        " ",
        "\t",
        "\n",
        "\n  ",
        ": ",
        "- ",
        "? ",
        "a",
        "name",
        "<<",
        "=",
        "...",
        "\u{2028}",
        "\u{85}",
        "\u{feff}",
        "\\ud83d",
        "\\U00110000",
        "\u{10ffff}",
        "\0",
        "é",
    ];
    prop::collection::vec(prop::sample::select(atoms.to_vec()), 0..40).prop_map(|atoms| atoms.concat())
}

proptest! {
    #[test]
    fn no_text_panics(content in any::<String>(), directory in any::<String>()) {
        let _ = validate(&content, &directory);
        let _ = validate(&format!("---{content}---"), &directory);
    }

    #[test]
    fn no_yaml_panics(text in yaml_soup()) {
        let content = format!("---\n{text}---\n");
        let _ = validate(&content, "a");
        if let Ok(properties) = read_properties(&format!("---\nname: a\ndescription: b\n{text}---\n")) {
            let _ = properties.to_json();
        }
    }

    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        match decode(&bytes) {
            Ok(text) => prop_assert!(!text.contains('\r')),
            Err(crash) => prop_assert!(crash.last_line().starts_with("UnicodeDecodeError: ")),
        }
    }
}
