//! A simulated host with a real transcript and a real directory of skills: the session always describes the
//! context correctly.

#![allow(clippy::disallowed_methods, reason = "the test reads what it wrote")]

use pollster::block_on;
use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use repertoire_model::answer::{Answer, RecognisedAnswer, Render, recognise};
use repertoire_model::ledger::Reload;
use repertoire_model::{Digest, SkillName, reattach};
use serde_json::{Value, json};

use super::*;
use crate::session::LoadOptions;
use crate::{FsOptions, FsProvider, Library};

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

#[derive(Debug, Clone)]
enum Step {
    Load {
        skill: usize,
        force: bool,
    },
    /// Loads a file by its kind, which does not load the skill.
    LoadFile(usize),
    Unload(usize),
    /// Unloads by another spelling of the name.
    UnloadRespelled(usize),
    /// Writes a `SKILL.md` that cannot be understood.
    Break(usize),
    Edit {
        skill: usize,
        version: u8,
    },
    Remove(usize),
    Read(usize),
    /// Keeps the exchanges whose bit is set, and reports them as messages.
    CompactToMessages(u32),
    /// Keeps the exchanges whose bit is set, and reports them as names.
    CompactToNames(u32),
    /// Clears the results whose bit is set, as hosts do to save context, and shows the transcript.
    Clear(u32),
    /// Cuts the results whose bit is set in the middle, as hosts do with long ones, and shows the transcript.
    Truncate(u32),
    Observe,
    /// Begins a new session that has only the transcript.
    Restart,
    Reattach(usize),
    Delta,
    Refresh,
}

fn step() -> impl Strategy<Value = Step> {
    let skill = 0..NAMES.len();
    prop_oneof![
        6 => (skill.clone(), prop::bool::weighted(0.1)).prop_map(|(skill, force)| Step::Load { skill, force }),
        1 => skill.clone().prop_map(Step::LoadFile),
        1 => skill.clone().prop_map(Step::Unload),
        1 => skill.clone().prop_map(Step::UnloadRespelled),
        1 => skill.clone().prop_map(Step::Break),
        3 => (skill.clone(), 0..3_u8).prop_map(|(skill, version)| Step::Edit { skill, version }),
        1 => skill.clone().prop_map(Step::Remove),
        1 => skill.prop_map(Step::Read),
        1 => any::<u32>().prop_map(Step::CompactToMessages),
        1 => any::<u32>().prop_map(Step::CompactToNames),
        1 => any::<u32>().prop_map(Step::Clear),
        1 => any::<u32>().prop_map(Step::Truncate),
        1 => Just(Step::Observe),
        1 => Just(Step::Restart),
        1 => (0..400_usize).prop_map(Step::Reattach),
        1 => Just(Step::Delta),
        1 => Just(Step::Refresh),
    ]
}

struct Host {
    directory: tempfile::TempDir,
    library: Library,
    session: Session,
    /// Each exchange: the messages that go together.
    transcript: Vec<Vec<Value>>,
    calls: usize,
}

impl Host {
    fn new(render: Render, reload: Reload) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let provider = FsProvider::new(FsOptions::new("test", directory.path()));
        for skill in 0..NAMES.len() {
            write(&directory, skill, 0);
        }
        let options = SessionOptions {
            render,
            loading: LoadOptions { reload, ..LoadOptions::default() },
            ..SessionOptions::default()
        };
        let library =
            block_on(Library::builder().provider(Arc::new(provider)).session_options(options).open())
                .unwrap();
        let session = block_on(library.session()).unwrap();
        Self { directory, library, session, transcript: Vec::new(), calls: 0 }
    }

    fn messages(&self) -> Vec<Value> {
        self.transcript.concat()
    }

    /// Makes a call and appends it with its result.
    fn call(&mut self, tool: &str, arguments: &Value) -> Reply {
        let reply = block_on(self.session.call(tool, arguments));
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.transcript.push(vec![
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": arguments}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": reply.text(), "is_error": reply.is_error()}]}),
        ]);
        reply
    }

    /// Returns the digest of the newest instructions of `name` that stand in the transcript whole.
    fn newest(&self, name: &str) -> Option<Digest> {
        let texts = self.transcript.iter().flatten().filter_map(|message| match &message["content"] {
            Value::String(text) => Some(text.clone()),
            Value::Array(blocks) => {
                blocks.first().and_then(|block| block["content"].as_str()).map(str::to_owned)
            }
            _ => None,
        });
        let mut injections = texts.flat_map(|text| match recognise(&text) {
            Some(RecognisedAnswer::Bodies(bodies) | RecognisedAnswer::Unstamped(bodies)) => bodies,
            _ => reattach::recognise(&text),
        });
        injections.rfind(|injection| injection.name.as_str() == name).map(|injection| injection.digest)
    }

    fn keep(&mut self, mask: u32) {
        let mut index = 0;
        self.transcript.retain(|_| {
            index += 1;
            mask & (1 << (index % 32)) != 0
        });
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Load { skill, force } => {
                let reply = self.call("load_skill", &json!({"name": NAMES[*skill], "force": force}));
                if let Answer::Acknowledged(_) = reply.answer()
                    && self.session.options().loading.reload == Reload::ShortAck
                {
                    assert!(
                        self.newest(NAMES[*skill]).is_some(),
                        "acknowledged, so some version stands in the context"
                    );
                } else if let Answer::Acknowledged(_) = reply.answer() {
                    let path = self.directory.path().join(NAMES[*skill]).join("SKILL.md");
                    let text = fs::read_to_string(path).unwrap();
                    let newest = self.newest(NAMES[*skill]);
                    match text.split_once("---\n# ") {
                        Some((_, body)) => assert_eq!(
                            newest,
                            Some(Digest::of(format!("# {body}").as_bytes())),
                            "acknowledged, so what is on disk stands in the context"
                        ),
                        // While the file is broken its last good version is in force.
                        None => assert!(
                            newest.is_some(),
                            "acknowledged, so the last good version stands in the context"
                        ),
                    }
                }
            }
            Step::LoadFile(skill) => {
                self.call("load_skill", &json!({"name": NAMES[*skill], "reference": "guide.md"}));
            }
            Step::UnloadRespelled(skill) => {
                self.call("unload_skill", &json!({"name": NAMES[*skill].to_uppercase()}));
            }
            Step::Break(skill) => {
                let path = self.directory.path().join(NAMES[*skill]);
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("SKILL.md"), "---\nname: [\n").unwrap();
            }
            Step::Truncate(mask) => {
                for (index, exchange) in self.transcript.iter_mut().enumerate() {
                    if mask & (1 << (index % 32)) != 0 && exchange.len() == 2 {
                        let text =
                            exchange[1]["content"][0]["content"].as_str().unwrap_or_default().to_owned();
                        let half = text.chars().take(text.chars().count() / 2).collect::<String>();
                        exchange[1]["content"][0]["content"] = json!(half);
                    }
                }
                self.session.observe(&self.messages());
            }
            Step::Restart => {
                self.session = block_on(self.library.session()).unwrap();
                self.session.observe(&self.messages());
            }
            Step::Unload(skill) => {
                self.call("unload_skill", &json!({"name": NAMES[*skill]}));
            }
            Step::Edit { skill, version } => write(&self.directory, *skill, *version),
            Step::Remove(skill) => {
                let _ = fs::remove_dir_all(self.directory.path().join(NAMES[*skill]));
            }
            Step::Read(skill) => {
                self.call("read_skill_file", &json!({"skill": NAMES[*skill], "path": "SKILL.md"}));
            }
            Step::CompactToMessages(mask) => {
                self.keep(*mask);
                block_on(self.session.compacted(&KeptContext::Messages(self.messages())));
            }
            Step::CompactToNames(mask) => {
                let before: Vec<Option<Digest>> = NAMES.iter().map(|name| self.newest(name)).collect();
                self.keep(*mask);
                // A skill is kept if the newest of its instructions are.
                let kept = NAMES
                    .iter()
                    .zip(before)
                    .filter(|(name, digest)| digest.is_some() && self.newest(name) == *digest);
                let kept = kept.filter_map(|(name, _)| SkillName::new(name)).collect();
                block_on(self.session.compacted(&KeptContext::Skills(kept)));
            }
            Step::Clear(mask) => {
                for (index, exchange) in self.transcript.iter_mut().enumerate() {
                    if mask & (1 << (index % 32)) != 0 && exchange.len() == 2 {
                        exchange[1]["content"][0]["content"] = json!("[Old tool result content cleared]");
                    }
                }
                self.session.observe(&self.messages());
            }
            Step::Observe => self.session.observe(&self.messages()),
            Step::Reattach(budget) => {
                let back = block_on(self.session.reattach(*budget));
                if !back.text.is_empty() {
                    self.transcript.push(vec![json!({"role": "user", "content": back.text})]);
                }
            }
            Step::Delta => {
                block_on(self.session.delta());
                assert_eq!(block_on(self.session.delta()).text, "", "once per change");
            }
            Step::Refresh => {
                block_on(self.session.refresh());
            }
        }
    }
}

fn write(directory: &tempfile::TempDir, skill: usize, version: u8) {
    let (name, path) = (NAMES[skill], directory.path().join(NAMES[skill]));
    fs::create_dir_all(&path).unwrap();
    let text = format!(
        "---\nname: {name}\ndescription: Does {name}, version {version}. Use when asked.\n---\n# {name} {version}\n\nYou MUST do {version}.\n"
    );
    fs::write(path.join("SKILL.md"), text).unwrap();
    fs::create_dir_all(path.join("references")).unwrap();
    fs::write(path.join("references/guide.md"), "Guide.\n").unwrap();
}

/// The renderings that a session reads back.
const RECOGNISED: [Render; 4] = [Render::Xml, Render::Json, Render::Text, Render::Markdown];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_session_always_describes_the_context_correctly(
        render in prop::sample::select(RECOGNISED.to_vec()),
        reload in prop::sample::select(vec![Reload::Auto, Reload::ShortAck]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut host = Host::new(render, reload);
        let mut written = (host.session.catalog(), host.session.tools());
        for step in &steps {
            let before = host.messages();
            host.take(step);
            let may_rewrite = matches!(step, Step::CompactToMessages(_) | Step::CompactToNames(_) | Step::Clear(_) | Step::Truncate(_));
            if !may_rewrite {
                prop_assert!(host.messages().starts_with(&before), "a transcript only grows");
            }
            let now = (host.session.catalog(), host.session.tools());
            if matches!(step, Step::Refresh | Step::Restart | Step::CompactToMessages(_) | Step::CompactToNames(_)) {
                written = now;
            } else {
                prop_assert_eq!(&now, &written, "the catalog and the tools stay as they are");
            }
        }
    }
}

/// A step of a conversation that is compacted again and again.
#[derive(Debug, Clone)]
enum Use {
    Load(usize),
    Observe,
    /// Compacts the conversation to nothing and puts skills back within so many tokens.
    Compact(usize),
    /// The same, and goes on in a new session that has only the transcript.
    Resume(usize),
}

fn uses() -> impl Strategy<Value = Vec<Use>> {
    let step = prop_oneof![
        4 => (0..NAMES.len()).prop_map(Use::Load),
        1 => Just(Use::Observe),
        3 => (0..250_usize).prop_map(Use::Compact),
        1 => (0..250_usize).prop_map(Use::Resume),
    ];
    prop::collection::vec(step, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn x103_skills_are_reattached_in_the_order_of_use_at_every_compaction(
        render in prop::sample::select(RECOGNISED.to_vec()),
        steps in uses(),
    ) {
        let mut host = Host::new(render, Reload::Auto);
        // Of different sizes, so that a budget leaves out some in the middle.
        for (skill, lines) in [(0, 1), (1, 12), (2, 4)] {
            let path = host.directory.path().join(NAMES[skill]).join("SKILL.md");
            let text = fs::read_to_string(&path).unwrap() + &"You may do more.\n".repeat(lines);
            fs::write(path, text).unwrap();
        }
        block_on(host.library.reload());
        let mut recent: Vec<&str> = Vec::new();
        for step in &steps {
            match *step {
                Use::Load(skill) => {
                    let reply = host.call("load_skill", &json!({"name": NAMES[skill]}));
                    prop_assert!(!reply.is_error());
                    recent.retain(|name| *name != NAMES[skill]);
                    recent.insert(0, NAMES[skill]);
                }
                Use::Observe => host.session.observe(&host.messages()),
                Use::Compact(budget) | Use::Resume(budget) => {
                    host.transcript.clear();
                    block_on(host.session.compacted(&KeptContext::Skills(Vec::new())));
                    let back = block_on(host.session.reattach(budget));
                    let names: Vec<&str> = back.pieces.iter().map(|piece| piece.name.as_str()).collect();
                    prop_assert_eq!(&names, &recent);
                    if !back.text.is_empty() {
                        host.transcript.push(vec![json!({"role": "user", "content": back.text})]);
                    }
                    if matches!(step, Use::Resume(_)) {
                        host.take(&Step::Restart);
                        let is_whole = |piece: &&reattach::Piece| piece.level == reattach::Level::Body;
                        let whole: Vec<&str> = back.pieces.iter().filter(is_whole).map(|piece| piece.name.as_str()).collect();
                        recent.retain(|name| whole.contains(name));
                    }
                }
            }
        }
    }
}
