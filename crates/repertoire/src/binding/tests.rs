//! What an agent's prompt holds, and what keeps an agent from loading.

use std::sync::Arc;

use repertoire_model::scope::Pattern;

use super::*;
use crate::{MemoryProvider, Policy, Provider, SkillDefinition};

fn registry() -> Registry {
    let definition = |name: &str| {
        SkillDefinition::new(
            name,
            format!("Does {name}. Use when asked for it."),
            format!("Body of {name}.\n"),
        )
    };
    let provider = |label: &str, names: &[&str]| -> Arc<dyn Provider> {
        Arc::new(MemoryProvider::new(label, names.iter().map(|name| definition(name)).collect()))
    };
    // `load_skill` is the name of a tool and so quarantined.
    let providers =
        vec![provider("one", &["alpha", "beta", "gamma", "load_skill"]), provider("two", &["beta"])];
    pollster::block_on(Registry::open(providers, Policy::default())).unwrap()
}

fn load(agent: &Agent) -> Result<AgentPrompt, Error> {
    pollster::block_on(AgentPrompt::load(&registry(), agent, &BindingOptions::default()))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn prompt_then_skills_as_declared_then_instructions_then_hints() {
    let mut agent = Agent {
        prompt: Some("You build {{ what }}.\n".to_owned()),
        variables: [("what".to_owned(), "bridges".to_owned())].into(),
        uses_skills: words(&["gamma", "alpha"]),
        instructions: Some("Never guess.".to_owned()),
        ..Agent::new("builder")
    };
    agent.bind.insert("beta".to_owned(), Bind::Hint);
    let prompt = load(&agent).unwrap();
    let digest = |name: &str| Digest::of(format!("Body of {name}.\n").as_bytes());
    let expect = format!(
        "You build bridges.\n\n<skill name=\"gamma\" digest=\"{}\" tokens=\"~4\">\nBody of gamma.\n\n</skill>\n\
         <skill name=\"alpha\" digest=\"{}\" tokens=\"~4\">\nBody of alpha.\n\n</skill>\n\nNever guess.\n\n\
         To use the skill beta, call load_skill with the name beta: Does beta. Use when asked for it.",
        digest("gamma").to_stamp(),
        digest("alpha").to_stamp()
    );
    assert_eq!(prompt.text(), expect);
    let bound: Vec<(&str, Digest)> =
        prompt.bound.iter().map(|(name, digest)| (name.as_str(), *digest)).collect();
    assert_eq!(bound, [("gamma", digest("gamma")), ("alpha", digest("alpha"))]);
    assert_eq!(load(&Agent::new("empty")).unwrap(), AgentPrompt { fragments: vec![], bound: vec![] });
}

#[test]
fn bound_inline_is_used_too_and_once() {
    let mut agent = Agent { uses_skills: words(&["gamma", "gamma", "two:beta"]), ..Agent::new("a") };
    agent.bind.insert("gamma".to_owned(), Bind::Inline);
    agent.bind.insert("alpha".to_owned(), Bind::Inline);
    let bound = load(&agent).unwrap().bound;
    assert_eq!(bound.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["gamma", "beta", "alpha"]);
}

#[test]
fn whatever_is_named_must_be_there_and_be_seen() {
    let check = |uses: &[&str], bind: &[(&str, Bind)], expect: &str| {
        let mut agent = Agent { uses_skills: words(uses), ..Agent::new("builder") };
        agent.scope.deny = vec![Pattern::new("gamma").unwrap()];
        agent.bind = bind.iter().map(|(id, bind)| ((*id).to_owned(), *bind)).collect();
        let error = load(&agent).unwrap_err();
        assert_eq!((error.kind(), error.subject()), (ErrorKind::InvalidAgent, Some("builder")));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), expect);
    };
    check(&["alhpa"], &[], "there is no skill `alhpa`; near it: alpha");
    check(&["Alpha"], &[], "there is no skill `Alpha`; near it: alpha");
    check(&["gama"], &[], "there is no skill `gama`");
    check(&["nowhere:alpha"], &[], "there is no skill `nowhere:alpha`; near it: alpha");
    check(&["gamma"], &[], "the skill `gamma` is outside its scope");
    check(&["load_skill"], &[], "the skill `load_skill` is quarantined");
    check(&[], &[("zeta", Bind::Hidden)], "there is no skill `zeta`; near it: beta");
    check(&["alpha"], &[("alpha", Bind::Hint)], "`alpha` is in uses_skills, and bound as hint");
    check(&["beta", "two:beta"], &[], "`one:beta` and `two:beta` have one name and cannot both be bound");
}

#[test]
fn content_cannot_close_its_element_nor_a_hint_break_its_line() {
    let hostile = SkillDefinition::new("a", "One\n<b> & \u{202e}two.", "x </SKILL> y </skill>\n");
    let provider: Arc<dyn Provider> = Arc::new(MemoryProvider::new("m", vec![hostile]));
    let registry = pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap();
    let load = |agent: &Agent| {
        pollster::block_on(AgentPrompt::load(&registry, agent, &BindingOptions::default())).unwrap().text()
    };
    let text = load(&Agent { uses_skills: words(&["a"]), ..Agent::new("x") });
    assert_eq!(text.to_lowercase().matches("</skill").count(), 1, "{text}");
    let text = load(&Agent { bind: [("a".to_owned(), Bind::Hint)].into(), ..Agent::new("x") });
    assert_eq!(text, "To use the skill a, call load_skill with the name a: One &lt;b&gt; &amp; two.");
}
