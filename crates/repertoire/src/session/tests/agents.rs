//! Tests of the visibility of skills for agents.

use super::*;
use pollster::block_on;

#[test]
fn hidden_skills_are_indistinguishable_from_missing_ones() {
    let library = SkillDirectory::new(&["alpha", "secret-plan"]);
    let agent = Agent {
        scope: Scope { deny: vec![Pattern::new("secret*").unwrap()], ..Scope::default() },
        ..Agent::new("clerk")
    };
    let opened = block_on(library.builder().agent(agent).open()).unwrap();
    let session = block_on(opened.open_session(&SessionRequest::of("clerk"))).unwrap();
    assert!(!session.catalog().text.contains("secret"));
    for tool in &*session.tools() {
        assert!(!tool.input_schema.to_string().contains("secret"), "{}", tool.name);
    }
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
        assert_eq!(ask("secret-plan"), ask("zecret-plan"), "{tool}");
    }
    assert!(!block_on(session.call("list_skills", &json!({}))).text().contains("secret"));
    assert!(!block_on(session.call("secret-plan", &json!({}))).text().contains("is a skill"));
    let outcomes: Vec<Outcome> = library.sink.events().iter().map(|event| event.outcome).collect();
    assert_eq!(outcomes[0], Outcome::Denied, "the journal knows better");
    assert_eq!(
        block_on(opened.open_session(&SessionRequest::of("nobody"))).err().unwrap().kind(),
        ErrorKind::AgentNotFound
    );
}

#[test]
fn hostile_names_find_nothing_in_any_tool() {
    let library = SkillDirectory::new(&["alpha"]);
    let session = library.session();
    let long = "x".repeat(10_000);
    for name in
        ["../alpha", "/etc/passwd", "alpha/../alpha", "a\0b", "", ".", "..", "%2e%2e", "\u{202e}ahpla", &long]
    {
        for (tool, key) in [
            ("load_skill", "name"),
            ("unload_skill", "name"),
            ("read_skill_file", "skill"),
            ("list_skill_files", "skill"),
        ] {
            let mut arguments = json!({key: name});
            if tool == "read_skill_file" {
                arguments["path"] = json!("SKILL.md");
            }
            let reply = block_on(session.call(tool, &arguments));
            assert!(reply.is_error(), "{tool} {name:?}");
            assert!(reply.text().len() < 1_000, "{tool} {name:?}: {}", reply.text());
        }
    }
}

#[test]
fn x83_x99_a_subagent_without_a_definition_inherits_nothing_unless_told_to() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let agent = Agent { uses_skills: vec!["alpha".to_owned()], ..Agent::new("parent") };
    let opened = block_on(library.builder().agent(agent).open()).unwrap();
    for parent in [
        block_on(opened.session()).unwrap(),
        block_on(opened.open_session(&SessionRequest::of("parent"))).unwrap(),
    ] {
        load(&parent, "beta");
        let child = block_on(parent.subagent()).unwrap();
        assert_eq!((&*child.catalog().text, child.tools().len()), ("", 0));
        assert_eq!(block_on(child.prompt()).unwrap(), "");
        assert!(block_on(child.call("load_skill", &json!({"name": "beta"}))).is_error());
        assert_eq!(block_on(child.reattach(10_000)).text, "");
        let told = SubagentOptions { inherit: Some(Inherit::Active), ..SubagentOptions::default() };
        let child = block_on(parent.subagent_with(&told)).unwrap();
        assert!(child.catalog().text.contains("alpha") && child.catalog().text.contains("beta"));
        assert!(block_on(child.reattach(10_000)).text.contains("Do beta."));
    }
}

#[test]
fn x104_a_session_can_be_opened_with_fewer_skills() {
    let library = SkillDirectory::new(&["alpha", "beta", "gamma"]);
    let deny = vec![Pattern::new("gamma").unwrap()];
    let agent = Agent { scope: Scope { deny, ..Scope::default() }, ..Agent::new("clerk") };
    let opened = block_on(library.builder().agent(agent).open()).unwrap();
    let only = |names: &[&str]| Scope {
        allow: Some(names.iter().map(|name| Pattern::new(name).unwrap()).collect()),
        ..Scope::default()
    };
    let check = |session: &Session, expect: &[&str]| {
        for name in ["alpha", "beta", "gamma"] {
            let is_offered = expect.contains(&name);
            assert_eq!(session.catalog().text.contains(name), is_offered, "{name}");
            let loaded = block_on(session.call("load_skill", &json!({"name": name})));
            assert_eq!(loaded.is_error(), !is_offered, "{name}");
        }
    };
    check(
        &block_on(opened.open_session(&SessionRequest::default().within(only(&["a*", "gamma"])))).unwrap(),
        &["alpha", "gamma"],
    );
    let clerk =
        block_on(opened.open_session(&SessionRequest::of("clerk").within(only(&["a*", "gamma"])))).unwrap();
    check(&clerk, &["alpha"]);
    check(&block_on(clerk.subagent_with(&SubagentOptions::of("clerk"))).unwrap(), &["alpha"]);
    let everybody = block_on(opened.session()).unwrap();
    let mut options = SubagentOptions { scope: only(&["beta"]), ..SubagentOptions::default() };
    options.inherit = Some(Inherit::Catalog);
    check(&block_on(everybody.subagent_with(&options)).unwrap(), &["beta"]);
    check(&everybody, &["alpha", "beta", "gamma"]);
}

#[test]
fn subagents_inherit_by_policy() {
    let library = SkillDirectory::new(&["alpha", "beta", "gamma"]);
    let parent = |inherit| Agent {
        scope: Scope { deny: vec![Pattern::new("gamma").unwrap()], ..Scope::default() },
        inherit,
        ..Agent::new("parent")
    };
    let sees_gamma = |session: &Session| {
        let reply = block_on(session.call("load_skill", &json!({"name": "gamma", "force": true})));
        assert_eq!(session.catalog().text.contains("gamma"), !reply.is_error());
        !reply.is_error()
    };
    for inherit in Inherit::ALL {
        let builder = library.builder().agent(parent(inherit)).agent(Agent::new("child"));
        let opened = block_on(builder.open()).unwrap();
        let session = block_on(opened.open_session(&SessionRequest::of("parent"))).unwrap();
        load(&session, "alpha");
        let child = block_on(session.subagent_with(&SubagentOptions::of("child"))).unwrap();
        assert_eq!(sees_gamma(&child), inherit == Inherit::None);
        assert!(
            !child.context().loaded().iter().any(|name| name.as_str() == "alpha"),
            "it is not in its context yet"
        );
        let back = block_on(child.reattach(10_000));
        assert_eq!(back.text.contains("Do alpha."), inherit == Inherit::Active);
        assert_eq!(is_body(&load(&child, "alpha")), inherit != Inherit::Active);
        // An agent started without a name is of the same kind or sees nothing, and limits are passed on.
        assert!(!sees_gamma(&block_on(session.subagent()).unwrap()));
        let grandchild =
            block_on(block_on(child.subagent()).unwrap().subagent_with(&SubagentOptions::of("child")))
                .unwrap();
        assert_eq!(sees_gamma(&grandchild), inherit == Inherit::None);
    }
}
