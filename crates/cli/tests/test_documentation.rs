//! Runs the commands that the pages under `docs/` show.

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

/// Returns the `sh` blocks of a page that begin with a prompt as one script, without the prompts.
fn script(text: &str) -> String {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks = blocks.filter(|block| block.starts_with("$ "));
    let lines = blocks.flat_map(str::lines).map(|line| line.strip_prefix("$ ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn every_shell_command_of_the_documentation_works() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let binary = Path::new(env!("CARGO_BIN_EXE_rep"));
    let inherited = std::env::var_os("PATH").unwrap();
    let directories =
        std::iter::once(binary.parent().unwrap().to_owned()).chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(directories).unwrap();
    let mut run = Vec::new();
    for page in pages(&docs) {
        let script = script(&std::fs::read_to_string(&page).unwrap());
        if script.is_empty() {
            continue;
        }
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
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}:\n{stderr}", page.display());
        run.push(page.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert!(run.contains(&"tutorial.md".to_owned()), "{run:?}");
}
