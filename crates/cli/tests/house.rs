//! Holds the invariants of `ARCHITECTURE.md`: crate edges, purity, file sizes, docs, and a README that is
//! true.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and starts the program under test"
)]

#[path = "house/module_graph.rs"]
mod module_graph;

#[path = "house/import_cycles.rs"]
mod import_cycles;

#[path = "house/command_imports.rs"]
mod command_imports;

#[path = "house/app_modules.rs"]
mod app_modules;

#[path = "house/line_ceiling.rs"]
mod line_ceiling;

#[path = "house/words.rs"]
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most lines of a source file, its tests left out.
const MAX_LINES: usize = 800;

/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns every Rust file below `directory`, relative to the repository.
fn sources(directory: &str) -> Vec<PathBuf> {
    let root = repository();
    let mut found = Vec::new();
    let mut pending = vec![root.join(directory)];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Returns the names of the directories of all crates but those of `others`.
fn crates_except(others: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(repository().join("crates")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !others.contains(&name.as_str())).collect();
    names.sort();
    names
}

/// Returns the text of a file before its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

#[test]
fn messages_cite_no_file_of_this_repository() {
    for path in sources("crates")
        .into_iter()
        .filter(|path| path.components().nth(2).is_some_and(|part| part.as_os_str() == "src"))
    {
        let is_help = path.starts_with("crates/cli/src/commands");
        let text = read(&path);
        // Pages are cited by their address.
        let cites =
            |line: &str| line.contains("docs/") && line.contains(".md") && !line.contains("blob/main/docs/");
        let is_text = |line: &&str| {
            let line = line.trim_start();
            !line.starts_with("//") || (is_help && line.starts_with("///"))
        };
        let cited = without_tests(&text).lines().filter(is_text).find(|line| cites(line));
        let is_test = path.ends_with("reference_tests.rs")
            || path.ends_with("tests.rs")
            || path.components().any(|part| part.as_os_str() == "tests");
        assert!(is_test || cited.is_none(), "{}: {}", path.display(), cited.unwrap_or_default());
    }
}

/// Edges that tests alone have, with the reason.
const TEST_EDGES: &[(&str, &str, &str)] =
    &[("repertoire-web", "repertoire-mcp", "HTTP is tested with MCP mounted, as the command line mounts it")];

#[test]
fn crates_depend_on_each_other_as_drawn() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let edges: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .map(|package| {
            let of = package["name"].as_str().unwrap();
            let is_for_tests = |dependency: &Value| {
                let is_listed = |(from, to, _): &(&str, &str, &str)| of == *from && dependency["name"] == *to;
                dependency["kind"] == "dev" && TEST_EDGES.iter().any(is_listed)
            };
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let own = dependencies.filter(|dependency| !is_for_tests(dependency));
            let own = own.filter_map(|dependency| dependency["name"].as_str());
            (of, own.filter(|name| names.contains(name)).collect())
        })
        .collect();
    let expect: BTreeMap<&str, BTreeSet<&str>> = [
        ("repertoire-model", vec![]),
        ("repertoire", vec!["repertoire-model"]),
        ("repertoire-search", vec!["repertoire", "repertoire-model"]),
        ("repertoire-exec", vec!["repertoire", "repertoire-model"]),
        ("repertoire-store", vec!["repertoire", "repertoire-model"]),
        ("repertoire-sources", vec!["repertoire", "repertoire-model"]),
        ("repertoire-agent", vec!["repertoire", "repertoire-model"]),
        ("repertoire-clients", vec!["repertoire", "repertoire-model"]),
        ("repertoire-mcp", vec!["repertoire", "repertoire-model"]),
        (
            "repertoire-app",
            vec![
                "repertoire",
                "repertoire-agent",
                "repertoire-clients",
                "repertoire-exec",
                "repertoire-model",
                "repertoire-search",
                "repertoire-sources",
                "repertoire-store",
            ],
        ),
        ("repertoire-web", vec!["repertoire", "repertoire-app", "repertoire-model"]),
        (
            "repertoire-cli",
            vec![
                "repertoire",
                "repertoire-agent",
                "repertoire-app",
                "repertoire-clients",
                "repertoire-exec",
                "repertoire-mcp",
                "repertoire-model",
                "repertoire-search",
                "repertoire-web",
                "repertoire-sources",
                "repertoire-store",
            ],
        ),
        ("bench", vec!["repertoire", "repertoire-model", "repertoire-search", "repertoire-store"]),
        ("doctests", vec!["repertoire", "repertoire-exec", "repertoire-search"]),
        ("examples", vec!["repertoire", "repertoire-exec", "repertoire-model"]),
    ]
    .into_iter()
    .map(|(name, edges)| (name, edges.into_iter().collect()))
    .collect();
    assert_eq!(edges, expect, "ARCHITECTURE.md draws the edges; change it with them");
    for package in packages.iter().filter(|package| package["name"] != "bench") {
        let mut dependencies = package["dependencies"].as_array().unwrap().iter();
        let is_client = package["name"] == "repertoire";
        let has_client = dependencies.any(|dependency| dependency["name"] == "ureq");
        assert_eq!(has_client, is_client, "{}: requests go out through `repertoire::http`", package["name"]);
    }
}

/// The permitted dependencies of the model: pure functions without I/O. A new one gets the slow review.
const MODEL_DEPENDENCIES: &[&str] = &[
    // Unified diffs: made, applied and merged in memory.
    "diffy",
    // Globs over paths of files.
    "globset",
    "granit-parser",
    "memchr",
    "pulldown-cmark",
    // Patterns of schemas, in linear time and without tables of Unicode.
    "regex-lite",
    // Not used: globset needs it without the features that tests need.
    "regex-syntax",
    "serde_json",
    "sha2",
    "strsim",
    "unicode-normalization",
    // The categories of characters by which text is split for counting tokens.
    "unicode-properties",
];

#[test]
fn the_model_depends_on_nothing_that_touches_the_world() {
    let manifest: toml::Table = toml::from_str(&read("crates/model/Cargo.toml")).unwrap();
    for dependency in manifest["dependencies"].as_table().unwrap().keys() {
        assert!(
            MODEL_DEPENDENCIES.contains(&dependency.as_str()),
            "the model crate must not depend on {dependency}, which is not on the list of what is pure"
        );
    }
    assert!(!manifest.contains_key("target"), "the model crate depends on the same everywhere");
}

/// The most bytes of a packed crate that crates.io accepts.
const MAX_CRATE_BYTES: u64 = 10 * 1024 * 1024;

#[test]
fn every_crate_is_small_enough_to_publish() {
    for entry in std::fs::read_dir(repository().join("crates")).unwrap() {
        let directory = entry.unwrap().path();
        let files = Command::new("git").args(["ls-files", "-z"]).current_dir(&directory).output().unwrap();
        assert!(files.status.success(), "{}", String::from_utf8_lossy(&files.stderr));
        let paths = String::from_utf8(files.stdout).unwrap();
        let size = |path: &str| std::fs::metadata(directory.join(path)).map_or(0, |metadata| metadata.len());
        let bytes: u64 = paths.split_terminator('\0').map(size).sum();
        assert!(bytes < MAX_CRATE_BYTES, "{} has {bytes} bytes", directory.display());
    }
}

/// Returns the packages that a build of `selection` compiles, each with its version and its features.
fn compiled_packages(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"])
        .args(selection)
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

#[test]
fn the_tests_compile_no_dependency_of_the_binary_again() {
    let binary = compiled_packages(&["--package", "repertoire-cli", "--edges", "no-dev"]);
    let tests = compiled_packages(&["--workspace"]);
    let again: Vec<&String> = binary.difference(&tests).collect();
    assert!(
        again.is_empty(),
        "the features that tests need belong in `[workspace.dependencies]`: {again:#?}"
    );
}

/// Returns the names of modules without a body that `text` declares for tests alone.
fn test_modules(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_for_tests = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_for_tests |= line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
            continue;
        }
        let name = line.strip_suffix(';').and_then(|line| line.split_once("mod ")).map(|(_, name)| name);
        found.extend(name.filter(|_| is_for_tests));
        is_for_tests = false;
    }
    found
}

/// Returns the files and directories below `directory` that hold only tests, because their parent declares
/// them so.
fn test_places(directory: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for path in sources(directory) {
        let is_index =
            path.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs" || name == "main.rs");
        let home = if is_index { path.parent().unwrap().to_owned() } else { path.with_extension("") };
        for name in test_modules(&read(&path)) {
            places.push(home.join(name).with_extension("rs"));
            places.push(home.join(name));
        }
    }
    places
}

/// Returns the words of `words` that `text`, without its tests, holds in code, with their lines.
fn words_in<'a>(text: &str, words: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let mut group = String::new();
    for (number, line) in without_tests(text).lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        found.extend(words.iter().filter(|word| code.contains(**word)).map(|word| (number + 1, *word)));
        // `use std::{env, fs}` names them as well, on one line or on several.
        if code.contains("std::{") || !group.is_empty() {
            group.push_str(code);
            if code.contains('}') {
                let names = group.split(|c: char| !c.is_alphanumeric() && c != '_');
                let names: BTreeSet<&str> = names.collect();
                let is_named =
                    |word: &str| word.strip_prefix("std::").is_some_and(|name| names.contains(name));
                found.extend(words.iter().filter(|word| is_named(word)).map(|word| (number + 1, *word)));
                group.clear();
            }
        }
    }
    found
}

/// Permitted exceptions in libraries, with the reason.
const EXCUSED_WORDS: &[(&str, &str, &str)] = &[
    (
        "crates/exec/src/launcher/entry.rs",
        "std::env",
        "a launcher is told what it is by its one argument, and has to find its own program",
    ),
    (
        "crates/app/src/workspace/environment.rs",
        "std::env",
        "the value of a variable is split into paths, and nothing is read",
    ),
];

/// Dependencies that one crate alone has: the ones that confine processes, that know MCP, and that know
/// routes and HTML.
const DEPENDENCIES_OF_ONE: &[(&str, &[&str])] = &[
    ("exec", &["close_fds", "landlock", "libc", "seccompiler"]),
    ("mcp", &["rmcp"]),
    ("web", &["askama", "axum"]),
];

#[test]
fn some_dependencies_belong_to_one_crate() {
    for (owner, dependencies) in DEPENDENCIES_OF_ONE {
        for name in crates_except(&[owner]) {
            let manifest = read(format!("crates/{name}/Cargo.toml"));
            for dependency in *dependencies {
                let is_there = manifest.lines().any(|line| line.starts_with(dependency));
                assert!(!is_there, "crates/{name} depends on {dependency}");
            }
        }
    }
}

#[test]
fn only_clients_edits_configuration_files() {
    for name in crates_except(&["clients"]) {
        let manifest: toml::Table = toml::from_str(&read(format!("crates/{name}/Cargo.toml"))).unwrap();
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        for dependency in ["jsonc-parser", "toml_edit"] {
            let is_there = dependencies.is_some_and(|dependencies| dependencies.contains_key(dependency));
            assert!(
                !is_there,
                "crates/{name} depends on {dependency}; `repertoire-clients` edits files with it"
            );
        }
    }
}

#[test]
fn tools_cannot_write_client_configuration_of_a_project() {
    let configurations = repertoire_clients::CLIENTS.iter().flat_map(|client| client.project).copied();
    for path in configurations.chain(repertoire::discovery::project_skill_directories()) {
        assert!(repertoire_exec::protect::names::is_protected(Path::new(path)), "{path}");
    }
}

#[test]
fn processes_start_in_one_place() {
    let mut found = Vec::new();
    for name in crates_except(&["exec"]) {
        let directory = &format!("crates/{name}/src");
        let tests = test_places(directory);
        for path in sources(directory) {
            // The user's git fetches what they add.
            let is_git = path == Path::new("crates/sources/src/git.rs");
            let is_excused = is_git || tests.iter().any(|place| path.starts_with(place));
            if !is_excused {
                // `clap::Command` is not a process.
                let text = read(&path).replace("clap::Command::new(", "");
                let words = words_in(&text, &["Command::new(", "process::Command"]);
                found.extend(
                    words.into_iter().map(|(line, word)| format!("{}:{line}: {word}", path.display())),
                );
            }
        }
    }
    assert!(found.is_empty(), "processes start only in the crate `repertoire-exec`:\n{}", found.join("\n"));
}

#[test]
fn sql_stands_in_one_place() {
    let statements = ["SELECT ", "INSERT INTO ", "DELETE FROM ", "CREATE TABLE ", "rusqlite", "postgres::"];
    let mut found = Vec::new();
    for name in crates_except(&["store"]) {
        for path in sources(&format!("crates/{name}/src")) {
            let words = words_in(&read(&path), &statements);
            found.extend(words.into_iter().map(|(line, word)| format!("{}:{line}: {word}", path.display())));
        }
    }
    assert!(found.is_empty(), "SQL stands only in the crate `repertoire-store`:\n{}", found.join("\n"));
}

#[test]
fn libraries_do_not_use_modules_reserved_for_the_command_line() {
    let everywhere =
        ["println!", "eprintln!", "print!(", "eprint!(", "process::exit", "std::env", "home_dir", "dbg!("];
    let in_model = [
        "std::fs",
        "std::net",
        "std::process",
        "std::thread",
        "std::os",
        "SystemTime",
        "Instant::now",
        "async fn",
        "File::open",
    ];
    let mut found = Vec::new();
    for name in crates_except(&["cli"]) {
        let directory = &format!("crates/{name}/src");
        let mut words = everywhere.to_vec();
        words.extend(in_model.iter().filter(|_| name == "model"));
        let tests = test_places(directory);
        for path in sources(directory) {
            // Modules that hold nothing but tests may touch the world.
            if tests.iter().any(|place| path.starts_with(place)) {
                continue;
            }
            let excused: Vec<&str> = EXCUSED_WORDS
                .iter()
                .filter(|(file, ..)| path.ends_with(file))
                .map(|(_, word, _)| *word)
                .collect();
            for (line, word) in words_in(&read(&path), &words) {
                if excused.contains(&word) {
                    continue;
                }
                found.push(format!("{}:{line}: {word}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn forbidden_words_are_found_in_imports() {
    let words = ["std::env", "std::fs"];
    assert_eq!(words_in("use std::env;\n", &words), [(1, "std::env")]);
    assert_eq!(words_in("use std::{\n    env,\n    fmt,\n};\n", &words), [(4, "std::env")]);
    assert_eq!(words_in("use std::{fmt, fs::File};\n", &words), [(1, "std::fs")]);
    assert_eq!(words_in("use std::fmt; // not std::env\nlet env = 1;\n", &words), []);
    let modules = "mod a;\n#[cfg(test)]\nmod b;\n#[cfg(all(test, unix))]\n#[path = \"x\"]\nmod c;\n#[cfg(unix)]\nmod d;\n";
    assert_eq!(test_modules(modules), ["b", "c"]);
    let tests = test_places("crates/model/src");
    assert!(tests.contains(&PathBuf::from("crates/model/src/catalog/properties.rs")), "{tests:?}");
    let logic = |text| holds_logic(text);
    assert!(logic("pub fn x() {}\n") && logic("impl X for Y {\n") && logic("pub(super) const fn x() {}\n"));
    assert!(!logic("pub trait X {\n    fn x();\n}\nmod x;\npub use x::X;\n"));
}

/// Permitted indexes with logic, with the reason.
const INDEXES_WITH_LOGIC: &[(&str, &str)] =
    &[("crates/repertoire/src/provider/mod.rs", "the default methods of the trait `Provider`")];

/// Returns whether an index holds functions or implementations; declaring a trait is not logic.
fn holds_logic(text: &str) -> bool {
    without_tests(text).lines().any(|line| {
        let is_item = line.starts_with(|c: char| c.is_alphabetic());
        let words: Vec<&str> = line.split([' ', '(', '<']).collect();
        let is_function = words.iter().take(5).any(|word| *word == "fn");
        is_item && (is_function || words[0] == "impl" || words[..2.min(words.len())] == ["unsafe", "impl"])
    })
}

#[test]
fn files_are_small_and_have_module_docs() {
    let mut faults = Vec::new();
    let tests = test_places("crates");
    for path in sources("crates") {
        let text = read(&path);
        let lines = without_tests(&text).lines().count();
        let name = path.to_string_lossy();
        let is_listed = LONG_FILES.iter().any(|(file, _)| name.ends_with(file));
        if lines > MAX_LINES && !is_listed && !name.contains("/tests/") {
            faults.push(format!("{name} has {lines} lines, more than {MAX_LINES}"));
        }
        if !text.starts_with("//!") {
            faults.push(format!("{name} does not start with a line of documentation"));
        }
        let is_index = name.contains("/src/") && (name.ends_with("/mod.rs") || name.ends_with("/lib.rs"));
        let is_excused = INDEXES_WITH_LOGIC.iter().any(|(file, _)| *file == name)
            || tests.iter().any(|place| path.starts_with(place));
        if is_index && !is_excused && holds_logic(&text) {
            faults.push(format!("{name} holds logic; it should hold docs, modules and re-exports"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the commands of the README's `sh` and `console` blocks: lines that start with `$ `, without it.
fn readme_commands() -> Vec<String> {
    let text = read("README.md");
    let is_shown = |block: &&str| block.starts_with("sh\n") || block.starts_with("console\n");
    text.split("```")
        .skip(1)
        .step_by(2)
        .filter(is_shown)
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_of_the_readme_works() {
    let commands = readme_commands();
    assert!(commands.len() >= 7, "the README shows how to use it: {commands:?}");
    let home = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_rep"));
    let path = std::env::join_paths(
        [binary.parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    // They work in any project, also in one without skills.
    let made = Command::new("git").args(["init", "-q"]).current_dir(place.path()).status().unwrap();
    assert!(made.success());
    for command in commands {
        // These two would build or run this very test again; the next test and CI cover them.
        if command.starts_with("cargo ") {
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(place.path())
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_readme_and_ci_name_the_same_commands() {
    let commands = readme_commands();
    let tests = commands.iter().find(|command| command.starts_with("cargo test")).expect("the README tests");
    assert!(read(".ci/run").lines().any(|line| line == tests), ".ci/run does not call `{tests}`");
    let main = commands
        .iter()
        .find(|command| command.starts_with("cargo run"))
        .expect("the README runs the main job");
    let arguments = main.split(" -- ").nth(1).expect("`cargo run ... -- ARGS`");
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rep"))
        .args(arguments.split_whitespace())
        .current_dir(repository())
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{main}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("task-decomposition"));
}

#[test]
fn the_sample_skills_are_as_good_as_they_can_be() {
    let roles = [
        "analyst",
        "architect",
        "backend",
        "ci-fixer",
        "devops",
        "docs",
        "frontend",
        "manager",
        "ml-engineer",
        "prompt-engineer",
        "qa",
        "resolver",
        "retrieval",
        "reviewer",
        "security",
        "visionary",
        "vp",
    ];
    let others = ["code-review", "csv-report", "file-ops", "git", "skill-authoring", "task-decomposition"];
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rep"));
        command.args(arguments).current_dir(repository()).env("HOME", home.path()).output().unwrap()
    };
    let output = run(&["list", "--json"]);
    let listing: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: BTreeSet<&str> =
        listing["skills"].as_array().unwrap().iter().filter_map(|skill| skill["name"].as_str()).collect();
    assert_eq!(names, roles.into_iter().chain(others).collect());
    for arguments in [&["check", "--json", "--profile", "strict"][..], &["check", "--json", "--publish"][..]]
    {
        let output = run(arguments);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["summary"]["errors"], 0, "{arguments:?} {report:#}");
        assert_eq!(report["summary"]["warnings"], 0, "{arguments:?} {report:#}");
        assert!(output.status.success());
    }
}

/// `fuzz/run` uses only locked dependencies, and nothing else builds it.
#[test]
fn the_fuzzer_lock_has_the_dependencies_of_the_crates() {
    let locked: toml::Table = read("fuzz/Cargo.lock").parse().unwrap();
    let packages = locked["package"].as_array().unwrap();
    for directory in ["model", "repertoire", "mcp"] {
        let manifest: toml::Table = read(format!("crates/{directory}/Cargo.toml")).parse().unwrap();
        let package = packages.iter().find(|package| package["name"] == manifest["package"]["name"]).unwrap();
        let found: BTreeSet<&str> = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            // If there are several versions, the version follows.
            .filter_map(|name| name.as_str()?.split(' ').next())
            .collect();
        let platforms = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
        let tables =
            platforms.map(|(_, platform)| platform).filter_map(|platform| platform.get("dependencies"));
        for (name, wanted) in
            tables.chain(manifest.get("dependencies")).filter_map(toml::Value::as_table).flatten()
        {
            let is_optional = wanted.get("optional").and_then(toml::Value::as_bool) == Some(true);
            assert!(
                is_optional || found.contains(name.as_str()),
                "fuzz/Cargo.lock knows no {name} for crates/{directory}; run `cargo metadata` in fuzz/"
            );
        }
    }
}
