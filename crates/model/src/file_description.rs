//! Descriptions of the files of a skill, for lists of files: the first heading or comment of each.

use crate::text;

/// The most characters of a description.
pub const MAX_CHARS: usize = 80;

const MAX_LINES: usize = 40;

/// The fewest characters of a line of `=` that makes the line above it a heading.
const MIN_UNDERLINE: usize = 3;

/// The extensions of texts that begin with a heading.
const PROSE: &[&str] = &["md", "markdown", "mdx"];

/// The extensions of code, and the marks that a comment line of it begins with.
const CODE: &[(&str, &[&str])] = &[
    ("py", &["#", "\"\"\"", "'''"]),
    ("sh", &["#"]),
    ("bash", &["#"]),
    ("rb", &["#"]),
    ("pl", &["#"]),
    ("ps1", &["#"]),
    ("yaml", &["#"]),
    ("yml", &["#"]),
    ("toml", &["#"]),
    ("js", &["//", "/**", "/*", "*"]),
    ("mjs", &["//", "/**", "/*", "*"]),
    ("cjs", &["//", "/**", "/*", "*"]),
    ("ts", &["//", "/**", "/*", "*"]),
    ("tsx", &["//", "/**", "/*", "*"]),
    ("go", &["//", "/*", "*"]),
    ("rs", &["//!", "//", "/*", "*"]),
    ("css", &["/*", "*"]),
    ("sql", &["--"]),
    ("lua", &["--"]),
    ("awk", &["#"]),
    ("html", &["<!--"]),
    ("htm", &["<!--"]),
    ("xml", &["<!--"]),
    ("svg", &["<!--"]),
];

/// The comment marks of a file without an extension, which is described only if it starts with `#!`.
const SCRIPT: &[&str] = &["#"];

/// Words of comments that say nothing about what a file is for.
const NOISE: &[&str] =
    &["copyright", "spdx-", "licensed under", "coding:", "coding=", "eslint", "shellcheck", "@ts-", "vim:"];

/// Returns whether a file at `path` can have a description.
pub fn is_describable(path: &str) -> bool {
    let extension = extension(path);
    PROSE.contains(&extension.as_str()) || extension.is_empty() || marks(&extension).is_some()
}

/// Returns the first heading or comment of the file at `path`, on one line, if it says more than its name.
///
/// ```
/// use repertoire_model::file_description::describe;
/// assert_eq!(describe("references/a.md", "# Form fields\n\nText.").as_deref(), Some("Form fields"));
/// assert_eq!(describe("scripts/a.py", "#!/usr/bin/env python3\n# Fills a form.\n").as_deref(), Some("Fills a form."));
/// assert_eq!(describe("references/form-fields.md", "# Form Fields\n"), None);
/// ```
pub fn describe(path: &str, file: &str) -> Option<String> {
    let extension = extension(path);
    let lines = file.trim_start_matches('\u{feff}').lines().take(MAX_LINES).map(str::trim);
    let found = if PROSE.contains(&extension.as_str()) {
        heading(lines)
    } else if extension.is_empty() {
        file.starts_with("#!").then(|| comment(lines, SCRIPT)).flatten()
    } else {
        comment(lines, marks(&extension)?)
    };
    let line = text::visible_line(found?);
    let says_more = line.chars().any(char::is_alphabetic) && words(&line) != words(stem(path));
    says_more.then(|| text::shorten(&line, MAX_CHARS))
}

fn heading<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut lines = lines.skip_while(|line| line.is_empty()).peekable();
    if lines.next_if_eq(&"---").is_some() {
        lines.by_ref().find(|line| *line == "---")?;
    }
    let mut is_fenced = false;
    let mut before = "";
    lines.find_map(|line| {
        is_fenced ^= line.starts_with("```") || line.starts_with("~~~");
        let title = std::mem::replace(&mut before, line);
        if !is_fenced
            && line.len() >= MIN_UNDERLINE
            && line.bytes().all(|byte| byte == b'=')
            && title.contains(char::is_alphabetic)
        {
            return Some(title);
        }
        let title = line.trim_start_matches('#');
        let is_heading = !is_fenced && title.len() < line.len() && title.starts_with([' ', '\t']);
        is_heading.then(|| title.trim().trim_end_matches('#').trim_end()).filter(|title| !title.is_empty())
    })
}

/// Returns the first line of the comment at the head of a file.
fn comment<'a>(lines: impl Iterator<Item = &'a str>, marks: &[&str]) -> Option<&'a str> {
    let mut is_open = false;
    for line in lines.filter(|line| !line.is_empty()) {
        if line.starts_with("#!")
            || line.starts_with("<?")
            || line.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("<!doctype"))
            || matches!(line, "'use strict';" | "\"use strict\";")
        {
            continue;
        }
        let said = match marks.iter().find_map(|mark| line.strip_prefix(mark)) {
            Some(said) => said,
            // The first line of a text in three quotes.
            None if is_open => line,
            None => return None,
        };
        is_open = ["\"\"\"", "'''", "/*", "<!--"].iter().any(|mark| line.starts_with(mark));
        let said = said.trim_start_matches(['/', '#', '*', '!', '-', '=']).trim();
        let said = ["\"\"\"", "'''", "*/", "-->"]
            .iter()
            .fold(said, |said, end| said.trim_end_matches(end))
            .trim_end();
        let lower = said.to_lowercase();
        if said.chars().any(char::is_alphabetic) && !NOISE.iter().any(|noise| lower.contains(noise)) {
            return Some(said);
        }
    }
    None
}

fn marks(extension: &str) -> Option<&'static [&'static str]> {
    CODE.iter().find(|(of, _)| *of == extension).map(|(_, marks)| *marks)
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn stem(path: &str) -> &str {
    name(path).rsplit_once('.').map_or(name(path), |(stem, _)| stem)
}

fn extension(path: &str) -> String {
    name(path).rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default()
}

/// Returns the letters and digits of `text`, in lower case, without a file extension at its start or end.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let text = [".py", ".sh", ".js", ".ts", ".md"]
        .iter()
        .fold(text.as_str(), |text, end| text.trim_end_matches(end));
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x29_the_first_heading_or_comment_describes_a_file() {
        let check = |path: &str, file: &str, expect: Option<&str>| {
            assert_eq!(describe(path, file).as_deref(), expect, "{path} {file:?}");
        };
        check("a.md", "---\ntitle: x\n# y\n---\n\nText\n## Fields of forms ##\n", Some("Fields of forms"));
        check("a.md", "```sh\n# not this\n```\n# This\n", Some("This"));
        check("a.md", "Text without a heading.\n", None);
        check("a.md", "Fields of forms\n===============\n\n# Later\n", Some("Fields of forms"));
        check("a.md", "\n====\n", None);
        check("a.md", "#hashtag\n", None);
        check("references/API_Guide.md", "# API guide", None);
        check("a.md", "# a\u{202e}b\u{1b}[31m c", Some("ab[31m c"));
        check("a.py", "#!/usr/bin/env python3\n\"\"\"Fills forms.\n\nMore.\n\"\"\"\n", Some("Fills forms."));
        check("a.py", "\"\"\"\nFills forms.\n\"\"\"\n", Some("Fills forms."));
        check(
            "a.py",
            "# -*- coding: utf-8 -*-\n# Copyright 2024 X\n# Merges files.\n",
            Some("Merges files."),
        );
        check("a.py", "import os\n# Late.\n", None);
        check("a.sh", "#!/bin/sh\nset -e\n# Late.\n", None);
        check("fill.sh", "#!/bin/sh\n# fill.sh\n", None);
        check("a.ts", "/**\n * Draws charts.\n */\n", Some("Draws charts."));
        check("a.js", "/* eslint-disable */\n// Parses CSV.\n", Some("Parses CSV."));
        check("a.sql", "-- Creates tables\n", Some("Creates tables"));
        check("a.png", "# no\n", None);
        check("LICENSE", "# no\n", None);
        check("tools/file_find", "#!/bin/sh\n# Finds files by name.\n", Some("Finds files by name."));
        check("tools/run", "#!/usr/bin/env node\n// Runs.\n", None);
        check("a.awk", "# Splits arguments.\nBEGIN {}\n", Some("Splits arguments."));
        check("a.html", "<!DOCTYPE html>\n<!-- The report. -->\n<html>\n", Some("The report."));
        check("a.html", "<!--\n  The report.\n-->\n<html>\n", Some("The report."));
        check("a.html", "<html><!-- late -->\n", None);
        assert_eq!(describe("a.md", &format!("# {}", "x".repeat(500))).unwrap().chars().count(), MAX_CHARS);
    }
}
