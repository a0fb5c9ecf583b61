//! Conversations in which a script speaks for the model and a simulated cache for its service.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use repertoire::tool::Definition;
use repertoire::{BoxFuture, Session};
use repertoire_model::tokens::Tokenizer;
use serde_json::{Value, json};

use super::prompt_cache::{CacheRules, PromptCache, Segment};
use super::script::{Action, ActionKind, Script};
use super::segments::{Segments, block_text};
use crate::agent::{Agent, AgentOptions};
use crate::cancel::Cancellation;
use crate::client::{Client, ClientError, Response, StopReason};
use crate::error::AgentError;
use crate::message::{Block, Message, Role};
use crate::progress::{Observer, Progress};
use crate::request::Request;
use crate::usage::TokenUsage;

/// The measured tokens of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measurement {
    /// The tokens of all requests and answers.
    pub usage: TokenUsage,
    /// The tokens of tools and system prompt in the first request.
    pub prefix_tokens: u64,
    /// The number of requests whose tools or system prompt differ from those of the request before.
    pub prefix_changes: u64,
    /// The answer to the first call that failed.
    pub failure: Option<String>,
}

/// Tools and system prompt that requests have in place of those of the session.
#[derive(Debug, Clone, Default)]
pub(super) struct FixedPrefix {
    pub(super) tools: Vec<Definition>,
    pub(super) system: String,
}

/// A conversation of an agent in which a script speaks for the model and a simulated cache for its service.
pub struct ScriptedConversation {
    agent: Agent,
    client: Arc<ScriptedClient>,
    failure: Option<String>,
}

impl ScriptedConversation {
    /// Returns a conversation in which nothing has been said.
    pub fn new(session: Session, rules: CacheRules, tokenizer: Tokenizer) -> Self {
        Self::with_prefix(session, rules, tokenizer, None)
    }

    pub(super) fn with_prefix(
        session: Session,
        rules: CacheRules,
        tokenizer: Tokenizer,
        prefix: Option<FixedPrefix>,
    ) -> Self {
        let state = ServiceState {
            cache: PromptCache::new(rules, tokenizer),
            segments: Segments::new(tokenizer),
            answers: VecDeque::new(),
            calls: 0,
            prefix: None,
            prefix_tokens: 0,
            prefix_changes: 0,
        };
        let client = Arc::new(ScriptedClient { prefix, state: Mutex::new(state) });
        let mut options = AgentOptions::new("scripted");
        options.compact_at = u64::MAX;
        options.limits.requests = u32::MAX;
        Self {
            agent: Agent::with_client(Arc::<ScriptedClient>::clone(&client), session, options),
            client,
            failure: None,
        }
    }

    /// Runs one turn: the user says `user`, the model makes `calls`, one in each request, and ends with `answer`.
    pub async fn turn(
        &mut self,
        user: &str,
        calls: &[(String, Value)],
        answer: &str,
    ) -> Result<(), AgentError> {
        self.client.expect(calls, answer);
        let failed = Mutex::new(None);
        let observer = |progress: Progress<'_>| {
            if let Progress::Answer { name, text, is_error: true } = progress {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert_with(|| format!("{name}: {text}"));
            }
        };
        self.agent.run(user, &observer).await?;
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.failure = self.failure.take().or(failed);
        Ok(())
    }

    /// Runs a whole script.
    pub(super) async fn run(&mut self, script: &Script) -> Result<Measurement, AgentError> {
        for turn in 1..=script.turns {
            let actions = script.actions.iter().filter(|action| action.turn == turn);
            let calls: Vec<(String, Value)> = actions.filter_map(|action| self.call(action)).collect();
            let user = filler("Question", turn, script.user_tokens);
            self.turn(&user, &calls, &filler("Answer", turn, script.assistant_tokens)).await?;
        }
        Ok(self.measurement())
    }

    /// Returns the call for an action; `None` for a load where everything is in the prompt already.
    fn call(&self, action: &Action) -> Option<(String, Value)> {
        let options = self.agent.session().options();
        let (names, arguments) = (&options.names, &options.arguments);
        let skill = action.skill.as_str();
        match action.action {
            ActionKind::Load | ActionKind::Unload if self.client.prefix.is_some() => None,
            ActionKind::Load => Some((names.load.clone(), json!({arguments.name.as_str(): skill}))),
            ActionKind::Unload => Some((names.unload.clone(), json!({arguments.name.as_str(): skill}))),
            ActionKind::Read => {
                let path = action.path.as_deref().unwrap_or_default();
                let input = json!({arguments.skill.as_str(): skill, arguments.path.as_str(): path});
                Some((names.read_file.clone(), input))
            }
        }
    }

    /// Returns the measured tokens so far.
    pub fn measurement(&self) -> Measurement {
        let state = self.client.state.lock().unwrap_or_else(PoisonError::into_inner);
        Measurement {
            usage: self.agent.usage(),
            prefix_tokens: state.prefix_tokens,
            prefix_changes: state.prefix_changes,
            failure: self.failure.clone(),
        }
    }
}

/// Returns a text of about so many tokens, another one for each turn.
fn filler(kind: &str, turn: u32, tokens: u32) -> String {
    let head = format!("{kind} {turn}:");
    head + &" word".repeat(tokens.saturating_sub(4) as usize)
}

/// A client that answers with a script.
struct ScriptedClient {
    prefix: Option<FixedPrefix>,
    state: Mutex<ServiceState>,
}

/// The state of the simulated service.
struct ServiceState {
    cache: PromptCache,
    segments: Segments,
    answers: VecDeque<Message>,
    calls: usize,
    /// Tools and system prompt of the last request.
    prefix: Option<Vec<Segment>>,
    prefix_tokens: u64,
    prefix_changes: u64,
}

impl ScriptedClient {
    /// Adds the answers of a turn.
    fn expect(&self, calls: &[(String, Value)], answer: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, input) in calls {
            state.calls += 1;
            let id = format!("call_{}", state.calls);
            let block = Block::ToolUse { id, name: name.clone(), input: input.clone() };
            state.answers.push_back(Message { role: Role::Assistant, content: vec![block] });
        }
        state.answers.push_back(Message { role: Role::Assistant, content: vec![Block::text(answer)] });
    }
}

impl ServiceState {
    fn answer(&mut self, request: &Request<'_>) -> Response {
        let (segments, prefix) = self.segments.of(request);
        let before = self.prefix.replace(segments[..prefix].to_vec());
        match before {
            None => self.prefix_tokens = segments[..prefix].iter().map(Segment::tokens).sum(),
            Some(before) => self.prefix_changes += u64::from(before != segments[..prefix]),
        }
        let message = self.answers.pop_front();
        let message =
            message.unwrap_or(Message { role: Role::Assistant, content: vec![Block::text("Done.")] });
        let mut usage = self.cache.send(&segments);
        let written = message.content.iter().map(|block| self.segments.segment(&block_text(block)).tokens());
        usage.output = written.sum();
        Response { message, stop: StopReason::Done, usage }
    }
}

impl Client for ScriptedClient {
    fn send<'a>(
        &'a self,
        request: &'a Request<'a>,
        _observer: Observer<'a>,
        _cancellation: &'a Cancellation,
    ) -> BoxFuture<'a, Result<Response, ClientError>> {
        Box::pin(async move {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(match &self.prefix {
                None => state.answer(request),
                Some(prefix) => {
                    let request =
                        Request::new(request.model, &prefix.tools, &prefix.system, request.messages);
                    state.answer(&request)
                }
            })
        })
    }
}
