//! Tests of `rep search`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, assert_run, http_request};

fn library() -> Sandbox {
    let sandbox = Sandbox::new();
    let write = |name: &str, description: &str, fields: &str, body: &str| {
        let text = format!("---\nname: {name}\ndescription: {description}\n{fields}---\n{body}");
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), text);
    };
    let forms = "# PDF\n\nAbout files.\n\n## Fill forms\nPut a value into every form field.\n";
    write("pdf-forms", "Fills PDF forms. Use when a form is to be filled in.", "tags: [office]\n", forms);
    write("deploy", "Deploys services to Kubernetes. Use for rollouts.", "", "# Deploy\n\nRoll it out.\n");
    write("notes", "\"Takes\\e[31m notes. Use in meetings.\"", "", "# Notes \u{1b}[31m\n\nWrite minutes.\n");
    write("fanyi", "翻译文件。", "", "# 翻译\n\n翻译文档。\n");
    sandbox
}

fn names(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|result| result["name"].as_str().unwrap()).collect()
}

#[test]
fn search_shows_reasons_and_sections() {
    let sandbox = library();
    let run = sandbox.run(&["search", "fill", "in", "a", "form", "-n", "1"]);
    // Scores change with the weights.
    let score = run.stdout.split(' ').next().unwrap();
    assert!(score.len() == 5 && score.parse::<f32>().is_ok(), "{score}");
    insta::assert_snapshot!(run.transcript().replace(score, "[SCORE]"), @r"
    exit 0
    --- stdout
    [SCORE]  pdf-forms  Fills PDF forms. Use when a form is to be filled in.
           path     .agents/skills/pdf-forms
           why      name: form; description: fill
           section  Fill forms, lines 10-11 of SKILL.md, ~12 tokens
    --- stderr
    ");
    let answer = sandbox.json(&["search", "fill in a form", "-n", "1", "--json"]);
    assert_eq!(answer["query"], "fill in a form");
    assert_eq!(names(&answer), ["pdf-forms"]);
    let result = &answer["results"][0];
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["name", "source", "path", "description", "score", "confidence", "why", "section"],
        "in this order"
    );
    assert_eq!(result["source"], "project:.agents/skills");
    assert_eq!(
        (&result["section"]["title"], &result["section"]["lines"]),
        (&json!("Fill forms"), &json!([10, 11]))
    );
    let form = result["why"].as_array().unwrap().iter().find(|reason| reason["word"] == "form").unwrap();
    assert!(form["fields"].as_array().unwrap().contains(&json!("name")), "{form}");
}

#[test]
fn filters_and_agents_narrow_the_search() {
    let sandbox = library();
    sandbox.write(
        "../home/.claude/skills/pdf-merge/SKILL.md",
        "---\nname: pdf-merge\ndescription: Merges PDF files.\n---\n",
    );
    sandbox.write("repertoire.toml", "[agents.clerk.skills]\ndeny = [\"pdf-forms\"]\n");
    let found = |arguments: &[&str]| {
        let answer = sandbox.json(&[&["search", "pdf", "--json"], arguments].concat());
        names(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = found(&[]);
    assert!(all.contains(&"pdf-forms".to_owned()) && all.contains(&"pdf-merge".to_owned()), "{all:?}");
    assert_eq!(found(&["--tag", "OFFICE"]), ["pdf-forms"]);
    assert_eq!(found(&["--tag", "none"]), [""; 0]);
    assert_eq!(found(&["--source", "user:.claude/skills"]), ["pdf-merge"]);
    assert!(!found(&["--agent", "clerk"]).contains(&"pdf-forms".to_owned()));
    assert_eq!(sandbox.run(&["search", "pdf", "--source", "nowhere"]).code, 1);
    assert_eq!(sandbox.run(&["search", "pdf", "--agent", "nobody"]).code, 2);
    for limit in ["0", "101", "x"] {
        assert_eq!(sandbox.run(&["search", "pdf", "-n", limit]).code, 2, "{limit}");
    }
    assert_eq!(sandbox.run(&["search"]).code, 2);
}

#[test]
fn no_query_is_an_error() {
    let sandbox = library();
    let long: String = (0..10_000).map(|number| format!("word{number} ")).collect();
    for query in ["", "  ", "🙂", "🙂🎉"] {
        assert!(names(&sandbox.json(&["search", query, "--json"])).is_empty(), "{query}");
    }
    // Of ten thousand words, those count that a skill has.
    assert!(names(&sandbox.json(&["search", &long, "--json"])).is_empty());
    let with_words = format!("deploy services to kubernetes {long}");
    assert_eq!(names(&sandbox.json(&["search", &with_words, "--json"]))[0], "deploy");
    let run = sandbox.run(&["search", "🙂"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(run.stderr.starts_with("no skill was found\n"), "{}", run.stderr);
    for query in
        ["kubernetes", "\"kubernetes\" OR NOT (*", "kubernetes*", "'; DROP TABLE skills; -- kubernetes"]
    {
        assert_eq!(names(&sandbox.json(&["search", query, "--json"]))[0], "deploy", "{query}");
    }
    assert_eq!(names(&sandbox.json(&["search", "--json", "--", "-kubernetes"]))[0], "deploy");
    assert_eq!(names(&sandbox.json(&["search", "翻译", "--json"]))[0], "fanyi");
    let run = sandbox.run(&["search", "take", "notes"]);
    assert!(run.stdout.contains("notes") && !run.stdout.contains('\u{1b}'), "{}", run.stdout);
}

fn from_input(sandbox: &Sandbox, input: &[u8]) -> Run {
    let mut child = sandbox
        .command(&["search", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    Run { code: output.status.code().unwrap(), stdout, stderr: String::new(), bytes: output.stdout }
}

#[test]
fn the_query_comes_from_standard_input_too() {
    let sandbox = library();
    let run = from_input(&sandbox, b"deploy to\nkubernetes\xff\n");
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, names(&answer)[0]), (0, "deploy"));
    assert_eq!(answer["query"], "deploy to\nkubernetes\u{fffd}");
    let run = from_input(&sandbox, b"");
    assert_eq!((run.code, names(&serde_json::from_str(&run.stdout).unwrap()).len()), (0, 0));
}

#[test]
fn an_unknown_tag_is_reported() {
    let sandbox = library();
    assert_run!(sandbox.run(&["search", "form", "--tag", "nosuch"]), @r"
    exit 0
    --- stdout
    --- stderr
    no skill was found
    hint: no skill has the tag `nosuch`
    ");
    let run = sandbox.run(&["search", "zzz", "--tag", "office"]);
    assert!(run.stderr.contains("say it in other words"), "{}", run.stderr);
    for tag in ["", " ", " Office "] {
        assert_eq!(
            names(&sandbox.json(&["search", "form", "--tag", tag, "--json"])),
            ["pdf-forms"],
            "{tag:?}"
        );
    }
    assert_eq!(names(&sandbox.json(&["search", "kubernetes", "--tag", "", "--json"])), ["deploy"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_place_of_the_index_is_not_waited_for() {
    // Opening it once blocked until there was a writer.
    let sandbox = library();
    sandbox.run(&["search", "form"]);
    let cache = sandbox.home().join(".cache/repertoire");
    let index = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
    let index = index.into_iter().find(|path| path.extension().is_some_and(|it| it == "index")).unwrap();
    fs::remove_file(&index).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &index, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(names(&sandbox.json(&["search", "form", "--json"])), ["pdf-forms"]);
    assert!(index.metadata().unwrap().is_file(), "it is replaced");
}

#[test]
fn the_index_is_kept_and_follows_the_library() {
    let sandbox = library();
    let indices = || {
        let files = fs::read_dir(sandbox.home().join(".cache/repertoire")).into_iter().flatten().flatten();
        files.filter(|file| file.file_name().to_string_lossy().ends_with(".index")).count()
    };
    let row = || {
        let run = sandbox.run(&["doctor", "--verbose"]);
        run.stdout.lines().find(|line| line.contains(" index ")).unwrap_or_default().to_owned()
    };
    assert!(row().contains("not built yet"), "{}", row());
    sandbox.run(&["search", "pdf", "--no-cache"]);
    assert_eq!(indices(), 0);
    sandbox.run(&["search", "pdf"]);
    assert_eq!(indices(), 1);
    assert!(row().contains(": 4 skills, "), "{}", row());
    sandbox.write(".agents/skills/new/SKILL.md", "---\nname: new\ndescription: Brews coffee.\n---\n");
    assert_eq!(names(&sandbox.json(&["search", "brew coffee", "--json"]))[0], "new");
    assert!(row().contains(": 5 skills, "), "{}", row());
    // Sessions and servers share it.
    sandbox.run(&["call", "search_skills", r#"{"query": "pdf"}"#]);
    assert_eq!(indices(), 1);
    let words = sandbox.json(&["search", "fill a form", "--json"]);
    let mut off = library();
    off.set("REPERTOIRE_SEARCH_EMBEDDINGS", "off");
    assert_eq!(names(&off.json(&["search", "fill a form", "--json"]))[0], names(&words)[0]);
    off.set("REPERTOIRE_SEARCH_EMBEDDINGS", "nonsense");
    assert_eq!(off.run(&["search", "pdf"]).code, 2);
}

#[test]
fn sessions_answer_with_data() {
    let sandbox = library();
    let answer =
        sandbox.json(&["--json", "call", "search_skills", r#"{"query":"fill in a form","limit":1}"#]);
    let result = &answer["data"]["results"][0];
    assert_eq!((&result["name"], &result["lines"]), (&json!("pdf-forms"), &json!([10, 11])));
    assert!(result["path"].as_str().unwrap().ends_with("/.agents/skills/pdf-forms"), "{result}");
    let (mut bad, queries) = (Vec::new(), ["", "🙂", "a\" OR b*", "翻译"]);
    for query in queries {
        let run = sandbox.run(&["call", "search_skills", &json!({ "query": query }).to_string()]);
        bad.extend((run.code != 0).then_some(run.stdout));
    }
    assert!(bad.is_empty(), "{bad:?}");
}

/// Returns a library with several results for `fill pdf forms`, and their order.
fn forms() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    for name in ["pdf-forms", "pdf-orders", "pdf-taxes"] {
        let text = format!("---\nname: {name}\ndescription: Fills PDF forms.\n---\n# Steps\n\nFill it.\n");
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), text);
    }
    let answer = sandbox.json(&["search", "fill pdf forms", "--json"]);
    let order: Vec<String> = names(&answer).into_iter().map(str::to_owned).collect();
    assert_eq!(order.len(), 3, "{answer}");
    (sandbox, order)
}

fn configure_reranker(sandbox: &Sandbox, reranker: &str) {
    let config = format!("search.rerank = {reranker:?}\n");
    sandbox.write("../home/.config/repertoire/config.toml", config);
}

#[cfg(unix)]
#[test]
fn a_command_puts_the_best_results_in_order() {
    let (sandbox, order) = forms();
    let answer =
        r#"{"results": [{"index": 0, "relevance_score": -1}, {"index": 2, "relevance_score": 0.5}]}"#;
    sandbox.write("rank.sh", format!("cat > \"$1\"\necho '{answer}'\n"));
    configure_reranker(&sandbox, "sh rank.sh asked.json");
    let expected = [&*order[2], &*order[0], &*order[1]];
    let reranked = sandbox.json(&["search", "fill pdf forms", "--json"]);
    assert_eq!(names(&reranked), expected);
    let asked: Value = serde_json::from_str(&sandbox.read("asked.json")).unwrap();
    assert_eq!((&asked["query"], &asked["top_n"]), (&json!("fill pdf forms"), &json!(3)));
    let document = format!("{}\nFills PDF forms.\n# Steps\n\nFill it.\n", order[0]);
    assert_eq!((asked["documents"].as_array().unwrap().len(), &asked["documents"][0]), (3, &json!(document)));
    let best = sandbox.json(&["search", "fill pdf forms", "-n", "1", "--json"]);
    assert_eq!(names(&best), &expected[..1], "all results are ranked, whatever the limit");
    let arguments = json!({"query": "fill pdf forms"}).to_string();
    let called = sandbox.run(&["call", "search_skills", &arguments]);
    let places = expected.map(|name| called.stdout.find(name).unwrap());
    assert!(places.is_sorted(), "{}", called.transcript());
}

#[test]
fn a_server_puts_the_best_results_in_order() {
    let (sandbox, order) = forms();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    configure_reranker(&sandbox, &format!("http://{}/v1/rerank", listener.local_addr().unwrap()));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = http_request(&mut stream);
        let answer = r#"{"object": "list", "results": [{"index": 1, "relevance_score": 0.9}]}"#;
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
        stream.write_all((head + answer).as_bytes()).unwrap();
        request
    });
    let reranked = sandbox.json(&["search", "fill pdf forms", "--json"]);
    assert_eq!(names(&reranked), [&*order[1], &*order[0], &*order[2]]);
    let (head, body) = server.join().unwrap();
    assert!(head.starts_with("post /v1/rerank ") && !head.contains("authorization"), "{head}");
    let asked: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(asked["documents"].as_array().unwrap().len(), 3, "{asked}");
}

#[cfg(unix)]
#[test]
fn results_keep_their_order_if_reranking_fails() {
    let (sandbox, order) = forms();
    sandbox.write("fail.sh", "exit 3\n");
    sandbox.write("prose.sh", "echo sorted\n");
    for (reranker, message) in [
        ("sh fail.sh", "sh: exit status: 3"),
        ("sh prose.sh", "the answer is not understood: expected value at line 1 column 1"),
        ("./no-such-program", "./no-such-program: No such file or directory (os error 2)"),
        ("http://127.0.0.1:1/rerank", "http://127.0.0.1:1/rerank: "),
    ] {
        configure_reranker(&sandbox, reranker);
        let run = sandbox.run(&["search", "fill pdf forms", "--json"]);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, names(&answer)), (0, order.iter().map(String::as_str).collect()));
        let warning = "warning: results keep their order, because `search.rerank` failed: ";
        let warning = format!("{warning}{message}");
        assert!(run.stderr.starts_with(&warning) && run.stderr.lines().count() == 1, "{}", run.stderr);
    }
}
