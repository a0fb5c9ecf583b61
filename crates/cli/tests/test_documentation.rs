//! The commands that the README and the pages under `docs/` show: the tutorial is run as a whole, all others
//! in a project with the sample library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::machine::skipped;
use crate::model_server::{Server, chat};
use crate::sandbox::sandboxes;

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

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Makes a project with the sample library, and with everything else that the pages mention.
fn sample_project(base: &Path) {
    let repository = docs().join("..");
    copy(&repository.join("skills"), &base.join("project/skills"));
    let write = |path: &str, text: &str| {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let set_up = "git init -q && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m start && \
                  rep approve --yes git && rep approve --yes csv-report && rep approve --yes docs";
    let settings = std::fs::read_to_string(repository.join("repertoire.toml")).unwrap();
    write(
        "project/repertoire.toml",
        &format!(
            "{settings}\n[agents.reviewer]\nskills.allow = [\"reviewer\"]\n[kits.reports]\nskills = [\"csv-*\", \"docs\"]\n"
        ),
    );
    write("project/data/sales.csv", "region,sales\nnorth,3\nsouth,4\n");
    write("project/README.md", "# Project\n");
    write("project/better.diff", "--- /dev/null\n+++ b/references/hooks.md\n@@ -0,0 +1 @@\n+# Hooks\n");
    write(
        "project/drafts/release-notes/SKILL.md",
        "---\nname: release-notes\ndescription: Writes release notes. Use before a release.\n---\n# Notes\n",
    );
    write("project/templates/roles/builder/system_prompt.md", "You build.\n");
    write(
        "project/skills/git/eval_queries.json",
        r#"[{"query": "commit my changes with git", "should_trigger": true}, {"query": "draw a cat", "should_trigger": false}]"#,
    );
    // Signs of clients that are installed.
    for name in [".claude/settings.json", ".cursor/mcp.json", ".codex/config.toml"] {
        write(&format!("home/{name}"), if name.ends_with("json") { "{}\n" } else { "" });
    }
    let output = shell(base, set_up, "none");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Runs a line of a shell in the sample project, with `rep` on the path and tools in `sandbox`.
fn shell(base: &Path, line: &str, sandbox: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_rep"));
    let inherited = std::env::var_os("PATH").unwrap();
    let directories =
        std::iter::once(binary.parent().unwrap().to_owned()).chain(std::env::split_paths(&inherited));
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(base.join("project"))
        .env_clear()
        .env("HOME", base.join("home"))
        .env("PATH", std::env::join_paths(directories).unwrap())
        .env("REPERTOIRE_EXEC_SANDBOX", sandbox)
        .stdin(Stdio::null());
    command.output().unwrap()
}

/// Runs a command of the documentation in the sample project, and returns what it says if it fails.
fn failure(base: &Path, command: &str) -> Option<String> {
    // A server that listens would not end; its options are understood at least.
    let line = match command.split(" #").next() {
        Some(call) if call.contains("--http") || call.starts_with("rep dashboard") => {
            format!("{call} --help")
        }
        _ => command.to_owned(),
    };
    // A model that answers stands in for the one of the page.
    let server = Server::start(vec![chat("Done.", &[])]);
    let line = match line.strip_prefix("rep agent ") {
        Some(rest) => {
            let rest = rest.replace("http://127.0.0.1:8080/v1", &server.url);
            format!("OPENAI_API_KEY=x OPENAI_BASE_URL={} rep agent {rest}", server.url)
        }
        None => line,
    };
    let line = match line.split_once(" | jq ") {
        Some((start, _)) if Command::new("jq").arg("--version").output().is_err() => {
            skipped(&format!("jq is not installed, so it does not read what `{start}` prints"));
            start.to_owned()
        }
        _ => line,
    };
    let names = if command.starts_with("rep run ") { sandboxes() } else { vec!["none".to_owned()] };
    names.iter().find_map(|name| {
        let output = shell(base, &line, name);
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Without a terminal nobody can be asked.
        let is_unasked = stderr.contains("--yes");
        (!output.status.success() && !is_unasked).then(|| format!("{command} ({name})\n{stderr}"))
    })
}

#[test]
fn every_command_of_the_documentation_runs() {
    let mut count = 0;
    let mut failures = Vec::new();
    // The reference is generated from the program itself, and the others have tests of their own.
    let is_left_out = |page: &PathBuf| page.ends_with("reference/cli.md") || page.ends_with("tutorial.md");
    for page in pages(&docs()).into_iter().filter(|page| !is_left_out(page)) {
        let text = std::fs::read_to_string(&page).unwrap();
        // Each block of commands stands for itself.
        for block in text.split("```").map(|block| commands(block).collect::<Vec<&str>>()) {
            if block.is_empty() {
                continue;
            }
            let place = tempfile::tempdir().unwrap();
            sample_project(place.path());
            if block.iter().any(|command| command.starts_with("rep init")) {
                std::fs::remove_file(place.path().join("project/repertoire.toml")).unwrap();
            }
            failures.extend(
                block
                    .iter()
                    .filter_map(|command| failure(place.path(), command))
                    .map(|stderr| format!("{}: {stderr}", page.display())),
            );
            count += block.len();
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    assert!(count > 30, "{count} commands were found");
}

#[test]
fn every_command_has_its_json_documented() {
    let page = std::fs::read_to_string(docs().join("reference/json.md")).unwrap();
    let is_heading = |line: &&str| line.starts_with("## ") || line.starts_with("| `rep ");
    let headings: Vec<&str> = page.lines().filter(is_heading).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_rep")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    assert!(commands.len() > 20, "{commands:?}");
    for name in commands.into_iter().filter(|name| !["completions", "serve"].contains(name)) {
        let is_named = |heading: &&str| {
            let names = heading.split('`').skip(1).step_by(2);
            names
                .filter_map(|words| words.strip_prefix("rep "))
                .any(|words| words.split(' ').next() == Some(name))
        };
        assert!(headings.iter().any(is_named), "json.md has no section about `rep {name}`");
    }
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

#[test]
fn every_kind_of_event_is_described() {
    let page = std::fs::read_to_string(docs().join("reference/events.md")).unwrap();
    for kind in repertoire::EventKind::ALL {
        assert!(page.contains(&format!("\n| `{}` | ", kind.as_str())), "{}", kind.as_str());
    }
}

/// Returns what the commands of `block` print in an empty project, each below its line.
fn console(base: &Path, block: &str) -> String {
    std::fs::create_dir_all(base.join("project/.git")).unwrap();
    std::fs::create_dir_all(base.join("home")).unwrap();
    let mut shown = String::new();
    for line in block.lines().filter(|line| line.starts_with("$ ")) {
        let output = shell(base, &line[2..], "none");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let text = text.replace(&*base.canonicalize().unwrap().to_string_lossy(), "/home/ann");
        shown += &format!("{line}\n{}\n\n", text.trim_end());
    }
    format!("{}\n", shown.trim_end())
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let path = docs().join("../README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("```console\n").unwrap();
    let (block, after) = rest.split_once("```\n").unwrap();
    let place = tempfile::tempdir().unwrap();
    let shown = console(place.path(), block);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}```console\n{shown}```\n{after}")).unwrap();
    }
    assert!(shown == block, "the README is stale; `UPDATE_DOCS=1` writes it:\n{shown}");
    assert!(block.matches("$ rep ").count() >= 5, "{block}");
    assert!(text.lines().count() <= 120, "the README has {} lines", text.lines().count());
}

/// Returns the targets of the links of a page, without code.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let prose: Vec<&str> = prose.split('`').step_by(2).collect();
    // Code within the words of a link leaves its brackets alone.
    let rest = prose.join("");
    let targets = rest.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut dead = Vec::new();
    let top =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md"];
    for page in pages(&docs()).into_iter().chain(top.map(|name| docs().join("..").join(name))) {
        let text = std::fs::read_to_string(&page).unwrap();
        let is_outside =
            |link: &&String| link.contains("://") || link.starts_with('#') || link.starts_with("mailto:");
        for link in links(&text).iter().filter(|link| !is_outside(link)) {
            let file = page.parent().unwrap().join(link.split('#').next().unwrap());
            if !file.try_exists().unwrap() {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(dead, Vec::<String>::new());
}

#[test]
fn the_book_has_every_page_once() {
    let summary = std::fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let mut listed = links(&summary);
    listed.sort();
    let is_page = |page: &PathBuf| !page.ends_with("SUMMARY.md");
    let found = pages(&docs()).into_iter().filter(is_page);
    let found: Vec<String> =
        found.map(|page| page.strip_prefix(docs()).unwrap().to_string_lossy().replace('\\', "/")).collect();
    assert_eq!(listed, found);
}
