//! The rules of clients for hooks: the file that registers them, their input, and the form of the answer.

use std::path::PathBuf;

use serde_json::{Value, json};

/// The hooks of a client that may add text to a prompt.
#[derive(Debug)]
pub struct HookRule {
    /// The files of the user and of a project.
    pub files: [&'static str; 2],
    /// The event of a prompt.
    pub prompt: &'static str,
    /// The event of the start of a session, of which a compaction is one reason, if the client has it.
    pub session_start: Option<&'static str>,
    /// The time that a hook may take, in the unit of the client.
    pub timeout: u64,
    /// True if an item of an event's list is a command for each shell, not a command group with a matcher.
    pub is_flat: bool,
    /// The advice to a person who registered it.
    pub note: Option<&'static str>,
}

/// The reason of a start of a session that is a compaction.
pub(super) const COMPACTION: &str = "compact";

const TRUST: &str =
    "Codex runs a new hook only after you trust it: it asks at its next start, or see `/hooks` there";

pub(crate) const CLAUDE_CODE: HookRule = HookRule {
    files: ["$CLAUDE/settings.json", ".claude/settings.json"],
    prompt: "UserPromptSubmit",
    session_start: Some("SessionStart"),
    timeout: 5,
    is_flat: false,
    note: None,
};

pub(crate) const CODEX: HookRule =
    HookRule { files: ["$CODEX/hooks.json", ".codex/hooks.json"], note: Some(TRUST), ..CLAUDE_CODE };

pub(crate) const GEMINI: HookRule = HookRule {
    files: ["~/.gemini/settings.json", ".gemini/settings.json"],
    prompt: "BeforeAgent",
    session_start: None,
    timeout: 5_000,
    ..CLAUDE_CODE
};

pub(crate) const COPILOT: HookRule = HookRule {
    files: ["~/.copilot/hooks/repertoire.json", ".github/hooks/repertoire.json"],
    prompt: "userPromptSubmitted",
    session_start: None,
    is_flat: true,
    ..CLAUDE_CODE
};

/// An event that a client tells a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// The prompt; `None` after a compaction.
    pub prompt: Option<String>,
    /// The file in which the client records the session.
    pub transcript: Option<PathBuf>,
}

impl HookEvent {
    /// Reads the event that a client with these hooks told in JSON; `None` if there is nothing to say to it.
    pub fn read(rule: &HookRule, input: &Value) -> Option<Self> {
        let event = input["hook_event_name"].as_str().unwrap_or(rule.prompt);
        let transcript = input["transcript_path"].as_str().map(PathBuf::from);
        if event == rule.prompt {
            let prompt = input["prompt"].as_str()?.trim();
            // A command of the client is not a task.
            let is_task = !prompt.is_empty() && !prompt.starts_with('/');
            return is_task.then(|| Self { prompt: Some(prompt.to_owned()), transcript });
        }
        let is_compaction = Some(event) == rule.session_start && input["source"] == COMPACTION;
        is_compaction.then_some(Self { prompt: None, transcript })
    }

    /// Returns the answer that adds `text` to the conversation.
    pub fn answer(&self, rule: &HookRule, text: &str) -> Value {
        let event = match self.prompt {
            Some(_) => rule.prompt,
            None => rule.session_start.unwrap_or(rule.prompt),
        };
        if rule.is_flat {
            return json!({ "additionalContext": text });
        }
        json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_compactions_are_read() {
        let read = |rule: &HookRule, input: Value| {
            HookEvent::read(rule, &input).map(|event| (event.prompt, event.transcript))
        };
        let prompt = |text: &str| Some((Some(text.to_owned()), None));
        let claude = |event: &str| json!({"hook_event_name": event, "prompt": " Fill the form. "});
        assert_eq!(read(&CLAUDE_CODE, claude("UserPromptSubmit")), prompt("Fill the form."));
        assert_eq!(read(&CLAUDE_CODE, claude("Stop")), None);
        assert_eq!(read(&GEMINI, claude("BeforeAgent")), prompt("Fill the form."));
        assert_eq!(read(&COPILOT, json!({"sessionId": "1", "prompt": "x"})), prompt("x"));
        let start = |source: &str| json!({"hook_event_name": "SessionStart", "source": source, "transcript_path": "/t"});
        assert_eq!(read(&CLAUDE_CODE, start("compact")), Some((None, Some("/t".into()))));
        for nothing in
            [start("startup"), json!({"prompt": "/clear"}), json!({"prompt": " "}), json!([]), json!(1)]
        {
            assert_eq!(read(&CLAUDE_CODE, nothing.clone()), None, "{nothing}");
        }
        assert_eq!(read(&GEMINI, start("compact")), None);
    }

    #[test]
    fn answers_have_the_form_of_the_client() {
        let prompt = HookEvent { prompt: Some("x".to_owned()), transcript: None };
        let compaction = HookEvent { prompt: None, ..prompt.clone() };
        assert_eq!(prompt.answer(&COPILOT, "a"), json!({"additionalContext": "a"}));
        let event =
            |event: &HookEvent, rule| event.answer(rule, "a")["hookSpecificOutput"]["hookEventName"].clone();
        assert_eq!(event(&prompt, &GEMINI), "BeforeAgent");
        assert_eq!(event(&compaction, &CLAUDE_CODE), "SessionStart");
    }
}
