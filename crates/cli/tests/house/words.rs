//! Holds text to three rules of `STYLE.md`: a thing "is not a" something, a missing thing is named, and
//! "those" stands before a noun.

use std::path::Path;

use crate::{read, repository};

/// The directories and files with text for people.
const PLACES: &[&str] = &[
    "crates",
    "docs",
    "skills",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "STYLE.md",
];

/// Returns the files at or below `path` that hold text for people.
fn texts(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            texts(&entry.unwrap().path(), found);
        }
    } else if path
        .extension()
        .is_some_and(|extension| ["rs", "md", "html"].iter().any(|known| extension == *known))
    {
        found.push(path.strip_prefix(repository()).unwrap().to_string_lossy().into_owned());
    }
}

/// Returns the words of `text` without the marks of comments, each with its line.
fn words(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate();
    let words = lines.flat_map(|(index, line)| line.split_whitespace().map(move |word| (index + 1, word)));
    words.filter(|(_, word)| word.chars().any(char::is_alphanumeric)).collect()
}

/// Returns the line of each breach of the rules in `text`, and the words.
fn breaches(text: &str) -> Vec<(usize, String)> {
    let words = words(text);
    let end = |word: &str| word.trim_end_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let at = |index: usize| words.get(index).map_or(String::new(), |(_, word)| end(word));
    let is_breach = |index: usize| {
        let before = index.checked_sub(1).map_or(String::new(), at);
        let (first, second, third) = (at(index), at(index + 1), at(index + 2));
        let follows = words[index].1.ends_with(char::is_alphanumeric);
        let is_verb = follows && ["is", "are", "was", "were"].contains(&first.as_str());
        match second.as_str() {
            // "The answer is no." ends there.
            "no" if is_verb && words[index + 1].1 == "no" => {
                let compares = ["longer", "more", "less", "fewer", "larger", "other"];
                !before.ends_with("there") && !compares.contains(&third.as_str())
            }
            "none" if words[index + 1].1.starts_with("none") => {
                is_verb || (follows && ["has", "have", "had"].contains(&first.as_str()) && third != "of")
            }
            "that" => first.ends_with("those"),
            _ => false,
        }
    };
    let found = (0..words.len()).filter(|index| is_breach(*index));
    found.map(|index| (words[index].0, format!("{} {}", words[index].1, words[index + 1].1))).collect()
}

#[test]
fn texts_are_free_of_phrases_that_puzzle() {
    let mut files = Vec::new();
    for place in PLACES {
        texts(&repository().join(place), &mut files);
    }
    // Data of tests is quoted as it was found.
    files.retain(|file| !file.contains("/testdata/") && !file.contains("/corpus/"));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        for (line, phrase) in breaches(&read(&file)) {
            found.push(format!("{file}:{line}: `{phrase}`"));
        }
    }
    assert!(found.is_empty(), "say `is not a`, what is missing, or the noun:\n{}", found.join("\n"));
}

/// The most columns of a comment on its own line.
const MAX_COMMENT_COLUMNS: usize = 110;

#[test]
fn comments_are_not_too_wide() {
    let mut found = Vec::new();
    for path in ["crates", "bench/src", "fuzz/fuzz_targets"].into_iter().flat_map(crate::sources) {
        let mut is_code = false;
        for (index, line) in read(&path).lines().enumerate() {
            let text = line.trim_start();
            let is_comment = text.starts_with("//");
            let text = text.trim_start_matches(['/', '!', ' ']);
            is_code = is_comment && is_code != text.starts_with("```");
            // A table, an address or code cannot be wrapped.
            let can_wrap = is_comment && !is_code && !line.contains("://") && !text.starts_with('|');
            if can_wrap && line.chars().count() > MAX_COMMENT_COLUMNS {
                found.push(format!("{}:{}", path.display(), index + 1));
            }
        }
    }
    assert!(found.is_empty(), "wrap these comments at 110 columns:\n{}", found.join("\n"));
}

#[test]
fn puzzling_phrases_are_found_across_lines() {
    let lines = |text: &str| breaches(text).into_iter().map(|(line, _)| line).collect::<Vec<usize>>();
    assert_eq!(lines(&format!("/// It is\n/// {} path.", "no")), [1]);
    assert_eq!(
        lines(&format!("It has {}. There are {}, and {} that come.", "none", "none", "those")),
        [1, 1, 1]
    );
    let fine = "There is no path, and the answer is no. It is no longer there; x.is_none() is None. It has none of them.";
    assert_eq!(lines(fine), [0; 0]);
}
