//! Interpreters of scripts.

use crate::{SkillPath, text};

/// File extensions of scripts, with their interpreters.
pub(super) const EXTENSIONS: &[(&str, &[&str])] = &[
    ("py", &["python3"]),
    ("sh", &["sh"]),
    ("js", &["node"]),
    // Node takes the types out by itself since 23.6.
    ("ts", &["node"]),
    ("rb", &["ruby"]),
];

/// The most bytes of a script that are read to find its interpreter.
const LOOKED_AT_BYTES: usize = 16 * 1024;
/// The longest first line that names an interpreter, in bytes.
const MAX_SHEBANG_BYTES: usize = 256;

/// The interpreter of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpreter {
    /// The script itself.
    Itself,
    /// A program with arguments.
    Program(Vec<String>),
    /// `uv`, because the script declares its packages; `python3` if there is no `uv`.
    Uv,
}

impl Interpreter {
    /// Returns the interpreter of the script at `path` that starts with `bytes`, or `None` if it is unknown.
    ///
    /// A first line with `#!` comes first, then the file extension; executable text with neither is for `sh`.
    pub fn of(path: &SkillPath, bytes: &[u8], executable: bool) -> Option<Self> {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT_BYTES)]);
        let ending = path.file_name().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let is_python = ending.as_deref() == Some("py");
        if is_python && start.lines().any(|line| line.trim_end() == "# /// script") {
            return Some(Self::Uv);
        }
        let is_binary = bytes.iter().take(LOOKED_AT_BYTES).any(|byte| *byte == 0);
        if let Some(words) = shebang(&start) {
            return Some(if executable { Self::Itself } else { Self::Program(words) });
        }
        if executable && is_binary {
            return Some(Self::Itself);
        }
        let by_ending = EXTENSIONS.iter().find(|(known, _)| ending.as_deref() == Some(*known));
        let by_ending = by_ending.map(|(_, words)| words.iter().map(|word| (*word).to_owned()).collect());
        // An executable file without an interpreter line is for the shell, as in shells.
        let by_shell = || (executable && !bytes.is_empty()).then(|| vec!["sh".to_owned()]);
        by_ending.or_else(by_shell).map(Self::Program)
    }
}

/// Returns the program and its arguments that the first line of a script names.
fn shebang(script: &str) -> Option<Vec<String>> {
    let line = text::start(script.lines().next()?, MAX_SHEBANG_BYTES).strip_prefix("#!")?;
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|word| word.rsplit('/').next() == Some("env")) {
        words.remove(0);
        if words.first().is_some_and(|word| word == "-S") {
            words.remove(0);
        }
    }
    // Options and variables of `env` would need a parser of their own.
    words.first().is_some_and(|word| !word.starts_with('-') && !word.contains('=')).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_counts_then_the_ending() {
        let check = |path: &str, text: &str, executable: bool, expect: Option<&str>| {
            let found = Interpreter::of(&SkillPath::new(path).unwrap(), text.as_bytes(), executable);
            let found = found.map(|found| match found {
                Interpreter::Itself => "itself".to_owned(),
                Interpreter::Program(words) => words.join(" "),
                Interpreter::Uv => "uv".to_owned(),
            });
            assert_eq!(found.as_deref(), expect, "{path} {text:?}");
        };
        check("a.py", "print(1)", false, Some("python3"));
        check("a.py", "#!/usr/bin/env python3\n", true, Some("itself"));
        check("a.py", "#!/usr/bin/env -S python3 -u\n", false, Some("python3 -u"));
        check("a", "#!/bin/sh -e\n", false, Some("/bin/sh -e"));
        check("a.sh", "#!/usr/bin/env -i sh\n", false, Some("sh"));
        check("a.PY", "", false, Some("python3"));
        check("a.sh", "echo", true, Some("sh"));
        check("a.js", "", false, Some("node"));
        check("a.ts", "", false, Some("node"));
        check("a.rb", "", false, Some("ruby"));
        check("a.txt", "", false, None);
        check("a", "echo", false, None);
        check("a", "\u{7f}ELF\0", true, Some("itself"));
        check("a.py", "# /// script\n# dependencies = []\n# ///\n", false, Some("uv"));
    }
}
