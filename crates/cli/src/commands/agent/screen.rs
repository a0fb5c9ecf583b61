//! Shows a running conversation: what the model says on standard output, everything else on standard error.

use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use repertoire_agent::{Progress, TokenUsage};
use repertoire_model::tokens::approximate;
use serde_json::Value;

use crate::ui::{Style, Ui, cut, escape, escape_lines};

/// The most columns of a call or an answer.
const COLUMNS: usize = 100;

/// Shows a conversation.
pub(super) struct Screen {
    is_json: bool,
    out_is_terminal: bool,
    is_coloured: bool,
    columns: usize,
    /// `true` if the last text did not end its line.
    is_open: Mutex<bool>,
}

impl Screen {
    /// Returns a screen with the choices of `ui`.
    pub(super) fn new(ui: &Ui) -> Self {
        Self {
            is_json: ui.is_json(),
            out_is_terminal: ui.out_is_terminal(),
            is_coloured: ui.is_err_coloured(),
            columns: ui.width().min(COLUMNS),
            is_open: Mutex::new(false),
        }
    }

    /// Shows something that happened.
    pub(super) fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Text(text) if !self.is_json => self.text(text),
            Progress::Call { name, input } => {
                self.line(Style::Faint, &format!("-> {name} {}", arguments(input)))
            }
            Progress::Answer { text, is_error: true, .. } => {
                self.line(Style::Warning, &format!("<- {}", text.lines().next().unwrap_or_default()));
            }
            Progress::Answer { text, .. } => {
                self.line(Style::Faint, &format!("<- about {} tokens", approximate(text)));
            }
            Progress::Retry { error, pause } => {
                self.line(Style::Warning, &format!("trying again in {pause:.0?}: {error}"));
            }
            Progress::Note(_) => self.line(Style::Faint, "the model is told what changed in the library"),
            Progress::UnknownSkill { name, nearest } => {
                let meant =
                    nearest.map(|nearest| format!("; did you mean `/{nearest}`?")).unwrap_or_default();
                self.line(Style::Warning, &format!("warning: there is no skill `{name}` to load{meant}"));
            }
            Progress::Compaction { messages } => {
                self.line(Style::Faint, &format!("{messages} messages were replaced by a summary"));
            }
            _ => {}
        }
    }

    /// Writes a piece of what the model says.
    fn text(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut out = io::stdout().lock();
        let shown = if self.out_is_terminal { escape_lines(text) } else { text.into() };
        // The exit code says that the reader has gone; the conversation is saved.
        let _ = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = !text.ends_with('\n');
    }

    /// Ends the line that the model wrote last.
    pub(super) fn end_line(&self) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_open) {
            let mut out = io::stdout().lock();
            let _ = out.write_all(b"\n").and_then(|()| out.flush());
        }
    }

    /// Writes a line to standard error.
    fn line(&self, style: Style, text: &str) {
        self.end_line();
        let text = escape(text);
        self.write(style, &cut(&text, self.columns));
    }

    /// Writes a line of any length to standard error.
    fn write(&self, style: Style, text: &str) {
        let text = style.paint(text, self.is_coloured);
        // Nothing can be reported when standard error is closed.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Writes the tokens that a task used, and the id of the conversation.
    pub(super) fn usage(&self, usage: &TokenUsage, id: &str) {
        let input = usage.whole_input();
        let share = (usage.cache_read * 100).checked_div(input).unwrap_or_default();
        let requests = if usage.requests == 1 { "request" } else { "requests" };
        self.end_line();
        self.write(
            Style::Faint,
            &format!(
                "{} {requests}, {input} tokens in ({} from the cache, {share} %), {} out; conversation {id}",
                usage.requests, usage.cache_read, usage.output
            ),
        );
    }
}

/// Returns the arguments of a call on one line.
fn arguments(input: &Value) -> String {
    match input {
        Value::Object(map) => {
            let words = map.iter().map(|(key, value)| format!("{key}={value}"));
            words.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
