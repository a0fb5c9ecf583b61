//! The tools with which agents propose and review changes of skills.

#![allow(clippy::disallowed_methods, reason = "the tests read what was written")]

use super::events::row;
use super::*;

use crate::proposal::{ProposalMode, ProposalRules, Proposer};
use crate::store::{LazyStore, MemoryStore, Proposals, Store};
use crate::tool::OfferedTools;

const DIFF: &str = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1,2 +1,3 @@\n # alpha\n+\n+Be quick.\n";

fn session(library: &SkillDirectory, mode: ProposalMode, agent: Agent) -> (Session, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let rules = ProposalRules {
        mode,
        new_skills: Some(library.directory.path().to_owned()),
        ..ProposalRules::default()
    };
    let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
    let proposer = Arc::new(Proposer::new(lazy, rules));
    let name = agent.name.clone();
    let mut options = SessionOptions::default();
    options.tools.propose_tools = true;
    let builder = library.builder().agent(agent).proposer(proposer).session_options(options);
    let opened = block_on(builder.open()).unwrap();
    (block_on(opened.open_session(&SessionRequest::of(&name))).unwrap(), store)
}

fn names(session: &Session) -> Vec<String> {
    let tools = session.tools();
    tools.iter().map(|tool| tool.name.clone()).filter(|name| name.contains("propos")).collect()
}

#[test]
fn y66_an_agent_proposes_and_another_reviews() {
    let library = SkillDirectory::new(&["alpha"]);
    let before = std::fs::read_to_string(library.directory.path().join("alpha/SKILL.md")).unwrap();
    let first_line = before.lines().last().unwrap();
    let diff = DIFF.replace("# alpha", first_line);
    let (session, store) = session(&library, ProposalMode::Controlled, Agent::new("builder"));
    assert_eq!(names(&session), ["propose_skill", "propose_skill_update"]);
    let propose = |arguments: Value| block_on(session.call("propose_skill_update", &arguments));
    let arguments = json!({"skill_id": "alpha", "diff": diff, "justification": "slow", "evidence": "a log"});
    let reply = propose(arguments.clone());
    assert!(!reply.is_error() && reply.text().contains("Proposal 1"), "{}", reply.text());
    assert!(propose(arguments).text().contains("waits for review as proposal 1"));
    for (bad, expect) in [
        (json!({"skill_id": "alpha", "diff": diff}), "justification"),
        (json!({"skill_id": "nope", "diff": diff, "justification": "x"}), "nope"),
        (json!({"skill_id": "alpha", "diff": "x", "justification": "x"}), "no hunks"),
    ] {
        let reply = propose(bad);
        assert!(reply.is_error() && reply.text().contains(expect), "{}", reply.text());
    }
    let rows: Vec<String> = library.sink.take().iter().map(row).collect();
    assert_eq!(rows[0], "proposal_made alpha test - ok call");
    assert_eq!(rows[1], "proposal_made alpha test - error call");
    assert_eq!(std::fs::read_to_string(library.directory.path().join("alpha/SKILL.md")).unwrap(), before);
    let proposal = store.proposal(1).unwrap().unwrap();
    assert_eq!(
        (&*proposal.content.author, proposal.content.evidence.as_deref()),
        ("agent:builder", Some("a log"))
    );
    let refused = block_on(session.call("review_skill_proposals", &json!({"action": "approve", "id": 1})));
    assert!(refused.is_error());
}

#[test]
fn an_agent_that_reviews_has_the_tool_within_the_limits_of_the_request() {
    let library = SkillDirectory::new(&["alpha"]);
    let mut critic = Agent { reviews: true, ..Agent::new("critic") };
    critic.tools.offered = OfferedTools::Minimal;
    let (session, _) = session(&library, ProposalMode::Controlled, critic);
    assert!(session.tools().iter().any(|tool| tool.name == "review_skill_proposals"));
    let mut request = SessionRequest::of("critic");
    request.offered = OfferedTools::Only(["read_skill_file".to_owned()].into());
    let limited = block_on(session.library().open_session(&request)).unwrap();
    assert!(names(&limited).is_empty());
    let refused = block_on(limited.call("review_skill_proposals", &json!({"action": "list"})));
    assert!(refused.is_error() && refused.text().contains("no tool"), "{}", refused.text());
}

#[test]
fn a_reviewer_agent_decides_about_proposals_of_others() {
    let library = SkillDirectory::new(&["alpha"]);
    let path = library.directory.path().join("alpha/SKILL.md");
    let last = std::fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    let reviewer = Agent { reviews: true, ..Agent::new("critic") };
    let (session, store) = session(&library, ProposalMode::Controlled, reviewer);
    let call = |tool: &str, arguments: Value| block_on(session.call(tool, &arguments)).text().to_owned();
    let propose =
        json!({"skill_id": "alpha", "diff": DIFF.replace("# alpha", &last), "justification": "slow"});
    call("propose_skill_update", propose);
    let review = |arguments: Value| call("review_skill_proposals", arguments);
    assert!(review(json!({"action": "approve", "id": 1})).contains("cannot decide"));
    let reviewed = library.sink.take().iter().map(row).next_back().unwrap();
    assert!(reviewed.starts_with("proposal_reviewed alpha "), "{reviewed}");
    let mut other = store.proposal(1).unwrap().unwrap().content;
    other.author = "agent:builder".to_owned();
    other.session = Some("elsewhere".to_owned());
    other.justification = "another".to_owned();
    store.decide(1, crate::store::ProposalState::Pending, crate::store::ProposalState::Stale, None).unwrap();
    let limits = crate::store::ProposalLimits { per_skill: 9, per_session: 9, total: 9 };
    store.submit(&other, limits).unwrap();
    assert!(review(json!({"action": "list"})).contains("2: update of alpha by agent:builder"));
    assert!(review(json!({"action": "show", "id": 2})).contains("Be quick."));
    assert!(review(json!({"action": "approve", "id": 2})).contains("is approved"));
    assert!(std::fs::read_to_string(&path).unwrap().contains("Be quick."));
    assert!(review(json!({"action": "reject", "id": 2})).contains("reason"));
    assert!(review(json!({"action": "show"})).contains("id"));
    assert!(review(json!({"action": "dance"})).contains("approve"));
}

#[test]
fn a_reviewer_agent_cannot_approve_what_its_subagents_propose() {
    let library = SkillDirectory::new(&["alpha"]);
    let path = library.directory.path().join("alpha/SKILL.md");
    let last = std::fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    let lazy = LazyStore::from(Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let agents = library.builder().agent(Agent { reviews: true, ..Agent::new("critic") });
    let builder = agents.agent(Agent::new("writer"));
    let opened =
        block_on(builder.proposer(Arc::new(Proposer::new(lazy, ProposalRules::default()))).open()).unwrap();
    let critic = block_on(opened.open_session(&SessionRequest::of("critic"))).unwrap();
    let writer = block_on(opened.open_session(&SessionRequest::of("writer"))).unwrap();
    let subagent = block_on(critic.subagent_with(&SubagentOptions::of("writer"))).unwrap();
    let nested = block_on(subagent.subagent_with(&SubagentOptions::of("writer"))).unwrap();
    for (number, author) in [&nested, &subagent, &writer].into_iter().enumerate() {
        let diff = DIFF.replace("# alpha", &last).replace("quick", &format!("quick {number}"));
        let propose = json!({"skill_id": "alpha", "diff": diff, "justification": "slow"});
        let reply = block_on(author.call("propose_skill_update", &propose));
        assert!(!reply.is_error(), "{}", reply.text());
        let approve = json!({"action": "approve", "id": number + 1});
        let decided = block_on(critic.call("review_skill_proposals", &approve));
        assert_eq!(decided.text().contains("cannot decide"), number < 2, "{}", decided.text());
    }
}

#[test]
fn a_reviewer_agent_decides_only_about_skills_that_it_sees_and_that_are_not_locked() {
    use repertoire_model::scope::{Pattern, Scope};

    let library = SkillDirectory::new(&["alpha", "beta"]);
    let path = library.directory.path().join("alpha/SKILL.md");
    let last = std::fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    let store = Arc::new(MemoryStore::new());
    let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
    let locked = vec![Pattern::new("beta").unwrap()];
    let proposer =
        |locked| Arc::new(Proposer::new(lazy.clone(), ProposalRules { locked, ..ProposalRules::default() }));
    let scope = Scope { deny: vec![Pattern::new("alpha").unwrap()], ..Scope::default() };
    let critic = Agent { reviews: true, scope, ..Agent::new("critic") };
    let open = |agent: Agent, locked: Vec<Pattern>| {
        let name = agent.name.clone();
        let opened = block_on(library.builder().agent(agent).proposer(proposer(locked)).open()).unwrap();
        block_on(opened.open_session(&SessionRequest::of(&name))).unwrap()
    };
    let builder = open(Agent::new("builder"), Vec::new());
    for skill in ["alpha", "beta"] {
        let diff = DIFF.replace("# alpha", &last.replace("alpha", skill));
        let arguments = json!({"skill_id": skill, "diff": diff, "justification": "slow"});
        let reply = block_on(builder.call("propose_skill_update", &arguments));
        assert!(!reply.is_error(), "{}", reply.text());
    }
    let critic = open(critic, locked);
    let review =
        |arguments: Value| block_on(critic.call("review_skill_proposals", &arguments)).text().to_owned();
    assert_eq!(review(json!({"action": "list"})), "2: update of beta by agent:builder\n");
    for action in ["show", "approve"] {
        assert!(review(json!({"action": action, "id": 1})).contains("there is no proposal 1"), "{action}");
    }
    assert!(review(json!({"action": "reject", "id": 1, "reason": "no"})).contains("there is no proposal 1"));
    assert!(review(json!({"action": "approve", "id": 2})).contains("locked"));
    std::fs::write(library.directory.path().join("beta/SKILL.md"), "---\nname: [\n").unwrap();
    let reject = json!({"action": "reject", "id": 2, "reason": "no"});
    assert_eq!(review(reject), "Proposal 2 is rejected.");
}

#[test]
fn a_reviewer_agent_sees_no_proposals_of_other_libraries() {
    let (library, other) = (SkillDirectory::new(&["alpha"]), SkillDirectory::new(&["beta"]));
    let reviewer = Agent { reviews: true, ..Agent::new("critic") };
    let (session, store) = session(&library, ProposalMode::Controlled, reviewer);
    let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
    let rules = |library: &SkillDirectory| ProposalRules {
        new_skills: Some(library.directory.path().to_owned()),
        ..ProposalRules::default()
    };
    let open = |library: &SkillDirectory| {
        let proposer = Arc::new(Proposer::new(lazy.clone(), rules(library)));
        block_on(block_on(library.builder().proposer(proposer).open()).unwrap().session()).unwrap()
    };
    let text = "---\nname: fresh\ndescription: Does fresh things. Use when things are stale.\n---\n# Fresh\n";
    let create = json!({"name": "fresh", "files": {"SKILL.md": text}, "justification": "it was missing"});
    let diff = DIFF.replace("# alpha", "Do beta.");
    let update = json!({"skill_id": "beta", "diff": diff, "justification": "slow"});
    let elsewhere = open(&other);
    for (tool, arguments) in [("propose_skill_update", &update), ("propose_skill", &create)] {
        let reply = block_on(elsewhere.call(tool, arguments));
        assert!(!reply.is_error(), "{}", reply.text());
    }
    let review =
        |arguments: Value| block_on(session.call("review_skill_proposals", &arguments)).text().to_owned();
    assert_eq!(review(json!({"action": "list"})), "No proposals are pending.");
    for id in [1, 2] {
        for action in ["show", "approve", "reject"] {
            let reply = review(json!({"action": action, "id": id, "reason": "no"}));
            assert!(reply.contains(&format!("there is no proposal {id}")), "{action}: {reply}");
        }
    }
    assert!(!block_on(open(&library).call("propose_skill", &create)).is_error());
    assert_eq!(review(json!({"action": "list"})), "3: create of fresh by agent:unnamed\n");
    assert!(review(json!({"action": "approve", "id": 3})).contains("is approved"));
    assert!(
        library.directory.path().join("fresh").is_dir() && !other.directory.path().join("fresh").exists()
    );
}

#[test]
fn a_list_of_proposals_tells_how_many_more_there_are() {
    let library = SkillDirectory::new(&["alpha"]);
    let reviewer = Agent { reviews: true, ..Agent::new("critic") };
    let (session, store) = session(&library, ProposalMode::Controlled, reviewer);
    let text = "---\nname: fresh\ndescription: Does fresh things. Use when things are stale.\n---\n# Fresh\n";
    let create = json!({"name": "fresh", "files": {"SKILL.md": text}, "justification": "it was missing"});
    block_on(session.call("propose_skill", &create));
    let content = store.proposal(1).unwrap().unwrap().content;
    let limits = crate::store::ProposalLimits { per_skill: 99, per_session: 99, total: 99 };
    for number in 0..52 {
        let result = repertoire_model::Digest::of(&[number]);
        store.submit(&crate::store::NewProposal { result, ..content.clone() }, limits).unwrap();
    }
    let list = block_on(session.call("review_skill_proposals", &json!({"action": "list"}))).text().to_owned();
    assert_eq!((list.lines().count(), list.lines().last()), (51, Some("3 more wait behind these.")));
}

#[test]
fn propose_skill_reveals_nothing_of_skills_that_the_agent_may_not_see() {
    use repertoire_model::answer::Render;
    use repertoire_model::scope::{Pattern, Scope};

    let library = SkillDirectory::new(&["alpha", "beta"]);
    let scope = Scope { deny: vec![Pattern::new("alpha*").unwrap()], ..Scope::default() };
    let (session, _) = session(&library, ProposalMode::Free, Agent { scope, ..Agent::new("builder") });
    let propose = |name: &str| {
        let text = format!("---\nname: {name}\ndescription: Does things. Use when needed.\n---\n# X\n");
        let arguments = json!({"name": name, "files": {"SKILL.md": text}, "justification": "missing"});
        let reply = block_on(session.call("propose_skill", &arguments));
        session.text_as(reply.answer(), Render::Text)
    };
    let refusal = "Error: The call was refused: the name alpha cannot be used for a new skill.";
    assert_eq!(propose("alpha"), refusal);
    assert_eq!(propose("alpha2"), refusal.replace("alpha", "alpha2"), "it does not exist");
    for name in ["alpha", "alpha2"] {
        let reply = block_on(session.call("propose_skill", &json!({"name": name, "files": 7})));
        assert_eq!(session.text_as(reply.answer(), Render::Text), refusal.replace("alpha", name));
    }
    assert_eq!(
        propose("beta"),
        "Error: The call was refused: there is a skill beta; propose a change of it instead."
    );
    assert_eq!(
        propose("F5"),
        "Error: The call was refused: the name F5 contains upper-case letters; the name of a new skill is 1 to 64 characters of a-z, 0-9 and single hyphens."
    );
    std::fs::create_dir(library.directory.path().join("taken")).unwrap();
    assert_eq!(
        propose("taken"),
        "Error: The call was refused: the name taken cannot be used for a new skill."
    );
    assert_eq!(propose("fresh"), "The skill `fresh` is there now; load it to use it.");
    let errors: Vec<Option<String>> = library.sink.take().into_iter().map(|event| event.error).collect();
    let refused = || Some("refused".to_owned());
    assert_eq!(errors, [vec![refused(); 7], vec![None]].concat());
}

#[test]
fn c29_new_skills_are_drafts_unless_agents_are_free() {
    let text = "---\nname: fresh\ndescription: Does fresh things. Use when things are stale.\n---\n# Fresh\n";
    let arguments = json!({"name": "fresh", "files": {"SKILL.md": text}, "justification": "it was missing"});
    for (mode, is_there) in [(ProposalMode::Controlled, false), (ProposalMode::Free, true)] {
        let library = SkillDirectory::new(&["alpha"]);
        let (session, _) = session(&library, mode, Agent::new("builder"));
        let reply = block_on(session.call("propose_skill", &arguments));
        assert!(!reply.is_error(), "{}", reply.text());
        let loaded = block_on(session.call("load_skill", &json!({"name": "fresh"})));
        assert_eq!(!loaded.is_error(), is_there, "{}", loaded.text());
    }
    let library = SkillDirectory::new(&["alpha"]);
    let (session, _) = session(&library, ProposalMode::Off, Agent::new("builder"));
    assert_eq!(names(&session), [""; 0]);
}
