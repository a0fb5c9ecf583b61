//! The use of skills that clients record: Claude Code's counters and transcripts, and Codex's session files.
//!
//! The files are only read. They belong to other programs, so lines that are not understood are passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use repertoire::event::jsonl::rfc3339;
use repertoire::regular_file;
use repertoire_clients::SkillOnDisk;
use repertoire_clients::client_readers;
use serde_json::Value;

use crate::view::{ClientRecordView, ClientUseView};
use crate::workspace::environment as env;
use crate::workspace::{Env, Library, Workspace};

/// The most files of a client that are read, the newest first.
const MAX_FILES: usize = 2_000;

/// The most bytes of a file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The most bytes of all files of a client.
const MAX_BYTES: u64 = 1 << 30;

/// The most levels of directories below that of the client's files.
const MAX_DEPTH: usize = 4;

/// The name of the file that a skill begins with, as the end of a path.
const MANIFEST: &str = "/SKILL.md";

/// The use of one skill by one client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClientUse {
    /// The number of uses.
    pub uses: u64,
    /// The time of its last use, in RFC 3339.
    pub last_use: Option<String>,
}

impl ClientUse {
    fn add(&mut self, uses: u64, last_use: Option<String>) {
        self.uses += uses;
        self.last_use = last_use.max(self.last_use.take());
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClientRecord {
    /// The name of the client.
    pub client: &'static str,
    /// The kind of the record: `counters` of all time, or `transcripts`.
    pub record: &'static str,
    /// The use by skill; by what the client called it where that is not exactly one skill here.
    pub skills: BTreeMap<String, ClientUse>,
    /// The time of the last use of each skill that may be meant, by its real directory.
    last_uses: BTreeMap<PathBuf, String>,
}

impl ClientRecord {
    /// Returns the record of `uses`, counted by the skills of `known` that are meant.
    fn new(client: &'static str, record: &'static str, known: &KnownSkills, uses: Uses) -> Self {
        let mut skills: BTreeMap<String, ClientUse> = BTreeMap::new();
        let mut last_uses: BTreeMap<PathBuf, String> = BTreeMap::new();
        for (mention, found) in uses {
            let meant = known.meant(client, &mention);
            let only = meant.first().filter(|_| meant.len() == 1);
            let name = only.and_then(|only| known.names.get(only)).map_or(mention.name(), String::as_str);
            skills.entry(name.to_owned()).or_default().add(found.uses, found.last_use.clone());
            for directory in meant {
                let last = last_uses.entry(directory).or_default();
                *last = found.last_use.clone().unwrap_or_default().max(std::mem::take(last));
            }
        }
        Self { client, record, skills, last_uses }
    }

    /// Returns whether the skill in `directory`, a real path, was used after `oldest`, a time in RFC 3339.
    pub(super) fn was_used(&self, directory: &Path, oldest: Option<&str>) -> bool {
        self.last_uses.get(directory).is_some_and(|last| Some(last.as_str()) > oldest)
    }

    pub(super) fn view(&self) -> ClientRecordView {
        let skill = |(name, found): (&String, &ClientUse)| ClientUseView {
            name: name.clone(),
            uses: found.uses,
            last_use: found.last_use.clone(),
        };
        ClientRecordView {
            client: self.client,
            record: self.record,
            skills: self.skills.iter().map(skill).collect(),
        }
    }
}

/// A skill as a client calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Mention {
    Name(String),
    /// By the path of its directory.
    Path(String),
}

impl Mention {
    /// Returns the name, or that of the directory.
    fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Path(path) => path.rsplit('/').next().unwrap_or(path),
        }
    }
}

/// The skills that clients may mean, by their real directories.
#[derive(Default)]
pub(super) struct KnownSkills {
    names: BTreeMap<PathBuf, String>,
    /// The skills by client and the name by which it knows them.
    called: BTreeMap<(&'static str, String), BTreeSet<PathBuf>>,
    /// The skills by each of their names, for skills that a client read from elsewhere.
    named: BTreeMap<String, BTreeSet<PathBuf>>,
    home: Option<PathBuf>,
}

impl KnownSkills {
    /// Returns the skills of `library`, in whatever state.
    pub(super) fn new(workspace: &Workspace, library: &Library) -> Self {
        let mut known = Self { home: workspace.env.home(), ..Self::default() };
        let places = workspace.env.places();
        let clients = ["claude-code", "codex"];
        let readers = client_readers(&places, &library.places, BTreeMap::new(), &clients);
        for entry in library.snapshot.entries() {
            let skill = SkillOnDisk::of(entry);
            let directory = || skill.directory.clone();
            for reader in &readers {
                for name in reader.names_of(&skill) {
                    known.called.entry((reader.client.title, name)).or_default().insert(directory());
                }
            }
            let last = skill.directory.file_name().map(|name| name.to_string_lossy().into_owned());
            for name in last.into_iter().chain(skill.written.clone()).chain([entry.name().to_string()]) {
                known.named.entry(name).or_default().insert(directory());
            }
            known.names.insert(directory(), entry.name().to_string());
        }
        known
    }

    /// Returns the skills that `client` may mean: the skill at the path, or the skills that it knows by the
    /// name, or else all of the name.
    fn meant(&self, client: &'static str, mention: &Mention) -> BTreeSet<PathBuf> {
        if let Mention::Path(path) = mention
            && let Some(real) = self.real(path)
        {
            return self.names.contains_key(&real).then_some(real).into_iter().collect();
        }
        let name = mention.name().to_owned();
        let named = self.named.get(&name);
        self.called.get(&(client, name)).or(named).cloned().unwrap_or_default()
    }

    /// Returns the directory at `path`, links resolved; `None` if it is not there or `path` is relative.
    fn real(&self, path: &str) -> Option<PathBuf> {
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.home.as_ref()?.join(rest),
            None => PathBuf::from(path),
        };
        path.is_absolute().then(|| path.canonicalize().ok()).flatten()
    }
}

/// The use of skills, as a client calls them.
type Uses = BTreeMap<Mention, ClientUse>;

/// Returns the skills that a line of a transcript uses.
type Reader = fn(&Value) -> Vec<Mention>;

/// Reads what clients recorded about `known` and other skills since `since`; their counters are of all time.
pub(super) fn read(env: &Env, known: &KnownSkills, since: Option<SystemTime>) -> Vec<ClientRecord> {
    let home = env.home();
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let configured = env.directory(env::CLAUDE_CONFIG_DIR);
    let settings = configured.as_ref().map(|directory| directory.join(".claude.json"));
    let settings = settings.or_else(|| below_home(".claude.json"));
    let claude = configured.or_else(|| below_home(".claude")).map(|directory| directory.join("projects"));
    let codex = env.directory(env::CODEX_HOME).or_else(|| below_home(".codex"));
    let codex = codex.map(|directory| directory.join("sessions"));
    let mut records = Vec::new();
    let mut counters = Uses::new();
    let text = settings.and_then(|path| regular_file::read(&path, MAX_FILE_BYTES).ok());
    add_counters(&mut counters, &serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default());
    records.push(ClientRecord::new("Claude Code", "counters", known, counters));
    let readers = [("Claude Code", claude, claude_uses as Reader), ("Codex", codex, codex_uses as Reader)];
    for (client, directory, reader) in readers {
        let mut uses = Uses::new();
        let mut left = MAX_BYTES;
        for path in directory.map(|directory| transcripts(&directory, since)).unwrap_or_default() {
            let Ok(bytes) = regular_file::read(&path, MAX_FILE_BYTES.min(left)) else { continue };
            left = left.saturating_sub(bytes.len() as u64);
            add_transcript(&mut uses, &bytes, since, reader);
        }
        records.push(ClientRecord::new(client, "transcripts", known, uses));
    }
    records.retain(|record| !record.skills.is_empty());
    records
}

/// Returns the transcripts below `directory` that were changed since `since`, the newest first.
fn transcripts(directory: &Path, since: Option<SystemTime>) -> Vec<PathBuf> {
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    let mut waiting = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_dir() && depth < MAX_DEPTH {
                waiting.push((path, depth + 1));
            } else if metadata.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") {
                let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
                if since.is_none_or(|since| modified >= since) {
                    found.push((modified, path));
                }
            }
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(MAX_FILES);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Adds the counters of `~/.claude.json`: `{"skillUsage": {NAME: {"usageCount": 3, "lastUsedAt": MILLIS}}}`.
fn add_counters(uses: &mut Uses, settings: &Value) {
    for (name, counter) in settings["skillUsage"].as_object().into_iter().flatten() {
        let number = counter["usageCount"].as_u64().unwrap_or_default();
        let last = counter["lastUsedAt"].as_u64();
        let last = last.and_then(|milliseconds| UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)));
        if number > 0 {
            let found = uses.entry(Mention::Name(name.clone())).or_default();
            found.add(number, last.map(rfc3339));
        }
    }
}

/// Adds the uses of skills that the lines of a transcript tell.
fn add_transcript(uses: &mut Uses, bytes: &[u8], since: Option<SystemTime>, reader: Reader) {
    let since = since.map(rfc3339);
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().filter(|line| line.contains("\"Skill\"") || line.contains(MANIFEST)) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let time = line["timestamp"].as_str().map(str::to_owned);
        // Both are RFC 3339 in UTC, whose order is that of their characters.
        if since.is_some() && time < since {
            continue;
        }
        for mention in reader(&line) {
            uses.entry(mention).or_default().add(1, time.clone());
        }
    }
}

/// Returns the names of the skills that a line of a transcript of the client `id` uses.
pub(crate) fn mentioned_skills(id: &str, line: &Value) -> Vec<String> {
    let mentions = if id == "codex" { codex_uses(line) } else { claude_uses(line) };
    mentions.iter().map(|mention| mention.name().to_owned()).collect()
}

/// Returns the skills that a line of a Claude Code transcript uses: by `Skill`, or by `Read` of a `SKILL.md`.
fn claude_uses(line: &Value) -> Vec<Mention> {
    let content = line["message"]["content"].as_array().into_iter().flatten();
    let calls = content.filter(|part| part["type"] == "tool_use");
    let skill = |call: &Value| {
        let input = &call["input"];
        match call["name"].as_str()? {
            "Skill" => {
                let name = input["skill"].as_str().or_else(|| input["command"].as_str())?;
                // The arguments follow the name of a command.
                let name =
                    if input["skill"].is_string() { Some(name) } else { name.split_whitespace().next() };
                name.map(|name| Mention::Name(name.trim().trim_start_matches('/').to_owned()))
            }
            "Read" => {
                let directory = input["file_path"].as_str()?.strip_suffix(MANIFEST)?;
                Some(Mention::Path(directory.to_owned()))
            }
            _ => None,
        }
    };
    calls.filter_map(skill).filter(|mention| !mention.name().is_empty()).collect()
}

/// Returns the skills that a line of a Codex session file uses: tool calls whose arguments name a `SKILL.md`.
fn codex_uses(line: &Value) -> Vec<Mention> {
    let payload = &line["payload"];
    match payload["type"].as_str() {
        Some("function_call") => skills_in(payload["arguments"].as_str().unwrap_or_default()),
        Some("custom_tool_call") => skills_in(payload["input"].as_str().unwrap_or_default()),
        Some("local_shell_call") => {
            let words = payload["action"]["command"].as_array().into_iter().flatten();
            words.flat_map(|word| skills_in(word.as_str().unwrap_or_default())).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the directories before each `/SKILL.md` in `text`, each of them once.
fn skills_in(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (end, _) in text.match_indices(MANIFEST) {
        let before = &text[..end];
        let is_end = |c: char| matches!(c, '\\' | '"' | '\'' | '=') || c.is_whitespace();
        let mention = Mention::Path(before.rsplit(is_end).next().unwrap_or_default().to_owned());
        if !mention.name().is_empty() && !mentions.contains(&mention) {
            mentions.push(mention);
        }
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn name(name: &str) -> Mention {
        Mention::Name(name.to_owned())
    }

    fn path(path: &str) -> Mention {
        Mention::Path(path.to_owned())
    }

    #[test]
    fn calls_of_claude_code_are_recognized() {
        let line = |name: &str, input: Value| json!({"message": {"content": [{"type": "tool_use", "name": name, "input": input}]}});
        let check = |line: Value, expect: &[Mention]| assert_eq!(claude_uses(&line), expect, "{line}");
        check(line("Skill", json!({"skill": "git"})), &[name("git")]);
        check(line("Skill", json!({"skill": "plugin:The Skill"})), &[name("plugin:The Skill")]);
        check(line("Skill", json!({"command": "/git commit"})), &[name("git")]);
        let file = "/home/a user/.claude/skills/pdf/SKILL.md";
        check(line("Read", json!({"file_path": file})), &[path("/home/a user/.claude/skills/pdf")]);
        check(line("Read", json!({"file_path": "/home/u/notes.md"})), &[]);
        check(line("Bash", json!({"command": "cat x/SKILL.md"})), &[]);
        check(json!({"message": {"content": "Skill"}}), &[]);
        check(json!(["Skill"]), &[]);
    }

    #[test]
    fn calls_of_codex_are_recognized() {
        let check = |payload: Value, expect: &[Mention]| {
            assert_eq!(codex_uses(&json!({"payload": payload})), expect, "{payload}");
        };
        let arguments =
            r#"{"command":["bash","-lc","cat /s/git/SKILL.md '/s/pdf/SKILL.md' /s/git/SKILL.md"]}"#;
        check(json!({"type": "function_call", "arguments": arguments}), &[path("/s/git"), path("/s/pdf")]);
        let call = json!({"type": "local_shell_call", "action": {"command": ["cat", "a/b/SKILL.md"]}});
        check(call, &[path("a/b")]);
        check(json!({"type": "message", "content": "/s/git/SKILL.md"}), &[]);
        check(json!({"type": "function_call", "arguments": "/SKILL.md"}), &[]);
    }

    #[test]
    fn odd_lines_and_old_lines_are_passed_over() {
        let call = r#""message":{"content":[{"type":"tool_use","name":"Skill","input":{"skill":"git"}}]}}"#;
        let lines = format!(
            "{{\"Skill\"\n\"Skill\"\n{{\"timestamp\":\"1970-01-01T00:00:01.000Z\",{call}\n{{{call}\n\
             {{\"timestamp\":\"1970-01-01T00:01:00.000Z\",{call}\n"
        );
        let mut uses = Uses::new();
        let since = UNIX_EPOCH + Duration::from_secs(30);
        add_transcript(&mut uses, &[lines.as_bytes(), b"\xff\"Skill\""].concat(), Some(since), claude_uses);
        let found = ClientUse { uses: 1, last_use: Some("1970-01-01T00:01:00.000Z".to_owned()) };
        assert_eq!(uses, Uses::from([(name("git"), found)]));
    }

    #[test]
    fn counters_that_are_no_counters_are_passed_over() {
        let mut uses = Uses::new();
        for odd in
            [json!(null), json!({"skillUsage": 1}), json!({"skillUsage": {"a": 1, "b": {"usageCount": "x"}}})]
        {
            add_counters(&mut uses, &odd);
        }
        assert!(uses.is_empty());
        let far = json!({"skillUsage": {"git": {"usageCount": 3, "lastUsedAt": u64::MAX}}});
        add_counters(&mut uses, &far);
        assert_eq!(uses[&name("git")].uses, 3);
    }
}
