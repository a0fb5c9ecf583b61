//! Tests of `rep add`.

use std::fs;
use std::process::Command;

use repertoire_model::Digest;
use serde_json::json;

use crate::git_repository::{Repository, empty_project, static_server};
use crate::machine::skipped;
use crate::sandbox::{Sandbox, assert_run, skill};

/// Returns the files of the project and what they say, the repository left out.
fn everything(sandbox: &Sandbox) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![sandbox.project()];
    while let Some(path) = pending.pop() {
        let shown = path.strip_prefix(sandbox.project()).unwrap().display().to_string();
        if shown == ".git" {
            continue;
        }
        if let Ok(to) = fs::read_link(&path) {
            found.push((shown, to.display().to_string()));
        } else if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|child| child.unwrap().path()));
        } else {
            found.push((shown, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
        }
    }
    found.sort();
    found
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.json(&["list", "--json"]);
    let skills = listed["skills"].as_array().unwrap().iter();
    skills.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn skills_of_a_repository_are_listed_chosen_and_added() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let commit = repository.git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let url = repository.url();
    assert_run!(sandbox.run(&["add", &url, "--list"]), @r#"
    exit 0
    --- stdout
    NAME  TOKENS  FILES  CHECK  DESCRIPTION
    csv       23      1  ok     Does csv things well. Use when csv is asked for.
    pdf       29      2  ok     Does pdf things well. Use when pdf is asked for.
    --- stderr
    "#);
    // Nothing is chosen, and nobody can be asked.
    let run = sandbox.run(&["add", &url]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.contains("csv       23") && run.stderr.contains("hint: name skills with `--skill NAME`")
    );
    assert!(everything(&sandbox).is_empty());
    assert_run!(sandbox.run(&["add", &url, "--skill", "pdf"]), @r#"
    exit 1
    --- stdout
    pdf: Does pdf things well.
      2 files, 1 KiB, 29 tokens of instructions
      files: SKILL.md, scripts/run.sh
      scripts, not approved: scripts/run.sh
    --- stderr
    error: nothing was changed; 1 skill would be added
    hint: `--yes` does it without asking
    "#);
    assert_run!(sandbox.run(&["add", &url, "--skill", "pdf", "--yes"]), @r#"
    exit 0
    --- stdout
    pdf: Does pdf things well.
      2 files, 1 KiB, 29 tokens of instructions
      files: SKILL.md, scripts/run.sh
      scripts, not approved: scripts/run.sh
    added pdf to .agents/skills/pdf
    linked for other clients: .claude/skills/pdf
    --- stderr
    hint: nothing of it runs until you approve it: `rep approve pdf`
    "#);
    let lock = sandbox.read("repertoire.lock");
    assert!(
        lock.contains(&format!(
            "source = \"{url}\"\npath = \"skills/pdf\"\nresolved = \"{}\"",
            commit.trim()
        ))
    );
    assert!(lock.contains("[skill.files]\n\"SKILL.md\" = \"sha256:"), "{lock}");
    assert_eq!(names(&sandbox), ["pdf"]);
    assert_eq!(
        fs::read_link(sandbox.project().join(".claude/skills/pdf")).unwrap().to_str(),
        Some("../../.agents/skills/pdf")
    );
    // Again it is there already, and the others can still be added.
    let again = sandbox.json(&["add", &url, "--all", "--yes", "--json"]);
    let states: Vec<&str> =
        again["skills"].as_array().unwrap().iter().map(|skill| skill["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["added", "right"]);
    assert_eq!(names(&sandbox), ["csv", "pdf"]);
    // The script is not approved.
    assert!(!sandbox.run(&["approve", "--list", "--json"]).stdout.contains("pdf"));
}

#[test]
fn a_skill_that_is_there_is_never_overwritten() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    sandbox.write(".agents/skills/pdf/SKILL.md", skill("pdf", "# Mine\n"));
    let before = everything(&sandbox);
    let run = sandbox.run(&["add", &repository.url(), "--all", "--yes"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains(
            "error: there is another `pdf` at [DIR]/project/.agents/skills/pdf, which is left alone"
        ),
        "{}",
        run.stderr
    );
    assert_eq!(everything(&sandbox), before);
    // The same files are taken over, but not from a second source.
    let other = Repository::with_skills();
    sandbox.json(&["add", &repository.url(), "--skill", "csv", "--yes", "--json"]);
    let run = sandbox.run(&["add", &other.url(), "--skill", "csv", "--yes"]);
    assert!(run.stderr.contains("run `rep remove csv` first to replace it"), "{}", run.stderr);
}

#[test]
fn branches_tags_commits_and_directories_can_be_chosen() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let first = repository.commit();
    repository.git(&["tag", "-a", "-m", "one", "v1"]);
    repository.git(&["checkout", "-q", "-b", "feature/x"]);
    repository.write("more/deep/SKILL.md", skill("deep", "# Deep\n"));
    repository.commit();
    let url = repository.url();
    let listed = |arguments: &[&str]| {
        let document = sandbox.json(&[&["add", "--list", "--json"], arguments].concat());
        let skills = document["skills"].as_array().unwrap().iter();
        skills.map(|skill| skill["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[&url]), ["skills/csv", "more/deep", "skills/pdf"]);
    assert_eq!(listed(&[&url, "--ref", "v1"]), ["skills/csv", "skills/pdf"]);
    assert_eq!(listed(&[&url, "--ref", &first]), ["skills/csv", "skills/pdf"]);
    assert_eq!(listed(&[&format!("{url}//more#feature/x")]), ["more/deep"]);
    assert_eq!(listed(&[&format!("{url}//skills/pdf#main")]), ["skills/pdf"]);
    let missing = |arguments: &[&str], message: &str| {
        let run = sandbox.run(&[&["add", "--yes"], arguments].concat());
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    };
    missing(&[&url, "--ref", "gone"], "has no such branch, tag or commit");
    missing(&[&format!("{url}//nothing")], "has no skills below nothing");
    missing(&[&format!("{url}-not")], "there is no repository at file://");
    missing(&[&url, "--skill", "nope"], "the source has no skill `nope`");
    assert!(everything(&sandbox).is_empty());
}

#[test]
fn a_server_that_filters_sends_only_the_files_of_skills() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    repository.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let added = sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    assert_eq!(added["skills"].as_array().unwrap().len(), 2);
    // Over the network, and with a repository that has nothing but a skill at its root.
    let single = Repository::new();
    single.write("SKILL.md", skill("single", "# Single\n"));
    single.write("references/a.md", "a\n");
    single.commit();
    sandbox.json(&["add", &single.daemon(), "--yes", "--json"]);
    assert_eq!(names(&sandbox), ["csv", "pdf", "single"]);
    assert_eq!(sandbox.read(".agents/skills/single/references/a.md"), "a\n");
}

#[cfg(unix)]
#[test]
fn links_unsafe_names_and_broken_skills_do_not_arrive() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    std::os::unix::fs::symlink("/etc/passwd", repository.path().join("skills/pdf/secrets")).unwrap();
    repository.write("skills/pdf/a:b.md", "x");
    repository.write("skills/pdf/.env", "TOKEN=x");
    repository.write("skills/broken/SKILL.md", "---\nname: [\n---\n");
    repository.write("skills/hidden/SKILL.md", skill("hidden", "# Hidden\n\nDo\u{200b} it\u{202e}.\n"));
    repository.commit();
    let run = sandbox.run(&["add", &repository.url(), "--all", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in
        ["left out: `skills/pdf/secrets` is a symbolic link", "`skills/pdf/a:b.md`", "broken is not added"]
    {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    assert!(run.stdout.contains("invisible"), "{}", run.stdout);
    let mut files: Vec<String> = everything(&sandbox).into_iter().map(|(path, _)| path).collect();
    files.retain(|path| path.starts_with(".agents/skills/pdf"));
    assert_eq!(files, [".agents/skills/pdf/SKILL.md", ".agents/skills/pdf/scripts/run.sh"]);
    let run = sandbox.run(&["add", &repository.url(), "--skill", "broken", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("`broken` cannot be added"), "{}", run.stderr);
}

#[test]
fn two_skills_of_one_name_are_an_error_unless_they_are_the_same() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    repository.write(
        ".claude/skills/pdf/SKILL.md",
        fs::read(repository.path().join("skills/csv/SKILL.md")).unwrap(),
    );
    repository.commit();
    // A copy of csv under another directory is csv.
    let listed = sandbox.json(&["add", &repository.url(), "--list", "--json"]);
    assert_eq!(listed["skills"].as_array().unwrap().len(), 2);
    repository.write("other/csv/SKILL.md", skill("csv", "# Another\n"));
    repository.commit();
    let run = sandbox.run(&["add", &repository.url(), "--skill", "csv", "--yes"]);
    assert!(run.stderr.contains("two skills of the source are called `csv`"), "{}", run.stderr);
    assert!(everything(&sandbox).is_empty());
}

#[test]
fn directories_and_archives_made_by_zip_and_tar_are_added() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let skills = repository.path().join("skills");
    let pack = |program: &str, arguments: &[&str], directory: &str| {
        let status = Command::new(program).args(arguments).current_dir(skills.join(directory)).status();
        assert!(status.unwrap().success());
    };
    let target = |name: &str| sandbox.project().join(name).display().to_string();
    pack("tar", &["czf", &target("all.tar.gz"), "csv", "pdf"], ".");
    pack("tar", &["cf", &target("pdf.tar"), "."], "pdf");
    let mut sources = vec![skills.display().to_string(), "all.tar.gz".to_owned(), "./pdf.tar".to_owned()];
    if Command::new("zip").arg("-v").output().is_ok_and(|output| output.status.success()) {
        pack("zip", &["-qr", &target("pdf.skill"), "."], "pdf");
        sources.push("pdf.skill".to_owned());
    } else {
        skipped("an archive made by zip, which is not installed");
    }
    for source in sources {
        let added = sandbox.json(&["add", &source, "--skill", "pdf", "--yes", "--json"]);
        let resolved = added["resolved"].as_str().unwrap_or_default();
        assert_eq!(
            resolved.starts_with("sha256:"),
            source.contains(".tar") || source.contains(".skill"),
            "{added}"
        );
        assert_eq!(sandbox.read(".agents/skills/pdf/scripts/run.sh"), "echo pdf\n");
        sandbox.json(&["remove", "pdf", "--yes", "--json"]);
        assert!(!sandbox.project().join("repertoire.lock").exists());
    }
    // From a server.
    let url = format!("{}/all.tar.gz", static_server(&sandbox.project(), None));
    let added = sandbox.json(&["add", &url, "--skill", "pdf", "--yes", "--json"]);
    assert_eq!((added["source"].as_str(), added["skills"][0]["path"].as_str()), (Some(&*url), Some("pdf")));
    assert!(
        sandbox.run(&["add", &url.replace("all", "none"), "--yes"]).stderr.contains("there is nothing at")
    );
    sandbox.json(&["remove", "pdf", "--yes", "--json"]);
    // A link in an archive, a file that is not an archive, and one that is not there.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", skills.join("csv/link")).unwrap();
        pack("tar", &["czf", &target("link.tar.gz"), "csv"], ".");
        let run = sandbox.run(&["add", "link.tar.gz", "--yes"]);
        assert!(run.code == 1 && run.stderr.contains("`csv/link` is a link"), "{}", run.stderr);
    }
    // A skill with too many files.
    fs::create_dir(skills.join("pdf/many")).unwrap();
    for number in 0..2_000 {
        fs::write(skills.join(format!("pdf/many/{number}.md")), "").unwrap();
    }
    pack("tar", &["czf", &target("many.tar.gz"), "."], "pdf");
    let run = sandbox.run(&["add", "many.tar.gz", "--yes"]);
    assert!(run.stderr.contains("pdf is not added: it has more than 2000 files\n"), "{}", run.stderr);
    let shown = run.stdout + &run.stderr;
    assert!(run.code == 1 && !shown.contains("fetching"), "{shown}");
    sandbox.write("no.zip", "text");
    assert!(sandbox.run(&["add", "no.zip", "--yes"]).stderr.contains("neither zip nor tar"));
    assert!(sandbox.run(&["add", "missing.zip", "--yes"]).stderr.contains("there is no archive"));
    assert_eq!(names(&sandbox), Vec::<String>::new());
}

#[test]
fn an_index_of_a_server_is_added_with_its_token_and_its_digests() {
    let sandbox = empty_project();
    let site = tempfile::tempdir().unwrap();
    let manifest = skill("pdf", "# PDF\n");
    let directory = site.path().join(".well-known/agent-skills");
    fs::create_dir_all(directory.join("pdf")).unwrap();
    fs::write(directory.join("pdf/SKILL.md"), &manifest).unwrap();
    let write_index = |digest: String| {
        let entry = json!({"name": "pdf", "type": "skill-md", "description": "x", "url": "pdf/SKILL.md", "digest": digest});
        let other = json!({"name": "other", "type": "video", "description": "x", "url": "x", "digest": "x"});
        let mut skills = vec![other];
        for (name, url) in [
            ("up", json!("../../x")),
            ("file", json!("file:///etc/passwd")),
            ("none", json!(null)),
            ("plain", json!("http://skills.invalid/x")),
            ("host", json!("https://[x/y")),
            ("space", json!("a b")),
        ] {
            skills.push(
                json!({"name": name, "type": "skill-md", "description": "x", "url": url, "digest": digest}),
            );
        }
        skills.push(entry);
        let index = json!({"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": skills});
        fs::write(directory.join("index.json"), index.to_string()).unwrap();
    };
    write_index(Digest::of(manifest.as_bytes()).to_string());
    let url = static_server(site.path(), Some("secret"));
    let run = sandbox.run(&["add", &url, "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("needs a token"), "{}", run.stderr);
    sandbox.write("token", "secret\n");
    let add = ["add", &url, "--yes", "--token-file", "token", "--json"];
    let added = sandbox.json(&add);
    let left_out: Vec<&str> =
        added["left_out"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
    let mut expect = vec!["other is of a kind that is not known: `video`".to_owned()];
    let invalid = ["up", "file", "none", "plain", "host", "space"];
    expect.extend(invalid.map(|name| format!("{name} has no valid url")));
    assert_eq!(left_out, expect);
    assert!(sandbox.read("repertoire.lock").contains("resolved = \"sha256:"));
    assert_eq!(sandbox.read(".agents/skills/pdf/SKILL.md"), manifest);
    sandbox.json(&["remove", &url, "--yes", "--json"]);
    // One bad entry does not block the others, unless it is named.
    let digest = Digest::of(manifest.as_bytes()).to_string();
    let entry = |name: &str, url: &str, kind: &str, digest: &str| json!({"name": name, "type": kind, "description": "x", "url": url, "digest": digest});
    fs::write(directory.join("cut.tar.gz"), b"cut").unwrap();
    let cut = Digest::of(b"cut").to_string();
    let skills = [
        entry("none", "pdf/SKILL.md", "skill-md", "none"),
        entry("wrong", "pdf/SKILL.md", "skill-md", &Digest::of(b"other").to_string()),
        entry("gone", "gone/SKILL.md", "skill-md", &digest),
        entry("cut", "cut.tar.gz", "archive", &cut),
        entry("pdf", "pdf/SKILL.md", "skill-md", &digest),
    ];
    let index =
        json!({"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": skills});
    fs::write(directory.join("index.json"), index.to_string()).unwrap();
    let added = sandbox.json(&add);
    assert_eq!(added["skills"].as_array().unwrap().len(), 1);
    let left_out = added["left_out"].to_string().replace(&url, "URL");
    insta::assert_snapshot!(left_out, @r#"
    ["none: `none` of URL/.well-known/agent-skills/index.json has no digest","wrong: `wrong` of URL/.well-known/agent-skills/index.json does not have the digest that the index says","gone: there is nothing at URL/.well-known/agent-skills/gone/SKILL.md","cut: URL/.well-known/agent-skills/cut.tar.gz is refused: it is neither zip nor tar nor tar.gz"]
    "#);
    sandbox.json(&["remove", &url, "--yes", "--json"]);
    let run = sandbox.run(&["add", &url, "--yes", "--token-file", "token", "--skill", "wrong"]);
    assert!(
        run.code == 1 && run.stderr.contains("does not have the digest that the index says"),
        "{}",
        run.stderr
    );
    // The older version of the index has files and no digests.
    fs::remove_file(directory.join("index.json")).unwrap();
    let directory = site.path().join(".well-known/skills");
    fs::create_dir_all(directory.join("pdf")).unwrap();
    fs::write(directory.join("pdf/SKILL.md"), &manifest).unwrap();
    let up = json!({"name": "up", "description": "x", "files": ["SKILL.md", "../x"]});
    let index = json!({"skills": [up, {"name": "pdf", "description": "x", "files": ["SKILL.md"]}]});
    fs::write(directory.join("index.json"), index.to_string()).unwrap();
    sandbox.json(&add);
    assert_eq!(names(&sandbox), ["pdf"]);
    // A server without an index.
    let empty = tempfile::tempdir().unwrap();
    let run = sandbox.run(&["add", &static_server(empty.path(), None), "--yes"]);
    assert!(run.stderr.contains("has no index of skills"), "{}", run.stderr);
}

#[test]
fn two_skills_of_one_name_are_refused_with_a_way_to_add_one() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    repository.write("other/pdf/SKILL.md", skill("pdf", "another\n"));
    repository.commit();
    let run = sandbox.run(&["add", &repository.url(), "--all", "--yes"]);
    let command = format!("rep add {}//other/pdf", repository.url());
    assert!(run.code == 1 && run.stderr.contains(&command), "{}", run.stderr);
    sandbox.write("source/a/pdf/SKILL.md", skill("pdf", "one\n"));
    sandbox.write("source/b/pdf/SKILL.md", skill("pdf", "two\n"));
    let run = sandbox.run(&["add", "./source", "--all", "--yes"]);
    assert!(run.stderr.contains("source/a/pdf\n"), "{}", run.stderr);
    let run = sandbox.run(&["add", ""]);
    assert!(run.code == 2 && !run.stderr.contains("the directory is"), "{}", run.stderr);
}

#[test]
fn another_reference_of_a_skill_that_is_there_is_recorded() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    repository.git(&["tag", "t1"]);
    sandbox.json(&["add", &repository.url(), "--skill", "pdf", "--yes", "--json"]);
    let run = sandbox.run(&["add", &format!("{}#t1", repository.url()), "--skill", "pdf", "--yes"]);
    let line = "pdf is there already, as it is in the source; repertoire.lock has its version and ref from there now\n";
    assert_eq!((run.code, &*run.stdout), (0, line), "{}", run.stderr);
}

#[test]
fn a_disabled_skill_and_clients_that_read_skills_twice_are_warned_about() {
    let sandbox = empty_project();
    sandbox.write("source/pdf/SKILL.md", skill("pdf", "x\n"));
    sandbox.write("source/csv/SKILL.md", skill("csv", "x\n"));
    sandbox.write("repertoire.toml", "disabled = [\"pdf\"]\n");
    assert_run!(sandbox.run(&["add", "./source", "--skill", "pdf", "--yes"]), @r#"
    exit 0
    --- stdout
    pdf: Does pdf things well.
      1 file, 1 KiB, 22 tokens of instructions
    added pdf to .agents/skills/pdf
    --- stderr
    warning: pdf is disabled by `pdf` in repertoire.toml
    hint: run `rep enable --project pdf`
    "#);
    sandbox.write("../home/.cursor/argv.json", "{}\n");
    sandbox.write("../home/.claude/settings.json", "{}\n");
    let run = sandbox.run(&["add", "./source", "--skill", "csv", "--yes"]);
    insta::assert_snapshot!(run.stderr, @r#"
    warning: Cursor reads these links too, and offers the skills twice
    hint: take them back by their number in `rep undo --list`, then run `rep connect claude-code`
    "#);
    // Doctor and link agree with that, and following it ends.
    let advice = "take them back by their number in `rep undo --list`, then run `rep connect claude-code`";
    assert!(sandbox.run(&["doctor", "--verbose"]).stdout.replace("\n                ", " ").contains(advice));
    assert_eq!(sandbox.undo("rep link claude-code").code, 0);
    assert_eq!(sandbox.run(&["connect", "claude-code", "--yes"]).code, 0);
    let run = sandbox.run(&["link", "claude-code", "--yes"]);
    assert!(run.stderr.contains("needs no links") && !run.stderr.contains("undo"), "{}", run.stderr);
    assert!(!sandbox.run(&["doctor", "--verbose"]).stdout.contains("more than once"));
}

#[test]
fn packages_of_npm_bring_skills_along() {
    use base64::Engine as _;
    use sha2::Digest as _;

    let (repository, mut sandbox) = (Repository::with_skills(), empty_project());
    let registry = tempfile::tempdir().unwrap();
    fs::rename(repository.path().join("skills"), registry.path().join("skills")).unwrap();
    fs::create_dir(registry.path().join("package")).unwrap();
    fs::rename(registry.path().join("skills"), registry.path().join("package/skills")).unwrap();
    let example = registry.path().join("package/examples/skills/example");
    fs::create_dir_all(&example).unwrap();
    fs::write(example.join("SKILL.md"), skill("example", "x\n")).unwrap();
    let status =
        Command::new("tar").args(["czf", "pkg.tgz", "package"]).current_dir(registry.path()).status();
    assert!(status.unwrap().success());
    let url = static_server(registry.path(), None);
    let bytes = fs::read(registry.path().join("pkg.tgz")).unwrap();
    let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha512::digest(&bytes));
    let description = |hash: &str| {
        let dist = json!({"tarball": format!("{url}/pkg.tgz"), "integrity": format!("sha512-{hash}")});
        fs::create_dir_all(registry.path().join("pkg")).unwrap();
        fs::write(registry.path().join("pkg/latest"), json!({"version": "1.2.3", "dist": dist}).to_string())
            .unwrap();
    };
    sandbox.set("npm_config_registry", &url);
    description("AAAA");
    let run = sandbox.run(&["add", "npm:pkg", "--yes"]);
    sandbox.set("npm_config_registry", "http://127.0.0.1:1");
    sandbox.set("NPM_CONFIG_REGISTRY", &url);
    assert!(run.code == 1 && run.stderr.contains("does not have the hash"), "{}", run.stderr);
    description(&hash);
    let added = sandbox.json(&["add", "npm:pkg", "--yes", "--json"]);
    assert_eq!(added["resolved"], "1.2.3");
    assert_eq!(names(&sandbox), ["csv", "pdf"]);
    assert!(sandbox.run(&["add", "npm:nothing", "--yes"]).stderr.contains("there is no package nothing"));
}

#[test]
fn skills_of_another_rep_serve_are_added() {
    let served = Sandbox::with_skills();
    let mut server = served.command(&["serve", "--http", "127.0.0.1:0"]);
    let mut child =
        server.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let address = std::io::BufRead::lines(stderr)
        .map_while(Result::ok)
        .find_map(|line| Some(format!("http://{}", line.split("http://").nth(1)?.split(['/', ' ']).next()?)));
    let sandbox = empty_project();
    let run = sandbox.run(&["add", &address.unwrap(), "--all", "--yes"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(names(&sandbox), ["alpha", "beta"]);
    assert_eq!(sandbox.read(".agents/skills/alpha/references/guide.md"), "one\ntwo\nthree\n");
}

#[cfg(unix)]
#[test]
fn a_project_stays_as_it_was_if_something_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt as _;

    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    // A lock that does not parse.
    sandbox.write("repertoire.lock", "<<<<<<< HEAD\n");
    let before = everything(&sandbox);
    let add = ["add", &repository.url(), "--all", "--yes"];
    let run = sandbox.run(&add);
    assert!(run.code == 1 && run.stderr.contains("repertoire.lock is not a lock"), "{}", run.stderr);
    assert_eq!(everything(&sandbox), before);
    fs::remove_file(sandbox.project().join("repertoire.lock")).unwrap();
    // A directory that leads out of the project.
    let outside = sandbox.home().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.project().join(".agents")).unwrap();
    let run = sandbox.run(&add);
    assert!(run.code == 1 && run.stderr.contains("leads out of the project"), "{}", run.stderr);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(sandbox.project().join(".agents")).unwrap();
    // A directory that is read-only; root may write all the same.
    fs::create_dir_all(sandbox.project().join(".agents/skills")).unwrap();
    let set_mode = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(sandbox.project().join(".agents/skills"), permissions).unwrap();
    };
    set_mode(0o555);
    let is_root = fs::write(sandbox.project().join(".agents/skills/probe"), "").is_ok();
    if is_root {
        skipped("a read-only directory, which root can write");
    } else {
        let run = sandbox.run(&add);
        assert!(run.code == 3 && run.stderr.contains("cannot write"), "{}", run.stderr);
        assert!(everything(&sandbox).is_empty());
    }
    set_mode(0o755);
    let _ = fs::remove_file(sandbox.project().join(".agents/skills/probe"));
    // A lock that cannot be written: what was put in place before is taken away again.
    fs::create_dir(sandbox.project().join("repertoire.lock")).unwrap();
    let run = sandbox.run(&add);
    assert_ne!(run.code, 0);
    assert!(everything(&sandbox).is_empty());
}

#[test]
fn skills_are_added_for_the_user() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    sandbox.json(&["add", &repository.url(), "--user", "--skill", "pdf", "--yes", "--json"]);
    assert!(sandbox.home().join(".agents/skills/pdf/SKILL.md").is_file());
    assert!(sandbox.home().join(".config/repertoire/repertoire.lock").is_file());
    assert!(everything(&sandbox).is_empty());
    assert_eq!(sandbox.run(&["update", "--dry-run", "--user"]).stdout, "everything is up to date\n");
    let run = sandbox.run(&["add", &repository.url(), "--skill", "pdf"]);
    assert!(
        run.stderr.contains("warning: there is another `pdf` at [DIR]/home/.agents/skills/pdf"),
        "{}",
        run.stderr
    );
    assert!(sandbox.run(&["remove", "pdf", "--yes"]).stderr.contains("run `rep remove --user pdf`"));
    sandbox.json(&["remove", "pdf", "--user", "--yes", "--json"]);
    assert!(!sandbox.home().join(".agents/skills/pdf").exists());
}

#[test]
fn a_skill_is_added_although_a_client_cannot_be_given_a_link() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    // Nothing can be made in a file, not even by root.
    sandbox.write(".claude/skills", "");
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let run = sandbox.run(&["add", &repository.url(), "--skill", "pdf", "--yes"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let note = "the link .claude/skills/pdf is left alone, because its directory cannot be written; \
        the skills are in place, and `rep link` links them once that can be written";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    assert_eq!(names(&sandbox), ["pdf"]);
    fs::remove_file(sandbox.project().join(".claude/skills")).unwrap();
    let changed = || sandbox.project().join(".claude").metadata().unwrap().modified().unwrap();
    let before = changed();
    let run = sandbox.run(&["sync", "--frozen"]);
    assert!(run.stderr.contains("the link .claude/skills/pdf is missing"), "{}", run.stderr);
    assert_eq!(changed(), before, "nothing is written, not even to see if it can be");
    assert_eq!(sandbox.run(&["sync"]).code, 0);
    assert!(sandbox.project().join(".claude/skills/pdf/SKILL.md").is_file());
}

#[test]
fn two_processes_add_at_once() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    for number in 0..6 {
        repository.write(&format!("skills/s{number}/SKILL.md"), skill(&format!("s{number}"), "# S\n"));
    }
    repository.commit();
    let url = repository.url();
    let children: Vec<_> = (0..6)
        .map(|number| {
            let name = format!("s{number}");
            let mut command = sandbox.command(&["add", &url, "--skill", &name, "--yes"]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(names(&sandbox), ["s0", "s1", "s2", "s3", "s4", "s5"]);
    let synced = sandbox.run(&["sync", "--frozen"]);
    assert_eq!((synced.code, synced.stdout.as_str()), (0, "everything is as the lock says\n"));
}

#[test]
fn a_published_directory_is_added_from_a_static_server() {
    let (published, sandbox) = (Sandbox::with_skills(), empty_project());
    let run = published.run(&["publish", ".agents/skills", "--to", "well-known", "site"]);
    assert_eq!(run.stdout, "wrote 2 skills and the index to [DIR]/project/site\n", "{}", run.stderr);
    let url = static_server(&published.project().join("site"), None);
    sandbox.json(&["add", &url, "--all", "--yes", "--json"]);
    assert_eq!(names(&sandbox), ["alpha", "beta"]);
    assert_eq!(sandbox.read(".agents/skills/alpha/references/guide.md"), "one\ntwo\nthree\n");
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    published.write(".agents/skills/beta/SKILL.md", skill("beta", "# Beta\n\nBetter.\n"));
    published.json(&["publish", ".agents/skills", "--to", "well-known", "site", "--json"]);
    sandbox.json(&["update", "--yes", "--json"]);
    assert!(sandbox.read(".agents/skills/beta/SKILL.md").contains("Better."));
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let source = repository.path().join("skills").display().to_string();
    // Files above one or two kilobytes cannot be written: the store is the first of them.
    let limited = |arguments: &[&str]| {
        let line = "trap '' 25; ulimit -f 2; exec \"$0\" \"$@\"";
        let command = [&["-c", line, env!("CARGO_BIN_EXE_rep")], arguments].concat();
        sandbox.finish(sandbox.other("sh", &command))
    };
    sandbox.json(&["add", &source, "--skill", "csv", "--yes", "--json"]);
    let before = everything(&sandbox);
    for number in 0..6 {
        repository.write(&format!("skills/s{number}/SKILL.md"), skill(&format!("s{number}"), "# S\n"));
    }
    let run = limited(&["add", &source, "--all", "--yes"]);
    assert!(run.code == 3 && run.stderr.contains("repertoire.db"), "{} {}", run.code, run.stderr);
    assert_eq!(everything(&sandbox), before);
    repository.write("skills/csv/references/large.md", "x".repeat(9000));
    let run = limited(&["update", "--yes"]);
    assert!(run.code == 3 && run.stderr.contains("repertoire.db"), "{} {}", run.code, run.stderr);
    assert_eq!(everything(&sandbox), before);
    // With room again, all goes well.
    sandbox.json(&["update", "--yes", "--json"]);
    sandbox.json(&["add", &source, "--all", "--yes", "--json"]);
    assert_eq!(names(&sandbox).len(), 8);
    assert_eq!(sandbox.run(&["sync", "--frozen"]).code, 0);
}

#[test]
fn a_private_repository_is_fetched_with_the_credentials_of_the_user() {
    use base64::Engine as _;

    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let credentials = base64::engine::general_purpose::STANDARD.encode("ada:secret");
    let url = repository.http(Box::leak(credentials.into_boxed_str()));
    let run = sandbox.run(&["add", &url, "--all", "--yes"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("git has no right to read it"), "{}", run.stderr);
    let helper =
        format!("[credential]\n\thelper = store --file {}\n", sandbox.home().join("secrets").display());
    sandbox.write("../home/.gitconfig", helper);
    sandbox.write("../home/secrets", url.replace("http://", "http://ada:secret@").replace("/.git", "\n"));
    sandbox.json(&["add", &url, "--all", "--yes", "--json"]);
    assert_eq!(names(&sandbox), ["csv", "pdf"]);
    assert!(!sandbox.read("repertoire.lock").contains("secret"));
    assert_eq!(sandbox.run(&["update", "--dry-run"]).stdout, "everything is up to date\n");
    // Settings of the user allow no other protocols, not even ones that run programs.
    let old = fs::read_to_string(sandbox.home().join(".gitconfig")).unwrap();
    let ran = sandbox.home().join("ran");
    let ext = format!(
        "[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n[url \"ext::touch {} \"]\n\tinsteadOf = https://ext.invalid/\n",
        ran.display()
    );
    sandbox.write("../home/.gitconfig", old.clone() + &ext);
    let run = sandbox.run(&["add", "https://ext.invalid/x.git", "--all", "--yes"]);
    assert!(run.code != 0 && run.stderr.contains("transport 'ext' not allowed"), "{}", run.stderr);
    assert!(!ran.exists());
    sandbox.write("../home/.gitconfig", old);
    // Settings of the user do not change the bytes, and hooks and filters do not run.
    let settings =
        "[core]\n\tautocrlf = true\n\thooksPath = /nonexistent\n[filter \"x\"]\n\tsmudge = false\n";
    let old = std::fs::read_to_string(sandbox.home().join(".gitconfig")).unwrap();
    sandbox.write("../home/.gitconfig", old + settings);
    repository.write(".gitattributes", "*.md filter=x text\n");
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third!");
    repository.commit();
    sandbox.json(&["update", "--yes", "--json"]);
    let expect = fs::read_to_string(repository.path().join("skills/pdf/SKILL.md")).unwrap();
    assert_eq!(sandbox.read(".agents/skills/pdf/SKILL.md"), expect);
}

#[test]
fn plugins_of_a_marketplace_that_lie_elsewhere_are_named_with_a_safe_command() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    let plugins = r#"{"plugins": [{"name": "forms", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
        {"name": "evil", "source": {"source": "url", "url": "https://git.example/r.git#$(id);x'`y`"}},
        {"name": "none", "source": {"source": "url", "url": "; id"}}]}"#;
    repository.write(".claude-plugin/marketplace.json", plugins);
    repository.commit();
    let run = sandbox.run(&["add", &repository.url(), "--skill", "csv", "--skill", "csv", "--yes"]);
    assert_run!(run, @r#"
    exit 0
    --- stdout
    csv: Does csv things well.
      1 file, 1 KiB, 23 tokens of instructions
    added csv to .agents/skills/csv
    --- stderr
    "#);
    assert_run!(sandbox.run(&["add", &repository.url(), "--list"]), @r#"
    exit 0
    --- stdout
    NAME  TOKENS  FILES  CHECK  DESCRIPTION
    csv       23      1  ok     Does csv things well. Use when csv is asked for.
    pdf       29      2  ok     Does pdf things well. Use when pdf is asked for.
    --- stderr
    left out: the plugin forms of the marketplace lies elsewhere
    hint: this adds its skills: rep add 'o/r#v1'
    left out: the plugin evil of the marketplace lies elsewhere
    hint: this adds its skills: rep add 'https://git.example/r.git#$(id);x'\''`y`'
    left out: the plugin none of the marketplace lies elsewhere
    hint: its skills cannot be added from there
    "#);
    let listed = sandbox.json(&["add", &repository.url(), "--list", "--json"]);
    assert_eq!(listed["plugins"][0], serde_json::json!({"name": "forms", "source": "o/r#v1"}));
    assert_eq!(listed["plugins"][2]["source"], serde_json::Value::Null);
}

#[test]
fn errors_about_sources_on_this_machine_say_how_they_are_written() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    sandbox.write("drafts/a/SKILL.md", skill("a", "x\n"));
    sandbox.write("skills.tar.xz", "x");
    let bare = sandbox.project().join("bare.git");
    repository.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    for (source, hint) in [
        ("drafts", "the directory is ./drafts"),
        ("./bare.git", "it is a git repository: run `rep add file://"),
        ("./skills.tar.xz", "archives are .zip, .skill, .tar and .tar.gz"),
    ] {
        let run = sandbox.run(&["add", source, "--list"]);
        assert!(run.code != 0 && run.stderr.contains(hint), "{source}: {}", run.stderr);
    }
    assert_eq!(sandbox.run(&["add", &format!("file://{}", bare.display()), "--list"]).code, 0);
}

#[cfg(unix)]
#[test]
fn no_link_is_made_for_a_client_that_reads_the_skill_under_another_name() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    fs::create_dir_all(sandbox.project().join(".claude/skills")).unwrap();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let other_name = sandbox.project().join(".claude/skills/forms");
    std::os::unix::fs::symlink("../../.agents/skills/pdf", &other_name).unwrap();
    let added = sandbox.json(&["add", &repository.url(), "--skill", "pdf", "--yes", "--json"]);
    assert_eq!(added["links"], json!([]));
    let explained = sandbox.run(&["explain", "pdf"]).stdout;
    assert!(explained.contains("read by Claude Code as `forms`"), "{explained}");
    let removed = sandbox.run(&["remove", "pdf", "--yes"]);
    assert!(
        removed.stdout.contains("- .claude/skills/forms")
            || removed.stderr.contains("- .claude/skills/forms")
    );
    assert!(!other_name.is_symlink(), "a link that leads nowhere is not left");
}

#[test]
fn the_samples_are_added_out_of_the_program() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["list"]);
    for command in ["`rep doctor --verbose`", "`rep new my-skill`", "`rep add samples`"] {
        assert!(run.stderr.contains(command), "{}", run.stderr);
    }
    let some = sandbox.json(&["add", "samples", "--skill", "git", "--yes", "--json"]);
    assert_eq!(some["skills"].as_array().unwrap().len(), 1);
    let all = sandbox.json(&["add", "samples", "--yes", "--json"]);
    assert!(all["skills"].as_array().unwrap().len() > 20 && all["source"] == "samples", "{all}");
    assert!(sandbox.project().join(".agents/skills/backend/SKILL.md").is_file());
    assert_eq!(sandbox.run(&["update", "--dry-run"]).code, 0);
    assert_eq!(sandbox.run(&["remove", "samples", "--yes"]).code, 0);
    assert!(!sandbox.project().join(".agents/skills/backend").exists());
    // A directory of that name is a path.
    sandbox.write("samples/own/SKILL.md", skill("own", "x\n"));
    let run = sandbox.run(&["add", "samples", "--list"]);
    assert!(
        run.stdout.contains("backend") && run.stderr.contains("the directory is ./samples"),
        "{}",
        run.stderr
    );
    assert!(sandbox.run(&["add", "./samples", "--list"]).stdout.contains("own"));
}

#[test]
fn a_branch_behind_an_at_sign_is_named() {
    let repository = Repository::with_skills();
    repository.git(&["branch", "stable"]);
    let sandbox = empty_project();
    // git takes the one repository for the other.
    sandbox.write(
        "../home/.gitconfig",
        format!("[url \"{}\"]\n\tinsteadOf = https://github.com/owner/repo\n", repository.url()),
    );
    insta::assert_snapshot!(sandbox.run(&["add", "owner/repo@stable", "--yes"]).stderr, @r"
    error: the source has no skill `stable`
    hint: it has: csv, pdf
    hint: it has a branch or tag of this name: `rep add 'owner/repo#stable'`
    ");
    insta::assert_snapshot!(sandbox.run(&["add", "owner/repo@other", "--yes"]).stderr, @r"
    error: the source has no skill `other`
    hint: it has: csv, pdf
    ");
    assert_eq!(sandbox.run(&["add", "owner/repo#stable", "--yes"]).code, 0);
}

/// Returns a skill that requires others.
fn requiring(name: &str, requires: &str) -> String {
    skill(name, "# X\n").replace("description:", &format!("requires: [{requires}]\ndescription:"))
}

#[test]
fn skills_that_an_added_one_requires_come_along() {
    let sandbox = empty_project();
    sandbox.write("../source/a/SKILL.md", requiring("a", "b"));
    sandbox.write("../source/b/SKILL.md", requiring("b", "c"));
    sandbox.write("../source/c/SKILL.md", skill("c", "# C\n"));
    sandbox.write("../source/d/SKILL.md", skill("d", "# D\n"));
    assert_run!(sandbox.run(&["add", "../source", "-s", "a"]), @r#"
    exit 1
    --- stdout
    a: Does a things well.
      1 file, 1 KiB, 28 tokens of instructions
    b: Does b things well.
      1 file, 1 KiB, 28 tokens of instructions
      required by a
    c: Does c things well.
      1 file, 1 KiB, 23 tokens of instructions
      required by b
    --- stderr
    error: nothing was changed; 3 skills would be added
    hint: `--yes` does it without asking
    "#);
    let alone = sandbox.run(&["add", "../source", "-s", "a", "-s", "d", "--yes", "--no-requires"]);
    assert_eq!((alone.code, names(&sandbox)), (0, vec!["a".to_owned(), "d".to_owned()]), "{}", alone.stderr);
    assert!(alone.stderr.contains("warning: `a` requires `b`, which is not here\n"), "{}", alone.stderr);
    let check = sandbox.run(&["check"]);
    assert!(check.stdout.contains("the required skill `b` does not exist"), "{}", check.stdout);
    let added = sandbox.json(&["add", "../source", "-s", "a", "--yes", "--json"]);
    let by: Vec<String> =
        added["skills"].as_array().unwrap().iter().map(|it| it["required_by"].to_string()).collect();
    assert_eq!(by, ["null", "\"a\"", "\"b\""]);
    assert_eq!(names(&sandbox), ["a", "b", "c", "d"]);
    assert_eq!(sandbox.run(&["check"]).code, 0);
}

#[test]
fn a_required_skill_is_found_in_the_source_of_another_skill() {
    let (sandbox, repository) = (empty_project(), Repository::new());
    repository.write("skills/b/SKILL.md", skill("b", "# B\n"));
    repository.write("skills/other/SKILL.md", skill("other", "# Other\n"));
    repository.commit();
    sandbox.write("../source/a/SKILL.md", requiring("a", "b, nowhere"));
    let nowhere = sandbox.run(&["add", "../source", "-s", "a"]);
    let message = "warning: `a` requires `b`, which is not here, nor in a source that was searched";
    assert!(nowhere.stderr.contains(message), "{}", nowhere.stderr);
    assert_eq!(sandbox.run(&["add", &repository.url(), "-s", "other", "--yes"]).code, 0);
    let added = sandbox.run(&["add", "../source", "-s", "a", "--yes"]);
    assert_eq!((added.code, names(&sandbox).join(" ")), (0, "a b other".to_owned()), "{}", added.stderr);
    assert!(added.stderr.contains("`a` requires `nowhere`, which is not here"), "{}", added.stderr);
    let lock = sandbox.read("repertoire.lock");
    assert_eq!(lock.matches(&repository.url()).count(), 2, "{lock}");
    assert_eq!(sandbox.run(&["sync", "--frozen"]).code, 0);
    // What is here already is not added again.
    sandbox.write("../source/e/SKILL.md", requiring("e", "b"));
    let here = sandbox.run(&["add", "../source", "-s", "e", "--yes"]);
    assert_eq!((here.code, here.stdout.contains("required by")), (0, false), "{}", here.stdout);
}
