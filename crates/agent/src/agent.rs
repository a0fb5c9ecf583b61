//! An agent: a model with a session, and what they have said.

use std::path::Path;
use std::sync::Arc;

use repertoire::tool::Definition;
use repertoire::{Session, SkillName};
use repertoire_model::tokens::approximate;
use serde_json::Value;

use crate::cancel::Cancellation;
use crate::client::Client;
use crate::error::AgentError;
use crate::message::{Block, Message, Role};
use crate::request::Request;
use crate::transcript::{Header, Transcript, TranscriptError};
use crate::usage::TokenUsage;
use crate::{subagent_tool, transcript};

/// The start of the ids of calls that stand for a person who names a skill.
pub(crate) const INVOKED: &str = "invoked_";

repertoire_model::options! {
    /// The choices of a host for an agent.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct AgentOptions {
        /// The name of the model.
        pub model: String,
        /// The most tokens of one answer; `None` for the service's limit.
        pub max_output_tokens: Option<u32>,
        /// The sampling temperature; `None` for the service's default.
        pub temperature: Option<f64>,
        /// The limits of one task.
        pub limits: TurnLimits,
        /// The number of tokens in the context from which it is replaced by a summary.
        pub compact_at: u64 = 150_000,
        /// The most tokens of skills that are put back after that.
        pub reattach_tokens: usize = 20_000,
        /// True if the model is offered the tool that runs sub-agents.
        pub subagents: bool,
    }
}

repertoire_model::options! {
    /// The limits of one task.
    #[derive(Debug, Clone, Copy)]
    #[non_exhaustive]
    pub struct TurnLimits {
        /// The most requests.
        pub requests: u32 = 50,
        /// The most tokens, cached or not, in and out; `None` for any number.
        pub tokens: Option<u64>,
    }
}

impl AgentOptions {
    /// Returns the usual choices for a model.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }
}

/// A model with a session, and their conversation.
pub struct Agent {
    pub(crate) client: Arc<dyn Client>,
    pub(crate) session: Session,
    pub(crate) options: AgentOptions,
    pub(crate) messages: Vec<Message>,
    pub(crate) usage: TokenUsage,
    /// The tokens in the context after the last answer, as the service counted them.
    pub(crate) context_tokens: u64,
    pub(crate) cancellation: Cancellation,
    pub(crate) transcript: Option<Transcript>,
    /// The number of sub-agents so far.
    pub(crate) subagents: u32,
}

impl Agent {
    /// Returns an agent that has said nothing yet.
    pub fn new(client: impl Client + 'static, session: Session, options: AgentOptions) -> Self {
        Self::with_client(Arc::new(client), session, options)
    }

    /// Returns an agent with a client that others use, too.
    pub fn with_client(client: Arc<dyn Client>, session: Session, options: AgentOptions) -> Self {
        Self {
            client,
            session,
            options,
            messages: Vec::new(),
            usage: TokenUsage::default(),
            context_tokens: 0,
            cancellation: Cancellation::new(),
            transcript: None,
            subagents: 0,
        }
    }

    /// Saves the conversation in a new file at `path`.
    pub fn save(&mut self, path: &Path, header: &Header) -> Result<(), TranscriptError> {
        let mut transcript = Transcript::create(path, header)?;
        for message in &self.messages {
            transcript.message(message)?;
        }
        self.transcript = Some(transcript);
        Ok(())
    }

    /// Goes on with the conversation in the file at `path`, and saves it there.
    ///
    /// The loaded skills are taken from its messages. Calls that were not answered when the program ended are
    /// answered with an error, and nothing is run again.
    pub fn resume(&mut self, path: &Path) -> Result<(), AgentError> {
        let (transcript, saved) = Transcript::resume(path)?;
        let transcript::SavedConversation { messages, usage } = saved;
        (self.messages, self.usage, self.transcript) = (messages, usage, Some(transcript));
        self.answer_lost_calls()?;
        for call in self.messages.iter().flat_map(Message::calls).filter(|call| call.id.starts_with(INVOKED))
        {
            let name = call.input.as_object().and_then(|input| input.values().next()).and_then(Value::as_str);
            if let Some(name) = name.and_then(SkillName::new) {
                self.session.lookup().invoke(&name);
            }
        }
        self.observe();
        self.context_tokens = self.approximate_tokens();
        Ok(())
    }

    /// Saves that the conversation goes on as `header` says, with another service or model than before.
    pub fn replace_header(&mut self, header: &Header) -> Result<(), TranscriptError> {
        self.transcript.as_mut().map_or(Ok(()), |transcript| transcript.replace_header(header))
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the messages so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the tokens that the conversation has used so far, those of sub-agents included.
    pub fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Returns the file that the conversation is saved in.
    pub fn transcript(&self) -> Option<&Path> {
        self.transcript.as_ref().map(Transcript::path)
    }

    /// Returns what cancels the task that runs.
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }

    /// Makes the agent stop when `cancellation` is cancelled, and not by the one it had.
    pub fn set_cancellation(&mut self, cancellation: Cancellation) {
        self.cancellation = cancellation;
    }

    /// Returns the tools that the model may call now, in their order.
    pub(crate) fn tools(&self) -> Vec<Definition> {
        let mut tools = self.session.tools().to_vec();
        if self.options.subagents {
            // In front of all others, because those of loaded skills may be appended.
            tools.insert(0, subagent_tool::definition(&self.session));
        }
        tools
    }

    /// Returns the request for the next answer.
    pub(crate) fn request<'a>(&'a self, tools: &'a [Definition], system: &'a str) -> Request<'a> {
        Request {
            without_calls: self.is_stuck(),
            max_output_tokens: self.options.max_output_tokens,
            temperature: self.options.temperature,
            ..Request::new(&self.options.model, tools, system, &self.messages)
        }
    }

    /// Returns whether the model made the same calls twice in a row, as small ones do without end.
    fn is_stuck(&self) -> bool {
        let [.., first, first_answers, second, second_answers] = self.messages.as_slice() else {
            return false;
        };
        let calls = |message: &Message| -> Vec<(String, Value)> {
            // Those in the place of a person are not the model's.
            let own = message.calls().filter(|call| !call.id.starts_with(INVOKED));
            own.map(|call| (call.name.to_owned(), call.input.clone())).collect()
        };
        let answers = |message: &Message| -> Vec<String> {
            let answers = message.content.iter().filter_map(|block| match block {
                Block::ToolResult { content, .. } => Some(content.clone()),
                _ => None,
            });
            answers.collect()
        };
        let last = calls(second);
        let is_again = !last.is_empty() && calls(first) == last;
        // The first load has the instructions, the second one an acknowledgement.
        let is_load = last.iter().all(|(name, _)| *name == self.session.options().tools.names.load);
        is_again && (is_load || answers(first_answers) == answers(second_answers))
    }

    /// Adds a message to the conversation.
    pub(crate) fn append(&mut self, message: Message) -> Result<(), AgentError> {
        // Saved first: what the model is sent can be resumed.
        if let Some(transcript) = &mut self.transcript {
            transcript.message(&message)?;
        }
        self.messages.push(message);
        Ok(())
    }

    pub(crate) fn count(&mut self, usage: TokenUsage) -> Result<(), AgentError> {
        self.usage += usage;
        if let Some(transcript) = &mut self.transcript {
            transcript.usage(usage)?;
        }
        Ok(())
    }

    /// Answers the calls of the last message that have no answer.
    pub(crate) fn answer_lost_calls(&mut self) -> Result<(), AgentError> {
        let Some(last) = self.messages.last().filter(|last| last.role == Role::Assistant) else {
            return Ok(());
        };
        let lost: Vec<Block> = last
            .calls()
            .map(|call| Block::ToolResult {
                tool_use_id: call.id.to_owned(),
                content: "Error: the call was interrupted; whether it had an effect is not known.".to_owned(),
                is_error: true,
            })
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        self.append(Message { role: Role::User, content: lost })
    }

    /// Returns about how many tokens the messages have.
    pub(crate) fn approximate_tokens(&self) -> u64 {
        let texts = self.messages.iter().filter_map(|message| serde_json::to_string(message).ok());
        texts.map(|text| approximate(&text) as u64).sum()
    }

    /// Makes the session agree with the messages.
    fn observe(&self) {
        let messages: Vec<_> =
            self.messages.iter().filter_map(|message| serde_json::to_value(message).ok()).collect();
        self.session.observe(&messages);
    }
}
