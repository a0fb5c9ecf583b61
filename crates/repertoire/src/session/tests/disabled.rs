//! Tests of skills that the policy disables.

use super::*;
use crate::session::ScopeOptions;

const BROKEN: &str = "---\nname: [\n---\n";

fn without(library: &SkillDirectory, patterns: &[&str]) -> Library {
    let patterns = patterns.iter().map(|pattern| Pattern::new(pattern).unwrap());
    block_on(library.builder().disabled(patterns).open()).unwrap()
}

#[test]
fn disabled_skills_do_not_exist_for_a_model() {
    let library = SkillDirectory::new(&["alpha", "secret-plan"]);
    library.skill("user", "requires: [secret-plan]\n", "# User\n");
    library.write("secret-ruin/SKILL.md", BROKEN);
    let opened = without(&library, &["secret-*"]);
    for options in [DenyStyle::NotFound, DenyStyle::NotPermitted] {
        let options = SessionOptions {
            scope: ScopeOptions { deny_style: options, ..ScopeOptions::default() },
            ..SessionOptions::default()
        };
        let builder = library.builder().disabled([Pattern::new("secret-*").unwrap()]);
        let session = block_on(block_on(builder.session_options(options).open()).unwrap().session()).unwrap();
        let tools: Vec<String> = session.tools().iter().map(|it| it.input_schema.to_string()).collect();
        assert!(!format!("{}{tools:?}", session.catalog().text).contains("secret"));
        for (tool, key) in [
            ("load_skill", "name"),
            ("unload_skill", "name"),
            ("read_skill_file", "skill"),
            ("list_skill_files", "skill"),
        ] {
            let ask = |name: &str| {
                let mut arguments = json!({key: name});
                if tool == "read_skill_file" {
                    arguments["path"] = json!("SKILL.md");
                }
                block_on(session.call(tool, &arguments)).text().replace(name, "X")
            };
            let unknown = ask("zecret-plan");
            for name in ["secret-plan", "test:secret-plan", "Secret Plan", "secret-ruin"] {
                assert_eq!(ask(name), unknown, "{tool} {name}");
            }
        }
        for query in [json!({}), json!({"query": "plan things"})] {
            assert!(!block_on(session.call("list_skills", &query)).text().contains("secret"), "{query}");
        }
        assert!(load(&session, "user").contains("requires `secret-plan`, which is not available."));
        assert!(!session.catalog().text.contains("secret"));
    }
    let outcomes: Vec<Outcome> = library.sink.events().iter().map(|event| event.outcome).collect();
    assert!(!outcomes.contains(&Outcome::Denied), "{outcomes:?}");
    assert_eq!(opened.snapshot().notices(|_| true), Vec::<String>::new());
}

#[test]
fn disabled_skills_are_told_apart_for_people() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    library.write("gamma/SKILL.md", BROKEN);
    library.skill("delta", "requires: [beta]\n", "# Delta\n");
    let snapshot = without(&library, &["beta", "gamma"]).snapshot();
    for (asked, is_broken) in [("beta", false), ("test:beta", false), ("Beta", false), ("gamma", true)] {
        let Lookup::Disabled(entry) = snapshot.find(asked) else { panic!("{asked}") };
        assert_eq!(entry.is_broken(), is_broken, "{asked}");
    }
    let Lookup::Unknown(near) = snapshot.find("betta") else { panic!() };
    assert!(near.iter().all(|name| name.as_str() != "beta"), "{near:?}");
}

#[test]
fn an_agent_that_uses_a_disabled_skill_does_not_load() {
    let library = SkillDirectory::new(&["alpha"]);
    let check = |agent: Agent| {
        let builder = library.builder().disabled([Pattern::new("alpha").unwrap()]);
        let opened = block_on(builder.agent(agent).open()).unwrap();
        let error = block_on(opened.open_session(&SessionRequest::of("clerk"))).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidAgent);
        assert!(error.chain().ends_with("the skill `alpha` is disabled"), "{}", error.chain());
    };
    check(Agent { uses_skills: vec!["alpha".to_owned()], ..Agent::new("clerk") });
    check(Agent { bind: [("alpha".to_owned(), Bind::Hint)].into(), ..Agent::new("clerk") });
}

#[test]
fn a_disabled_skill_is_no_reason_to_refuse_the_library() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("gamma/SKILL.md", BROKEN);
    let open = |patterns: &[&str]| {
        let patterns = patterns.iter().map(|pattern| Pattern::new(pattern).unwrap());
        block_on(library.builder().disabled(patterns).policy(Policy::of(Profile::Strict)).open())
    };
    assert_eq!(open(&[]).err().unwrap().kind(), ErrorKind::Refused);
    assert!(open(&["gamma"]).is_ok());
}
