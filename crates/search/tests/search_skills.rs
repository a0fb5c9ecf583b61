//! Searching, and lists that are searched.

use std::fs;

use pollster::block_on;
use repertoire::event::Outcome;
use repertoire::model::{Pattern, Policy};
use repertoire::{Agent, Reply, Session, SessionOptions, SessionRequest};
use repertoire_search::{SearchOptions, SkillSearch};
use serde_json::{Value, json};

use crate::skill_directory::SkillDirectory;

fn office() -> SkillDirectory {
    let library = SkillDirectory::new();
    let skill = |name: &str, description: &str, fields: &str, body: &str| {
        let text = format!("---\nname: {name}\ndescription: {description}\n{fields}---\n{body}");
        library.write(&format!("{name}/SKILL.md"), &text);
    };
    let forms = "# PDF\n\nAbout files.\n\n## Fill forms\nPut a value into every form field.\n";
    skill("pdf-forms", "Fills PDF forms.", "tags: [office]\n", forms);
    skill("pdf-merge", "Merges several PDF files into one.", "tags: [office]\n", "# Merge\n\nJoin pages.\n");
    skill("deploy", "Deploys services to Kubernetes.", "", "# Deploy\n\nRoll out the cluster.\n");
    skill("翻译文档", "翻译文件。", "", "# 翻译\n");
    library
}

fn names(reply: &Reply, session: &Session) -> Vec<String> {
    let data = session.data(reply);
    let results = data["results"].as_array().unwrap();
    results.iter().map(|result| result["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn search_results_have_reasons_and_sections() {
    let library = office();
    let session = library.session();
    block_on(session.call("load_skill", &json!({"name": "pdf-merge"})));
    let reply = block_on(session.call("search_skills", &json!({"query": "fill in a pdf form", "limit": 2})));
    assert!(!reply.is_error(), "{}", reply.text());
    let data = session.data(&reply);
    assert_eq!(data["kind"], "results");
    assert_eq!(names(&reply, &session), ["pdf-forms", "pdf-merge"]);
    let (first, second) = (&data["results"][0], &data["results"][1]);
    assert_eq!((&first["section"], &first["lines"]), (&json!("Fill forms"), &json!([10, 11])));
    assert!(first["tokens"].as_u64().unwrap() > 0 && first["score"].as_f64() > second["score"].as_f64());
    assert_eq!((&first["loaded"], &second["loaded"]), (&json!(false), &json!(true)));
    assert!(first["path"].as_str().unwrap().ends_with("/pdf-forms"), "{first}");
    assert!(first["why"].as_str().unwrap().contains("name: "), "{first}");
    let text = reply.text();
    assert!(text.contains("`load_skill` with {\"name\":\"pdf-forms\"}") && text.contains("10-11"), "{text}");
    assert!(!text.contains(library.directory.path().to_str().unwrap()), "places are not told: {text}");
    let mut options = SessionOptions::default();
    options.loading.show_location = true;
    let shown = block_on(library.session_with(options).call("search_skills", &json!({"query": "pdf"})));
    assert!(shown.text().contains(library.directory.path().to_str().unwrap()), "{}", shown.text());
    let event = library.sink.events().remove(1);
    assert_eq!((event.kind.as_str(), event.outcome), ("skills_searched", Outcome::Ok));
    assert_eq!((event.query.as_deref(), event.results), (Some("fill in a pdf form"), Some(2)));
}

#[test]
fn p1_globs_of_files_count() {
    let library = office();
    library.skill("loaders", "paths: [\"plugins/**\", \"src/plugin_*.py\"]\n", "# Load\n");
    let session = library.session();
    let reply = block_on(session.call("search_skills", &json!({"query": "change src/plugin_a.py"})));
    assert_eq!(names(&reply, &session).first().map(String::as_str), Some("loaders"), "{}", reply.text());
}

#[test]
fn filters_and_bounds_hold() {
    let library = office();
    for number in 0..30 {
        library.skill(&format!("pdf-{number}"), "", "# PDF\n");
    }
    let session = library.session();
    let found = |arguments: Value| {
        let reply = block_on(session.call("search_skills", &arguments));
        assert!(!reply.is_error(), "{arguments} {}", reply.text());
        names(&reply, &session)
    };
    assert_eq!(found(json!({"query": "pdf"})).len(), 5);
    assert_eq!(found(json!({"query": "pdf", "limit": 7})).len(), 7);
    assert_eq!(found(json!({"query": "pdf", "limit": 7.0})).len(), 7);
    assert_eq!(found(json!({"query": "pdf", "limit": 5_000})).len(), 20);
    let tagged = found(json!({"query": "pdf", "tag": "Office", "limit": 20}));
    assert!(tagged.len() == 2 && tagged.iter().all(|name| name.starts_with("pdf-")), "{tagged:?}");
    assert_eq!(found(json!({"query": "pdf", "tag": "nope"})).len(), 5, "a tag that no skill has is ignored");
    for arguments in [
        json!({}),
        json!({"query": 5}),
        json!({"query": "pdf", "limit": 0}),
        json!({"query": "pdf", "limit": "many"}),
        json!({"query": "pdf", "tag": []}),
        json!({"query": "pdf", "source": "x"}),
    ] {
        assert!(block_on(session.call("search_skills", &arguments)).is_error(), "{arguments}");
    }
}

#[test]
fn no_query_is_an_error() {
    let library = office();
    let session = library.session();
    let long = (0..10_000).map(|number| format!("word{number} ")).collect::<String>() + "kubernetes";
    let endless = "x".repeat(1 << 20);
    for query in ["", "   ", "🙂🎉", "\u{0}", "\u{202e}", &long, &endless] {
        for tool in ["search_skills", "list_skills"] {
            let reply = block_on(session.call(tool, &json!({"query": query})));
            assert!(!reply.is_error() && reply.text().len() < 10_000, "{tool}: {}", reply.text());
        }
    }
    for query in ["", "🙂"] {
        let reply = block_on(session.call("search_skills", &json!({"query": query})));
        assert!(names(&reply, &session).is_empty(), "{}", reply.text());
        assert!(reply.text().starts_with("No skill was found"), "{}", reply.text());
    }
    let first = |query: &str| {
        let reply = block_on(session.call("search_skills", &json!({"query": query})));
        names(&reply, &session).into_iter().next()
    };
    for query in [
        "kubernetes",
        "\"kubernetes\" OR NEAR(*",
        "kubernetes*",
        "'; DROP TABLE skills; -- kubernetes",
        "-kubernetes",
    ] {
        assert_eq!(first(query).as_deref(), Some("deploy"), "{query}");
    }
    assert_eq!(first("翻译").as_deref(), Some("翻译文档"));
}

#[test]
fn search_does_not_return_skills_outside_the_scope() {
    let library = office();
    let deny = vec![Pattern::new("pdf-forms").unwrap()];
    let mut agent = Agent::new("clerk");
    agent.scope.deny = deny;
    let opened = block_on(library.builder().agent(agent).open()).unwrap();
    let everybody = block_on(opened.session()).unwrap();
    let query = json!({"query": "fill pdf forms", "limit": 20});
    let all = block_on(everybody.call("search_skills", &query));
    assert!(names(&all, &everybody).contains(&"pdf-forms".to_owned()));
    let clerk = block_on(opened.open_session(&SessionRequest::of("clerk"))).unwrap();
    for session in [&clerk, &block_on(clerk.subagent()).unwrap()] {
        for tool in ["search_skills", "list_skills"] {
            let reply = block_on(session.call(tool, &json!({"query": "fill pdf forms"})));
            assert!(!reply.text().contains("pdf-forms"), "{}", reply.text());
        }
    }
}

#[test]
fn list_skills_returns_literal_matches_before_related_skills() {
    let library = office();
    let session = library.session();
    let listed = |query: &str| {
        let reply = block_on(session.call("list_skills", &json!({"query": query})));
        let data = session.data(&reply);
        let skills = data["skills"].as_array().unwrap().iter();
        skills.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("PDF"), ["pdf-forms", "pdf-merge"], "a filter, by name");
    assert_eq!(listed("pdf files"), ["pdf-merge", "pdf-forms"], "one holds it, the other is about it");
    assert_eq!(listed("rolling out clusters"), ["deploy"], "only the instructions say so");
    assert_eq!(listed("merges"), ["pdf-merge"]);
    assert!(listed("xyzzy").is_empty());
}

#[test]
fn a_shortened_catalog_points_at_the_search() {
    let library = office();
    let mut options = SessionOptions::default();
    options.tools.names.search = "find_skills".to_owned();
    options.catalog.budget_tokens = Some(60);
    let session = library.session_with(options);
    let text = session.catalog().text;
    assert!(text.contains("`find_skills`"), "{text}");
    assert!(session.tools().iter().any(|tool| tool.name == "find_skills"));
    assert!(!block_on(session.call("find_skills", &json!({"query": "pdf"}))).is_error());
}

#[test]
fn the_index_is_kept_beside_others() {
    let library = office();
    let cache = tempfile::tempdir().unwrap();
    let policy = Policy::default();
    let file =
        |label: &str| SearchOptions::file_in(cache.path(), &policy, [(label, library.directory.path())]);
    assert_ne!(file("a"), file("b"));
    let mut options = SearchOptions::default();
    options.file = Some(file("a"));
    let searcher = SkillSearch::new(options);
    let opened = block_on(library.builder().searcher(searcher.clone()).open()).unwrap();
    assert_eq!(searcher.stored_skills(), None);
    let session = block_on(opened.session()).unwrap();
    block_on(session.call("search_skills", &json!({"query": "pdf"})));
    pollster::block_on(opened.save());
    assert_eq!((searcher.index_file(), searcher.stored_skills()), (Some(file("a").as_path()), Some(4)));
    // Of indices without end only the last ones stay.
    for number in 0..20 {
        fs::write(cache.path().join(format!("{number}.index")), "").unwrap();
    }
    library.skill("new", "", "# New\n");
    block_on(opened.reload());
    block_on(session.call("search_skills", &json!({"query": "new"})));
    pollster::block_on(opened.save());
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 16);
    assert_eq!(searcher.stored_skills(), Some(5));
}
