//! The use of skills that clients record themselves: Claude Code's counters and transcripts, and the session files of Codex.
//!
//! The files are only read. They belong to other programs, so lines that are not understood are passed over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use repertoire::event::jsonl::rfc3339;
use repertoire::regular_file;
use serde_json::{Value, json};

use crate::env::{self, Env};

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

/// The records of one client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClientRecord {
    /// The name of the client.
    pub client: &'static str,
    /// The kind of the record: `counters` of all time, or `transcripts`.
    pub record: &'static str,
    /// The use by skill.
    pub skills: BTreeMap<String, ClientUse>,
}

impl ClientRecord {
    fn add(&mut self, skill: &str, uses: u64, last_use: Option<String>) {
        let found = self.skills.entry(skill.to_owned()).or_default();
        found.uses += uses;
        found.last_use = last_use.max(found.last_use.take());
    }

    /// Returns whether `skill` was used after `oldest`, a time in RFC 3339.
    pub(super) fn was_used(&self, skill: &str, oldest: Option<&str>) -> bool {
        let last_use = self.skills.get(skill).and_then(|found| found.last_use.as_deref());
        last_use.is_some_and(|last| Some(last) > oldest)
    }

    pub(super) fn json(&self) -> Value {
        let skill = |(name, found): (&String, &ClientUse)| json!({"name": name, "uses": found.uses, "last_use": found.last_use});
        json!({"client": self.client, "record": self.record, "skills": self.skills.iter().map(skill).collect::<Value>()})
    }
}

/// Returns the skills that a line of a transcript uses.
type Uses = fn(&Value) -> Vec<String>;

/// Reads what clients recorded since `since`; their counters are of all time.
pub(super) fn read(env: &Env, since: Option<SystemTime>) -> Vec<ClientRecord> {
    let home = env.home();
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let configured = env.directory(env::CLAUDE_CONFIG_DIR);
    let settings = configured.as_ref().map(|directory| directory.join(".claude.json"));
    let settings = settings.or_else(|| below_home(".claude.json"));
    let claude = configured.or_else(|| below_home(".claude")).map(|directory| directory.join("projects"));
    let codex = env.directory(env::CODEX_HOME).or_else(|| below_home(".codex"));
    let codex = codex.map(|directory| directory.join("sessions"));
    let mut records = Vec::new();
    let mut counters = ClientRecord { client: "Claude Code", record: "counters", skills: BTreeMap::new() };
    let text = settings.and_then(|path| regular_file::read(&path, MAX_FILE_BYTES).ok());
    add_counters(&mut counters, &serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default());
    records.push(counters);
    let readers = [("Claude Code", claude, claude_uses as Uses), ("Codex", codex, codex_uses as Uses)];
    for (client, directory, uses) in readers {
        let mut record = ClientRecord { client, record: "transcripts", skills: BTreeMap::new() };
        let mut left = MAX_BYTES;
        for path in directory.map(|directory| transcripts(&directory, since)).unwrap_or_default() {
            let Ok(bytes) = regular_file::read(&path, MAX_FILE_BYTES.min(left)) else { continue };
            left = left.saturating_sub(bytes.len() as u64);
            add_transcript(&mut record, &bytes, since, uses);
        }
        records.push(record);
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

/// Adds the counters in `~/.claude.json`: `{"skillUsage": {NAME: {"usageCount": 3, "lastUsedAt": MILLISECONDS}}}`.
fn add_counters(record: &mut ClientRecord, settings: &Value) {
    for (name, counter) in settings["skillUsage"].as_object().into_iter().flatten() {
        let uses = counter["usageCount"].as_u64().unwrap_or_default();
        let last = counter["lastUsedAt"].as_u64();
        let last = last.and_then(|milliseconds| UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)));
        if uses > 0 {
            record.add(name, uses, last.map(rfc3339));
        }
    }
}

/// Adds the uses of skills that the lines of a transcript tell.
fn add_transcript(
    record: &mut ClientRecord,
    bytes: &[u8],
    since: Option<SystemTime>,
    uses: fn(&Value) -> Vec<String>,
) {
    let since = since.map(rfc3339);
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().filter(|line| line.contains("\"Skill\"") || line.contains(MANIFEST)) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let time = line["timestamp"].as_str().map(str::to_owned);
        // Both are RFC 3339 in UTC, whose order is that of their characters.
        if since.is_some() && time < since {
            continue;
        }
        for skill in uses(&line) {
            record.add(&skill, 1, time.clone());
        }
    }
}

/// Returns the skills that a line of a transcript of Claude Code uses: calls of `Skill`, and of `Read` for a `SKILL.md`.
fn claude_uses(line: &Value) -> Vec<String> {
    let content = line["message"]["content"].as_array().into_iter().flatten();
    let calls = content.filter(|part| part["type"] == "tool_use");
    let skill = |call: &Value| {
        let input = &call["input"];
        match call["name"].as_str()? {
            "Skill" => {
                let name = input["skill"].as_str().or_else(|| input["command"].as_str())?;
                name.split_whitespace().next().map(|name| name.trim_start_matches('/').to_owned())
            }
            "Read" => skills_in(input["file_path"].as_str()?).pop(),
            _ => None,
        }
    };
    calls.filter_map(skill).filter(|name| !name.is_empty()).collect()
}

/// Returns the skills that a line of a session file of Codex uses: calls of tools whose arguments name a `SKILL.md`.
fn codex_uses(line: &Value) -> Vec<String> {
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

/// Returns the names of the directories before each `/SKILL.md` in `text`, each of them once.
fn skills_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (end, _) in text.match_indices(MANIFEST) {
        let before = &text[..end];
        let is_end = |c: char| matches!(c, '/' | '\\' | '"' | '\'') || c.is_whitespace();
        let name = before.rsplit(is_end).next().unwrap_or_default();
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_claude_code_are_recognized() {
        let line = |name: &str, input: Value| json!({"message": {"content": [{"type": "tool_use", "name": name, "input": input}]}});
        let check = |line: Value, expect: &[&str]| assert_eq!(claude_uses(&line), expect, "{line}");
        check(line("Skill", json!({"skill": "git"})), &["git"]);
        check(line("Skill", json!({"command": "/git commit"})), &["git"]);
        check(line("Read", json!({"file_path": "/home/u/.claude/skills/pdf/SKILL.md"})), &["pdf"]);
        check(line("Read", json!({"file_path": "/home/u/notes.md"})), &[]);
        check(line("Bash", json!({"command": "cat x/SKILL.md"})), &[]);
        check(json!({"message": {"content": "Skill"}}), &[]);
        check(json!(["Skill"]), &[]);
    }

    #[test]
    fn calls_of_codex_are_recognized() {
        let check = |payload: Value, expect: &[&str]| {
            assert_eq!(codex_uses(&json!({"payload": payload})), expect, "{payload}");
        };
        let arguments =
            r#"{"command":["bash","-lc","cat /s/git/SKILL.md '/s/pdf/SKILL.md' /s/git/SKILL.md"]}"#;
        check(json!({"type": "function_call", "arguments": arguments}), &["git", "pdf"]);
        check(json!({"type": "local_shell_call", "action": {"command": ["cat", "a/b/SKILL.md"]}}), &["b"]);
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
        let mut record = ClientRecord { client: "x", record: "transcripts", skills: BTreeMap::new() };
        let since = UNIX_EPOCH + Duration::from_secs(30);
        add_transcript(&mut record, &[lines.as_bytes(), b"\xff\"Skill\""].concat(), Some(since), claude_uses);
        let found = ClientUse { uses: 1, last_use: Some("1970-01-01T00:01:00.000Z".to_owned()) };
        assert_eq!(record.skills, BTreeMap::from([("git".to_owned(), found)]));
    }

    #[test]
    fn counters_that_are_no_counters_are_passed_over() {
        let mut record = ClientRecord { client: "x", record: "counters", skills: BTreeMap::new() };
        for odd in
            [json!(null), json!({"skillUsage": 1}), json!({"skillUsage": {"a": 1, "b": {"usageCount": "x"}}})]
        {
            add_counters(&mut record, &odd);
        }
        assert!(record.skills.is_empty());
        let far = json!({"skillUsage": {"git": {"usageCount": 3, "lastUsedAt": u64::MAX}}});
        add_counters(&mut record, &far);
        assert_eq!(record.skills["git"].uses, 3);
    }
}
