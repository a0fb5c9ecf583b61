//! The files in `deploy/`: each name in them exists, and each command line is understood. Nothing is
//! installed or fetched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

#[cfg(unix)]
use crate::machine::skipped;
use crate::sandbox::Sandbox;
use crate::test_serve_command::Serving;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(directory().join(name)).unwrap()
}

/// Returns the words of `text` that begin with `skill_`, without the endings of histograms.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_metric = |word: &&str| word.starts_with("skill_");
    let family = |word: &str| {
        let ending = ["_bucket", "_sum", "_count"].into_iter().find(|ending| word.ends_with(ending));
        ending.and_then(|ending| word.strip_suffix(ending)).unwrap_or(word).to_owned()
    };
    words.filter(is_metric).map(family).collect()
}

#[test]
fn the_dashboard_and_the_alerts_use_metrics_that_exist() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db"]).code, 0);
    sandbox.write("../home/.config/repertoire/config.toml", "store.url = \"fleet.db\"\n");
    let serving = Serving::start(&sandbox, &["--channel", "stable"]);
    let answer = serving.get("/metrics", "");
    let known: BTreeSet<&str> = answer
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let dashboard: Value = serde_json::from_str(&read("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let used = metrics(&panels.iter().map(|panel| panel["targets"].to_string()).collect::<String>());
    for name in used.iter().chain(&metrics(&read("alerts.yaml"))) {
        assert!(known.contains(name.as_str()), "{name} is not among the metrics:\n{answer}");
    }
    let unused: Vec<&&str> = known.iter().filter(|name| !used.contains(**name)).collect();
    assert!(unused.is_empty(), "the dashboard does not show {unused:?}");
}

#[test]
fn the_command_lines_of_the_container_and_of_systemd_are_understood() {
    let sandbox = Sandbox::with_skills();
    let dockerfile = read("Dockerfile");
    let command = dockerfile.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    let unit = read("rep.service");
    let started =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/rep ")).unwrap().to_owned();
    let started = started.replace("${REP_ADDRESS}", "127.0.0.1:7437");
    for arguments in [command, started.split(' ').map(str::to_owned).collect()] {
        assert_eq!(arguments.first().map(String::as_str), Some("serve"));
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.push("--help");
        let run = sandbox.run(&arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    }
    // Variables of the program that these files set are those of the reference.
    let reference = std::fs::read_to_string(directory().join("../docs/reference/configuration.md")).unwrap();
    for file in ["Dockerfile", "rep.service", "compose.yaml"] {
        let text = read(file);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for variable in words.filter(|word| word.starts_with("REPERTOIRE_")) {
            assert!(reference.contains(&format!("`{variable}`")), "{file}: {variable}");
        }
    }
}

#[test]
fn the_configuration_for_servers_behind_a_proxy_is_valid() {
    let sandbox = Sandbox::with_skills();
    let text = read("repertoire.toml");
    sandbox.write("server.toml", &text);
    let run = sandbox.run(&["--config", "server.toml", "list"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let settings: toml::Table = toml::from_str(&text).unwrap();
    let http = settings["http"].as_table().unwrap();
    let proxies = http["trusted_proxies"].as_array().unwrap();
    let compose = read("compose.yaml");
    let subnet = compose.lines().find_map(|line| line.trim().strip_prefix("- subnet: ")).unwrap();
    assert!(proxies.iter().any(|range| range.as_str() == Some(subnet)), "compose.yaml has {subnet}");
    // Neither a container nor a unit is killed while its server drains and finishes requests.
    let drain = http["drain_seconds"].as_integer().unwrap();
    let seconds = |file: &str, key: &str| {
        let text = read(file);
        let value = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap().to_owned();
        value.trim_end_matches([';', 's']).parse::<i64>().unwrap()
    };
    for limit in [seconds("compose.yaml", "stop_grace_period: "), seconds("rep.service", "TimeoutStopSec=")] {
        assert!(limit >= drain + 10 + 5, "{limit}");
    }
    // nginx gives idle connections up before a server that drains closes them.
    assert!(seconds("nginx.conf", "keepalive_timeout ").lt(&drain));
}

#[test]
fn files_that_the_deployment_names_exist_and_the_guide_tells_of_all() {
    let guide = std::fs::read_to_string(directory().join("../docs/guides/operating.md")).unwrap();
    for entry in directory().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_told = name.starts_with('.') || name.starts_with("__") || name.ends_with(".dockerignore");
        assert!(is_told || guide.contains(&format!("deploy/{name}")), "operating.md does not tell of {name}");
    }
    let compose = read("compose.yaml");
    for line in compose.lines().filter_map(|line| line.trim().strip_prefix("- ./")) {
        let file = line.split(':').next().unwrap();
        assert!(directory().join(file).exists(), "{file}");
    }
    assert!(compose.contains("dockerfile: deploy/Dockerfile"));
    // The database of its private network has no certificate.
    assert!(compose.contains("@postgres/rep?sslmode=disable"));
    let dockerfile = read("Dockerfile");
    for line in dockerfile.lines().filter_map(|line| line.strip_prefix("COPY deploy/")) {
        assert!(directory().join(line.split(' ').next().unwrap()).exists(), "{line}");
    }
    assert!(dockerfile.contains("--profile dist --bin rep"));
    let workspace = std::fs::read_to_string(directory().join("../Cargo.toml")).unwrap();
    assert!(workspace.contains("[profile.dist]"));
}

/// Returns the command of the guide that begins with `start`.
fn command(start: &str) -> String {
    let guide = std::fs::read_to_string(directory().join("../docs/guides/operating.md")).unwrap();
    let prompt = format!("$ {start}");
    let line = guide.lines().find(|line| line.starts_with(&prompt)).unwrap();
    line.trim_start_matches("$ ").to_owned()
}

/// Runs a line of a shell in the sandbox, with `variables` and the programs in `path` found first.
fn shell(sandbox: &Sandbox, line: &str, variables: &[(&str, &str)], path: &Path) {
    let mut command = std::process::Command::new("sh");
    let inherited = std::env::var("PATH").unwrap();
    command.args(["-c", line]).current_dir(sandbox.project()).envs(variables.iter().copied());
    let output = command.env("PATH", format!("{}:{inherited}", path.display())).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Checks that a store is the same after it was saved, changed and restored.
fn check_back_up(sandbox: &Sandbox, store: &str, save: impl Fn(), restore: impl Fn()) {
    let run = |arguments: &[&str]| {
        let run = sandbox.run(&[arguments, &["--store", store]].concat());
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        run.stdout
    };
    assert_eq!(sandbox.run(&["publish", ".agents/skills", "--to", store]).code, 0);
    run(&["team", "token", "create", "--name", "ann"]);
    let state = || run(&["team", "channel", "show"]) + &run(&["team", "token", "list"]);
    let before = state();
    save();
    run(&["team", "token", "revoke", "ann"]);
    assert_eq!(sandbox.run(&["publish", "--to", store, "--remove", "alpha"]).code, 0);
    assert_ne!(state(), before);
    restore();
    assert_eq!(state(), before);
}

#[cfg(unix)]
#[test]
fn a_back_up_of_postgresql_is_restored_by_the_commands_of_the_guide() {
    let Some(server) = crate::postgres_server::shared() else { return };
    let (sandbox, url) = (Sandbox::with_skills(), server.database());
    let (variables, path) = ([("REPERTOIRE_STORE_URL", url.as_str())], server.binaries());
    let run = |start: &str| shell(&sandbox, &command(start), &variables, path);
    check_back_up(&sandbox, &url, || run("pg_dump"), || run("pg_restore"));
}

#[cfg(unix)]
#[test]
fn a_back_up_of_sqlite_is_restored_by_the_commands_of_the_guide() {
    if std::process::Command::new("sqlite3").arg("--version").output().is_err() {
        return skipped("sqlite3 is not installed, so the back-up of SQLite is NOT tested");
    }
    let sandbox = Sandbox::with_skills();
    let run = |start: &str| shell(&sandbox, &command(start), &[], Path::new("/usr/bin"));
    check_back_up(&sandbox, "repertoire.db", || run("sqlite3"), || run("rm -f repertoire.db-wal"));
}
