//! The commands that the pages under `docs/` show: the tutorial is run as a whole, and `rep` understands all others.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns every Markdown file below `directory`, sorted.
fn pages(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the commands of a page: lines that begin with a prompt or with `rep`.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let is_call = |line: &&str| line.starts_with("rep ") && !line.starts_with("rep =");
    text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line)).filter(is_call)
}

/// Returns the arguments of the call of `rep` in a line of a shell, with quotes removed.
fn arguments(line: &str) -> Option<Vec<String>> {
    let call = line.strip_prefix("rep ")?;
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in call.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') => words.push(String::new()),
            (None, '#' | '>' | ';' | '&' | '|') if words.last().is_some_and(String::is_empty) => break,
            _ => words.last_mut()?.push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    // Everything behind belongs to the query or the script.
    Some(words.into_iter().take_while(|word| word != "--").collect())
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    let mut count = 0;
    // The reference is generated from the program itself.
    for page in pages(&docs()).into_iter().filter(|page| !page.ends_with("reference/cli.md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for arguments in commands(&text).filter_map(arguments) {
            // With `--help`, nothing is done, and what clap does not know is still an error.
            let output =
                Command::new(env!("CARGO_BIN_EXE_rep")).args(&arguments).arg("--help").output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {arguments:?}\n{stderr}", page.display());
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands were found");
}

#[test]
fn the_tutorial_works_from_nothing_to_its_end() {
    let binary = Path::new(env!("CARGO_BIN_EXE_rep"));
    let inherited = std::env::var_os("PATH").unwrap();
    let directories =
        std::iter::once(binary.parent().unwrap().to_owned()).chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(directories).unwrap();
    let text = std::fs::read_to_string(docs().join("tutorial.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let script: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert!(script.contains("rep new"), "{script}");
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let output = Command::new("sh")
        .args(["-exc", &script])
        .current_dir(place.path())
        .env_clear()
        .env("HOME", &home)
        .env("PATH", &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
