//! `rep publish`, and servers of what it published.

#[cfg(unix)]
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};
#[cfg(unix)]
use crate::test_serve_command::Serving;

const SKILLS: &str = ".agents/skills";

/// Returns the names and changes that `rep publish` reports.
fn changes(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = report["changes"].as_array().unwrap().iter();
    changes.map(|change| (text(&change["name"]), text(&change["change"]))).collect()
}

#[test]
fn a_release_has_only_what_changed() {
    let sandbox = Sandbox::with_skills();
    let publish = ["publish", SKILLS, "--to", "fleet.db"];
    let would = sandbox.json(&[&publish[..], &["--dry-run", "--json"]].concat());
    assert_eq!((would["release"].clone(), would["changes"].as_array().unwrap().len()), (Value::Null, 2));
    assert_run!(sandbox.run(&publish), @"
    exit 0
    --- stdout
    + alpha
    + beta
    release 1: 2 changes of stable in [DIR]/project/fleet.db
    --- stderr
    ");
    assert_run!(sandbox.run(&publish), @"
    exit 0
    --- stdout
    stable in [DIR]/project/fleet.db is up to date
    --- stderr
    ");
    sandbox.write(".agents/skills/alpha/references/guide.md", "other\n");
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/beta")).unwrap();
    let report = sandbox.json(&[&publish[..], &["--json"]].concat());
    let pair = |name: &str, change: &str| (name.to_owned(), change.to_owned());
    assert_eq!(changes(&report), [pair("alpha", "changed"), pair("gamma", "added")]);
    let report = sandbox.json(&[&publish[..], &["--prune", "--json"]].concat());
    assert_eq!(changes(&report), [pair("beta", "removed")]);
    let report = sandbox.json(&["publish", "--to", "fleet.db", "--remove", "gamma", "--json"]);
    assert_eq!((changes(&report), &report["release"]), (vec![pair("gamma", "removed")], &json!(4)));
    assert_run!(sandbox.run(&["publish", "--to", "fleet.db", "--remove", "gamma"]), @"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `gamma` in the channel stable
    hint: run `rep team channel show stable --store fleet.db` to see the skills
    ");
}

#[test]
fn history_lists_the_published_versions_of_a_store() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("USER", "ann");
    for text in ["One.", "Two."] {
        sandbox.write(".agents/skills/alpha/SKILL.md", skill("alpha", &format!("# Alpha\n\n{text}\n")));
        assert_eq!(sandbox.run(&["publish", SKILLS, "--to", "fleet.db"]).code, 0);
    }
    let listed = sandbox.json(&["history", "alpha", "--store", "fleet.db", "--json"]);
    let versions: Vec<Value> = listed["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["number"], one["origin"], one["author"]]))
        .collect();
    assert_eq!(versions, [json!([2, "publish", "user:ann"]), json!([1, "publish", "user:ann"])]);
    let run = sandbox.run(&["history", "gamma", "--store", "fleet.db"]);
    assert!(run.code == 1 && run.stderr.contains("no skill `gamma` was published"), "{}", run.stderr);
}

#[test]
fn skills_with_errors_are_not_published() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n---\n");
    let run = sandbox.run(&["publish", SKILLS, "--to", "fleet.db"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("nothing was published") && run.stderr.contains("broken"), "{}", run.stderr);
    assert!(!sandbox.project().join("fleet.db").exists());
    let run = sandbox.run(&["publish", "nowhere", "--to", "fleet.db"]);
    assert!(run.code == 2 && run.stderr.contains("there is no directory nowhere"), "{}", run.stderr);
    let run = sandbox.run(&["publish", SKILLS, "--to", "mysql://u:secret@h/d"]);
    assert!(run.code != 0 && !run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn published_skills_are_called_from_the_store_alone() {
    let mut sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", ".agents/skills/alpha", "--to", "fleet.db"]).code, 0);
    let call = |extra: &[&str]| {
        let name = r#"{"name": "alpha"}"#;
        sandbox.run(&[&["call", "load_skill", name], extra].concat())
    };
    let served = call(&["--store", "fleet.db"]);
    assert!(served.code == 0 && served.stdout.contains("Do alpha."), "{}", served.stderr);
    let list = sandbox.run(&["call", "list_skills", "--store", "fleet.db"]);
    assert!(list.stdout.contains("alpha") && !list.stdout.contains("beta"), "{}", list.stdout);
    let both = sandbox.run(&["--root", SKILLS, "call", "list_skills", "--store", "fleet.db"]);
    assert!(both.stdout.contains("alpha") && both.stdout.contains("beta"), "{}", both.stdout);
    let missing = call(&["--store", "fleet.db", "--channel", "next"]);
    let warning = "rep: there is no channel next in [DIR]/project/fleet.db yet; there are: stable\n";
    assert!(missing.code != 0 && missing.stderr.contains(warning), "{}", missing.stderr);
    assert_eq!(served.stderr, "");
    // What is published is changed by publishing it anew.
    let propose = ["call", "propose_skill_update", "{}", "--store", "fleet.db"];
    let refused = sandbox.run(&propose);
    assert!(refused.stdout.contains("There is no tool `propose_skill_update`"), "{}", refused.stdout);
    let beside = sandbox.run(&[&["--root", SKILLS], &propose[..]].concat());
    assert!(!beside.stdout.contains("There is no tool"), "{}", beside.stdout);
    assert_eq!(call(&["--store", "fleet.db", "--channel", "Next!"]).code, 2);
    // The address may come from the environment, where nobody sees its password.
    sandbox.set("REPERTOIRE_STORE_URL", "fleet.db");
    let list = sandbox.run(&["call", "list_skills", "--channel", "stable"]);
    assert!(list.stdout.contains("alpha") && !list.stdout.contains("beta"), "{}", list.stdout);
}

/// Publishes all skills, and another version of `alpha` to the channel `next`.
fn with_next(config: &str) -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.config/repertoire/config.toml", config);
    assert_eq!(sandbox.run(&["publish", SKILLS, "--to", "fleet.db"]).code, 0);
    let text =
        "---\nname: alpha\ndescription: Does alpha anew. Use when alpha is asked for.\n---\nDo it anew.\n";
    sandbox.write(".agents/skills/alpha/SKILL.md", text);
    let next = ["publish", ".agents/skills/alpha", "--to", "fleet.db", "--channel", "next"];
    assert_eq!(sandbox.run(&next).code, 0);
    sandbox
}

#[test]
fn an_agent_follows_another_channel_if_its_configuration_names_it() {
    let config =
        "[agents.careful]\n[agents.early]\nchannel = \"next\"\n[agents.last]\nchannel = \"stable\"\n";
    let sandbox = with_next(config);
    let load = |agent: &str, channels: &[&str]| {
        let load = ["call", "load_skill", r#"{"name": "alpha"}"#, "--agent", agent, "--store", "fleet.db"];
        sandbox.run(&[&load[..], channels].concat())
    };
    let both = ["--channel", "next", "--channel", "stable"];
    for (agent, text) in [("careful", "Do alpha."), ("early", "Do it anew."), ("last", "Do alpha.")] {
        let run = load(agent, &both);
        assert!(run.stdout.contains(text), "{agent}: {}{}", run.stdout, run.stderr);
    }
    assert!(load("careful", &[]).stdout.contains("Do alpha."));
    let run = load("early", &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("agents.early.channel: the channel `next` is not served"), "{}", run.stderr);
    sandbox.write("../home/.config/repertoire/config.toml", "agents.early.channel = \"Next!\"\n");
    assert!(load("early", &both).stderr.contains("bad value for `agents.early.channel`"));
}

#[test]
#[cfg(unix)]
fn the_token_of_a_client_selects_its_channel() {
    let config = "[agents.careful]\ntoken_file = \"careful\"\n[agents.early]\ntoken_file = \"early\"\nchannel = \"next\"\n";
    let sandbox = with_next(config);
    for agent in ["careful", "early"] {
        sandbox.write(&format!("../home/.config/repertoire/{agent}"), format!("{agent}-0123456789abcdef"));
    }
    let serving =
        Serving::start(&sandbox, &["--store", "fleet.db", "--channel", "next", "--channel", "stable"]);
    for (agent, is_anew) in [("careful", false), ("early", true)] {
        let bearer = format!("Authorization: Bearer {agent}-0123456789abcdef\r\n");
        let index = serving.get("/.well-known/agent-skills/index.json", &bearer);
        assert!(index.contains("alpha") && index.contains("beta"), "{agent}: {index}");
        assert_eq!(index.contains("Does alpha anew."), is_anew, "{agent}: {index}");
    }
}

#[test]
#[cfg(unix)]
fn damaged_content_is_stored_again() {
    let Some(server) = crate::postgres_server::shared() else { return };
    let url = server.database();
    let sandbox = Sandbox::with_skills();
    let publish = || assert_eq!(sandbox.run(&["publish", SKILLS, "--to", &url]).code, 0);
    let read = |name: &str| {
        let name = json!({"name": name}).to_string();
        sandbox.run(&["call", "load_skill", &name, "--store", &url])
    };
    publish();
    let damage = "UPDATE repertoire.blobs SET bytes = 'x' WHERE position('Do alpha.'::bytea IN bytes) > 0";
    crate::postgres_server::connect(&url).batch_execute(damage).unwrap();
    let run = read("alpha");
    assert!(run.code == 1 && run.stdout.contains("damaged"), "{}{}", run.stdout, run.stderr);
    assert_eq!(read("beta").code, 0, "others are not touched");
    publish();
    assert_eq!(read("alpha").code, 0);
}

/// Waits until `found` is true, for as long as a busy machine may need.
#[cfg(unix)]
pub(crate) fn wait_until(what: &str, mut found: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !found() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

#[test]
#[cfg(unix)]
fn replicas_show_what_is_published_and_survive_a_crash_of_the_database() {
    let Some(server) = crate::postgres_server::Server::start() else { return };
    let url = server.database();
    let sandbox = Sandbox::with_skills();
    let publish = |extra: &[&str]| {
        let run = sandbox.run(&[&["publish", SKILLS, "--to", &url], extra].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    publish(&[]);
    let replicas = [0, 1].map(|_| Serving::start(&sandbox, &["--store", &url]));
    let shows = |replica: &Serving, text: &str| {
        replica.get("/.well-known/agent-skills/index.json", "").contains(text)
    };
    for replica in &replicas {
        assert!(shows(replica, "alpha") && shows(replica, "beta"));
    }
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    publish(&[]);
    for replica in &replicas {
        wait_until("gamma is added", || shows(replica, "gamma"));
    }
    server.kill();
    for replica in &replicas {
        assert!(shows(replica, "gamma"));
        let text = replica.get("/.well-known/agent-skills/gamma/SKILL.md", "");
        assert!(text.contains("# Gamma"), "{text}");
    }
    // One that is started meanwhile has skills as soon as the database is back.
    let late = Serving::start(&sandbox, &["--store", &url]);
    server.resume();
    wait_until("the skills are there", || shows(&late, "gamma"));
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/beta")).unwrap();
    publish(&["--prune"]);
    for replica in replicas.iter().chain([&late]) {
        wait_until("beta is removed", || !shows(replica, "beta"));
        assert!(shows(replica, "alpha"));
    }
}

#[test]
fn of_several_publications_at_once_one_makes_a_release() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", SKILLS, "--to", "fleet.db"]).code, 0);
    sandbox.write(".agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    let publish = ["publish", SKILLS, "--to", "fleet.db", "--json"];
    let runs: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..6).map(|_| scope.spawn(|| sandbox.json(&publish))).collect();
        started.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let made: Vec<&Value> = runs.iter().filter(|run| !run["release"].is_null()).collect();
    assert_eq!(made.len(), 1, "{runs:?}");
    assert_eq!(changes(made[0]), [("gamma".to_owned(), "added".to_owned())]);
    assert!(runs.iter().all(|run| run["release"].is_null() == changes(run).is_empty()), "{runs:?}");
    let undone = sandbox.json(&["team", "channel", "rollback", "--store", "fleet.db", "--json"]);
    assert_eq!(changes(&undone), [("gamma".to_owned(), "removed".to_owned())]);
}

#[test]
fn publish_refuses_a_word_as_a_store() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["publish", SKILLS, "--to", "site"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("`site` is not the address of a store"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: other places are `--to git REPOSITORY`"), "{}", run.stderr);
    for kind in ["git", "dir", "well-known"] {
        let run = sandbox.run(&["publish", SKILLS, "--to", kind]);
        assert!(
            run.code == 2 && run.stderr.contains(&format!("`--to {kind}` needs a place")),
            "{}",
            run.stderr
        );
        assert!(!sandbox.project().join(kind).exists());
    }
    for (option, value) in [("--channel", "x"), ("--remove", "x"), ("--branch", "x"), ("--message", "x")] {
        let run = sandbox.run(&["publish", SKILLS, "--to", "dir", "out", option, value]);
        let message = format!("`{option}` does not fit this place");
        assert!(run.code == 2 && run.stderr.contains(&message), "{}", run.stderr);
        assert!(run.stderr.contains("hint: it is for publishing to a "), "{}", run.stderr);
    }
    assert_eq!(sandbox.run(&["publish", SKILLS, "--to", "./fleet"]).code, 0);
    // What follows a store is a directory of skills.
    assert_eq!(sandbox.run(&["publish", "--to", "./fleet", SKILLS]).code, 0);
    assert_eq!(sandbox.run(&["publish", "--to", "./fleet"]).code, 2);
}

#[test]
fn publish_writes_checked_skills_to_a_directory() {
    let sandbox = Sandbox::with_skills();
    let to = ["publish", SKILLS, "--to", "dir", "out"];
    let with = |more: &[&str]| sandbox.run(&[&to, more].concat());
    let run = with(&[]);
    assert!(run.code == 1 && run.stderr.contains("2 skills would be written"), "{}", run.stderr);
    assert!(!sandbox.project().join("out").exists());
    assert_eq!(with(&["--dry-run"]).stdout, "+ alpha, 3 files\n+ beta, 1 file\n");
    let run = with(&["--yes"]);
    assert_eq!(
        run.stdout, "+ alpha, 3 files\n+ beta, 1 file\nwrote 2 skills to [DIR]/project/out\n",
        "{}",
        run.stderr
    );
    assert_eq!(with(&[]).stdout, "[DIR]/project/out has these skills already\n");
    // Only what differs is written, and hidden files stay.
    sandbox.write("out/beta/.notes", "mine");
    sandbox.write(&format!("{SKILLS}/beta/SKILL.md"), skill("beta", "# Beta\n\nBetter.\n"));
    let run = with(&["--yes"]);
    assert!(run.stdout.contains("~ beta") && run.stdout.contains("+Better."), "{}", run.stdout);
    assert!(sandbox.read("out/beta/SKILL.md").contains("Better."));
    assert_eq!(sandbox.read("out/beta/.notes"), "mine");
    let report = sandbox.json(&["publish", SKILLS, "--to", "dir", "out", "--json"]);
    assert_eq!(report["skills"][1], serde_json::json!({"name": "beta", "change": "unchanged"}));
    // Nothing is written if a skill has an error.
    sandbox.write(&format!("{SKILLS}/broken/SKILL.md"), "---\nname: broken\n---\n");
    let run = with(&["--yes"]);
    assert!(run.code == 1 && run.stderr.contains("nothing was published"), "{}", run.stderr);
    assert!(!sandbox.project().join("out/broken").exists());
}

#[cfg(unix)]
#[test]
fn publish_commits_and_pushes_to_a_repository() {
    use crate::git_repository::{Repository, empty_project};

    let mut sandbox = Sandbox::with_skills();
    sandbox.set("PATH", &std::env::var("PATH").unwrap());
    sandbox.write("../home/.gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.com\n");
    let repository = Repository::with_skills();
    // A branch that is checked out cannot be pushed to.
    repository.git(&["checkout", "-q", "--detach"]);
    let url = repository.url();
    let to = ["publish", SKILLS, "--to", "git", &url];
    let with = |more: &[&str]| sandbox.run(&[&to, more].concat());
    let before = repository.git(&["rev-parse", "main"]);
    let run = with(&["--branch", "main"]);
    assert!(run.code == 1 && run.stderr.contains("2 skills would be pushed"), "{}", run.stderr);
    assert_eq!(repository.git(&["rev-parse", "main"]), before);
    let run = with(&["--branch", "main", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains(&format!("pushed 2 skills to {url}, branch main as ")), "{}", run.stdout);
    let log = repository.git(&["log", "-1", "--format=%an|%s|%P", "main"]);
    assert_eq!(log, format!("Ann|Publish alpha, beta|{before}"));
    let files = repository.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(
        files.contains("skills/alpha/scripts/run.sh") && files.contains("skills/pdf/SKILL.md"),
        "{files}"
    );
    assert!(with(&["--branch", "main"]).stdout.contains("has these skills already"));
    // A branch that is not there yet is made, even where it has nothing new.
    repository.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    let run = with(&["--branch", "release"]);
    assert!(run.code == 1 && run.stderr.contains("the new branch would be pushed"), "{}", run.stderr);
    let run = with(&["--branch", "release", "--dry-run"]);
    let expect = format!("the new branch would be pushed to {url}, branch release\n");
    assert_eq!((run.code, run.stdout), (0, expect), "{}", run.stderr);
    let run = with(&["--branch", "release", "--yes"]);
    let expect = format!("pushed the new branch to {url}, branch release as ");
    assert!(run.code == 0 && run.stdout.starts_with(&expect), "{} {}", run.stdout, run.stderr);
    assert_eq!(repository.git(&["rev-parse", "release"]), repository.git(&["rev-parse", "main"]));
    repository.git(&["checkout", "-q", "--detach"]);
    // They can be added from there.
    let other = empty_project();
    other.json(&["add", &format!("{url}#main"), "--skill", "alpha", "--yes", "--json"]);
    // A new branch, another directory, a message.
    sandbox.write(&format!("{SKILLS}/beta/SKILL.md"), skill("beta", "# Beta\n\nBetter.\n"));
    let place = format!("{url}//more");
    let arguments = ["publish", SKILLS, "--to", "git", &place, "--branch", "next", "-m", "My words", "--yes"];
    let report = sandbox.json(&[&arguments[..], &["--json"]].concat());
    assert_eq!((&report["branch"], &report["directory"]), (&"next".into(), &"more".into()));
    assert_eq!(repository.git(&["rev-parse", "next"]).trim(), report["commit"]);
    assert_eq!(repository.git(&["log", "-1", "--format=%s", "next"]), "My words\n");
    assert!(repository.git(&["show", "next:more/beta/SKILL.md"]).contains("Better."));
    // An empty repository.
    let empty = Repository::new();
    empty.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    let arguments = ["publish", SKILLS, "--to", "git", &empty.path().display().to_string(), "--yes"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    assert!(empty.git(&["log", "--all", "--format=%s"]).contains("Publish alpha, beta"));
    // What git refuses is said.
    repository.git(&["checkout", "-q", "main"]);
    let run = with(&["--branch", "main", "--yes"]);
    assert!(run.code == 3 && run.stderr.contains("that branch is checked out there"), "{}", run.stderr);
    let run = sandbox.run(&["publish", SKILLS, "--to", "git", "npm:x", "--yes"]);
    assert!(run.code == 2 && run.stderr.contains("is not a repository to push to"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn publish_writes_through_no_link_of_a_repository() {
    use crate::git_repository::Repository;

    let mut sandbox = Sandbox::with_skills();
    sandbox.set("PATH", &std::env::var("PATH").unwrap());
    let (repository, outside) = (Repository::new(), sandbox.home().join("outside"));
    std::fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, repository.path().join("skills")).unwrap();
    repository.commit();
    let run = sandbox.run(&["publish", SKILLS, "--to", "git", &repository.url(), "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("is not a directory"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

/// Returns the names of the files of a site, sorted.
fn files_of_site(sandbox: &Sandbox) -> Vec<String> {
    let directory = sandbox.project().join("site/.well-known/agent-skills").read_dir().unwrap();
    let mut names: Vec<String> =
        directory.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_of_a_site_stay_until_the_publication_after_the_next() {
    let sandbox = Sandbox::with_skills();
    let publish = |text: &str| {
        sandbox.write(&format!("{SKILLS}/beta/SKILL.md"), skill("beta", text));
        assert_eq!(sandbox.run(&["publish", SKILLS, "--to", "well-known", "site"]).code, 0);
        files_of_site(&sandbox)
    };
    let first = publish("one\n");
    assert!(first[0].starts_with("alpha-") && first[0].ends_with(".tar.gz"), "{first:?}");
    assert!(first[1].starts_with("beta-") && first[1].ends_with(".md"), "{first:?}");
    assert_eq!(first[2..], ["index.json"]);
    let others = ["beta.tar.gz", "beta-1.md", ".index.json.swp", "notes.md"];
    for name in others {
        sandbox.write(&format!("site/.well-known/agent-skills/{name}"), "of somebody else");
    }
    // As a publication leaves them that is killed.
    let unnamed = first[1].replace("beta-", "gamma-");
    for name in [&unnamed, ".index.json.71.rep.tmp", &format!(".{unnamed}.71.rep.tmp")] {
        sandbox.write(&format!("site/.well-known/agent-skills/{name}"), "a leftover");
    }
    let second = publish("two\n");
    assert!(first.iter().all(|name| second.contains(name)), "{second:?}");
    assert_eq!(second.len(), first.len() + 1 + others.len(), "{second:?}");
    let third = publish("three\n");
    let gone: Vec<&String> = second.iter().filter(|name| !third.contains(name)).collect();
    assert_eq!(gone, [&first[1]]);
    assert_eq!(third.len(), second.len());
    assert!(others.iter().all(|name| third.iter().any(|it| it == name)), "{third:?}");
}

#[cfg(unix)]
#[test]
fn a_site_that_cannot_be_written_whole_stays_as_it_was() {
    let sandbox = Sandbox::with_skills();
    let publish = ["publish", SKILLS, "--to", "well-known", "site"];
    assert_eq!(sandbox.run(&publish).code, 0);
    let index = "site/.well-known/agent-skills/index.json";
    let (files, before) = (files_of_site(&sandbox), sandbox.read(index));
    sandbox.write(&format!("{SKILLS}/beta/SKILL.md"), skill("beta", "# Beta\n\nBetter.\n"));
    sandbox.write(&format!("{SKILLS}/zeta/SKILL.md"), skill("zeta", &"A long line.\n".repeat(1_000)));
    // Files above one or two kilobytes cannot be written, which is the last one.
    let line = "trap '' 25; ulimit -f 2; exec \"$0\" \"$@\"";
    let limited = [&["-c", line, env!("CARGO_BIN_EXE_rep")], &publish[..]].concat();
    let run = sandbox.finish(sandbox.other("sh", &limited));
    assert!(run.code == 3 && run.stderr.contains("File too large"), "{} {}", run.code, run.stderr);
    assert_eq!((files_of_site(&sandbox), sandbox.read(index)), (files, before));
    assert_eq!(sandbox.run(&publish).code, 0);
    assert!(sandbox.read(index).contains("zeta"));
}
