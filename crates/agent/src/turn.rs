//! The loop: the model is asked, its calls are answered, until it calls no more.

use std::pin::pin;

use futures_util::future::{Either, select};
use repertoire_model::text::nearest;
use serde_json::{Value, json};

use crate::agent::{Agent, INVOKED};
use crate::client::{ClientError, ClientErrorKind, StopReason};
use crate::error::AgentError;
use crate::invocation;
use crate::message::{Block, Message, Role};
use crate::progress::{Observer, Progress};
use crate::subagent_tool;
use crate::usage::TokenUsage;

/// The result of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// The last answer of the model.
    pub text: String,
    /// Why it ended.
    pub ending: TurnEnding,
    /// The tokens that the task used.
    pub usage: TokenUsage,
}

/// Why a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnEnding {
    /// The model was done.
    Done,
    /// The last answer was as long as it may be.
    Length,
    /// The model or its service refused to go on.
    Refusal,
    /// The task took as many requests as it may.
    RequestLimit,
    /// The task took as many tokens as it may.
    TokenLimit,
}

impl Agent {
    /// Gives the agent a task, and returns when the model has answered it.
    ///
    /// `/name` at the start and `$name` anywhere load the skill of this name first.
    pub async fn run(&mut self, task: &str, observer: Observer<'_>) -> Result<TurnOutcome, AgentError> {
        self.begin(vec![Block::text(task)], observer).await?;
        self.load_invoked(task, observer).await?;
        self.go_on(observer).await
    }

    /// Works on a task that no person wrote: names of skills in it load nothing.
    pub(crate) async fn run_given(
        &mut self,
        content: Vec<Block>,
        observer: Observer<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        self.begin(content, observer).await?;
        self.go_on(observer).await
    }

    /// Goes on with the conversation as it is, as after an error or a resumed transcript.
    pub async fn go_on(&mut self, observer: Observer<'_>) -> Result<TurnOutcome, AgentError> {
        self.answer_lost_calls()?;
        let before = self.usage;
        let mut text = String::new();
        let mut ending = TurnEnding::RequestLimit;
        for _ in 0..self.options.limits.requests {
            if self.options.limits.tokens.is_some_and(|most| self.usage.total() - before.total() >= most) {
                ending = TurnEnding::TokenLimit;
                break;
            }
            self.compact_if_full(observer).await?;
            let stop = self.ask(observer).await?;
            let answer = self.messages.last().map(Message::text).unwrap_or_default();
            if !answer.is_empty() {
                text = answer;
            }
            if !self.answer_calls(observer).await? {
                ending = match stop {
                    StopReason::Done => TurnEnding::Done,
                    StopReason::Length => TurnEnding::Length,
                    StopReason::Refusal => TurnEnding::Refusal,
                };
                break;
            }
        }
        let usage = TokenUsage {
            requests: self.usage.requests - before.requests,
            input: self.usage.input - before.input,
            cache_read: self.usage.cache_read - before.cache_read,
            cache_write: self.usage.cache_write - before.cache_write,
            output: self.usage.output - before.output,
        };
        Ok(TurnOutcome { text, ending, usage })
    }

    /// Adds the task to the conversation, behind what changed in the library since the last one.
    async fn begin(&mut self, mut content: Vec<Block>, observer: Observer<'_>) -> Result<(), AgentError> {
        self.answer_lost_calls()?;
        if !self.messages.is_empty() {
            let note = self.session.delta().await;
            if !note.text.is_empty() {
                observer(Progress::Note(&note.text));
                content.insert(0, Block::text(note.text));
            }
        }
        self.append(Message { role: Role::User, content })
    }

    /// Loads the skills that a person names in a task.
    async fn load_invoked(&mut self, task: &str, observer: Observer<'_>) -> Result<(), AgentError> {
        let invoked = invocation::invoked(task, |name| self.session.lookup().invocable(name));
        self.report_unknown_skill(task, observer);
        if !invoked.is_empty() {
            let position = self.messages.len();
            let calls = invoked.iter().enumerate().map(|(number, name)| {
                self.session.lookup().invoke(name);
                let id = format!("{INVOKED}{position}_{number}");
                let options = self.session.options();
                let input = json!({options.tools.arguments.name.clone(): name.as_str()});
                Block::ToolUse { id, name: options.tools.names.load.clone(), input }
            });
            let content = calls.collect();
            self.append(Message { role: Role::Assistant, content })?;
            self.answer_calls(observer).await?;
        }
        Ok(())
    }

    /// Reports a skill that a person names at the start of a task and that is not there.
    fn report_unknown_skill(&self, task: &str, observer: Observer<'_>) {
        let Some(name) = invocation::first_name(task) else { return };
        if self.session.lookup().invocable(name.as_str()).is_none() {
            let snapshot = self.session.registry().snapshot();
            let names = snapshot.active().map(|entry| entry.name().as_str());
            let nearest =
                nearest(name.as_str(), names.filter(|name| self.session.lookup().invocable(name).is_some()));
            observer(Progress::UnknownSkill { name: name.as_str(), nearest });
        }
    }

    /// Asks the model and adds its answer to the conversation.
    async fn ask(&mut self, observer: Observer<'_>) -> Result<StopReason, AgentError> {
        let (tools, system) = (self.tools(), self.session.prompt().await?);
        let request = self.request(&tools, &system);
        let response = self.client.send(&request, observer, &self.cancellation).await?;
        observer(Progress::Answered { usage: &response.usage });
        self.count(response.usage)?;
        let message = &response.message;
        if response.stop == StopReason::Done
            && message.calls().next().is_none()
            && message.text().trim().is_empty()
        {
            // It is not kept: services refuse conversations with empty messages.
            return Err(ClientError::new(ClientErrorKind::Empty, "the model answered without content").into());
        }
        self.append(response.message)?;
        self.context_tokens = match response.usage.total() {
            // Some servers do not count.
            0 => self.approximate_tokens(),
            tokens => tokens,
        };
        Ok(response.stop)
    }

    /// Answers the calls in the last message, one after the other. Returns whether there were any.
    async fn answer_calls(&mut self, observer: Observer<'_>) -> Result<bool, AgentError> {
        let Some(last) = self.messages.last().cloned() else { return Ok(false) };
        let mut results = Vec::new();
        for call in last.calls() {
            observer(Progress::Call { name: call.name, input: call.input });
            let (content, is_error) = self.answer(call.name, call.input, observer).await?;
            observer(Progress::Answer { name: call.name, text: &content, is_error });
            results.push(Block::ToolResult { tool_use_id: call.id.to_owned(), content, is_error });
        }
        if results.is_empty() {
            return Ok(false);
        }
        self.append(Message { role: Role::User, content: results })?;
        Ok(true)
    }

    /// Answers one call. A problem is an answer, too; only a cancelled call is not answered.
    async fn answer(
        &mut self,
        name: &str,
        input: &Value,
        observer: Observer<'_>,
    ) -> Result<(String, bool), AgentError> {
        let cancellation = self.cancellation.clone();
        let answered = async {
            if self.options.subagents && name == subagent_tool::NAME {
                self.run_subagent(input, observer).await
            } else {
                let reply = self.session.call(name, input).await;
                Ok((reply.text().to_owned(), reply.is_error()))
            }
        };
        match select(pin!(answered), pin!(cancellation.cancelled())).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(AgentError::Cancelled),
        }
    }
}
