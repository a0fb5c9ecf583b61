//! Compaction: a conversation that has become too long is replaced by a summary of it.

use repertoire::session::KeptContext;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::message::{Block, Message, Role};
use crate::progress::{Observer, Progress};

/// The request for a summary. It is appended, so that the service reads the rest from its cache.
const REQUEST: &str = "The conversation is about to be replaced by a summary, because it has become too long. Write that summary now, \
                       without calling a tool: the task in the words of the user, what was done and found so far with exact names, paths, \
                       values and errors, what is left to do, and what the user wants or forbids. Instructions of skills are kept \
                       elsewhere: leave them out.";

/// The most characters of the task that are repeated beside the summary.
const MAX_TASK_CHARACTERS: usize = 20_000;

/// The words before the task in a conversation that was compacted.
const TASK: &str = "The user's last message was:\n\n";

/// The words behind it.
const GO_ON: &str = "\n\nGo on from there.";

impl Agent {
    /// Compacts the conversation if its context has become too long.
    pub(crate) async fn compact_if_full(&mut self, observer: Observer<'_>) -> Result<(), AgentError> {
        // One that fits in two messages would not get shorter.
        if self.context_tokens >= self.options.compact_at && self.messages.len() > 2 {
            self.compact(observer).await?;
        }
        Ok(())
    }

    /// Replaces the conversation by a summary that the model writes, puts the loaded skills back within the
    /// budget, and brings the catalog up to date.
    ///
    /// If the model gives no summary, the conversation stays as it is.
    pub async fn compact(&mut self, observer: Observer<'_>) -> Result<(), AgentError> {
        self.answer_lost_calls()?;
        let (tools, system) = (self.tools(), self.session.prompt().await?);
        let mut asked = self.messages.clone();
        match asked.last_mut() {
            // Two messages of one author in a row are refused by some services.
            Some(last) if last.role == Role::User => last.content.push(Block::text(REQUEST)),
            _ => asked.push(Message::user(REQUEST)),
        }
        let request = crate::Request {
            max_output_tokens: self.options.max_output_tokens,
            temperature: self.options.temperature,
            ..crate::Request::new(&self.options.model, &tools, &system, &asked)
        };
        let response = self.client.send(&request, &|_| {}, &self.cancellation).await?;
        self.count(response.usage)?;
        let summary = response.message.text();
        self.context_tokens = 0;
        if summary.trim().is_empty() {
            return Ok(());
        }
        let replaced = self.messages.len();
        let task = self.task();
        self.session.compacted(&KeptContext::Skills(Vec::new())).await;
        let skills = self.session.reattach(self.options.reattach_tokens).await.text;
        let mut content =
            vec![Block::text(format!("Summary of the conversation so far:\n\n{}", summary.trim()))];
        content.extend(Some(skills).filter(|text| !text.is_empty()).map(Block::text));
        content.push(Block::text(format!("{TASK}{task}{GO_ON}")));
        let messages = vec![Message { role: Role::User, content }];
        if let Some(transcript) = &mut self.transcript {
            transcript.compaction(&messages)?;
        }
        self.messages = messages;
        observer(Progress::Compaction { messages: replaced });
        Ok(())
    }

    /// Returns the last text of the user.
    fn task(&self) -> String {
        let users = self.messages.iter().rev().filter(|message| message.role == Role::User);
        let mut texts = users.filter_map(|message| match message.content.last() {
            Some(Block::Text { text }) => Some(text),
            _ => None,
        });
        let text = texts.next().map(String::as_str).unwrap_or_default();
        // One that was compacted before has it in these words.
        let text = text.strip_prefix(TASK).and_then(|text| text.strip_suffix(GO_ON)).unwrap_or(text);
        text.chars().take(MAX_TASK_CHARACTERS).collect()
    }
}
