//! Sub-agents: a task in a conversation of its own, of which only the result comes back.

use std::path::Path;

use repertoire::session::SubagentOptions;
use serde_json::Value;

use crate::agent::{Agent, AgentOptions};
use crate::error::AgentError;
use crate::message::Block;
use crate::progress::{Observer, Progress};
use crate::subagent_tool::NAME;
use crate::transcript::{Header, Transcript};
use crate::turn::TurnEnding;

/// The most characters of a sub-agent's result.
const MAX_RESULT_CHARACTERS: usize = 16_000;

impl Agent {
    /// Runs a task in its own session, whose skills the policy of this one decides, and returns the result.
    pub(crate) async fn run_subagent(
        &mut self,
        input: &Value,
        observer: Observer<'_>,
    ) -> Result<(String, bool), AgentError> {
        let Some(task) = input["task"].as_str().filter(|task| !task.trim().is_empty()) else {
            return Ok((format!("Error: {NAME} needs `task`, a text."), true));
        };
        let mut options = SubagentOptions::default();
        options.agent = input["agent"].as_str().map(str::to_owned);
        let session = match self.session.subagent_with(&options).await {
            Ok(session) => session,
            Err(error) => return Ok((format!("Error: no sub-agent was started: {error}"), true)),
        };
        self.subagents += 1;
        let choices = AgentOptions { subagents: false, ..self.options.clone() };
        let mut agent = Self::with_client(self.client.clone(), session, choices);
        agent.cancellation = self.cancellation.clone();
        self.save_subagent(&mut agent, options.agent.as_deref())?;
        // Its answer is for this agent; people see its calls.
        let quiet = |progress: Progress<'_>| {
            if !matches!(progress, Progress::Text(_)) {
                observer(progress);
            }
        };
        let inherited = agent.session.reattach(agent.options.reattach_tokens).await.text;
        let mut content: Vec<Block> =
            Some(inherited).filter(|text| !text.is_empty()).map(Block::text).into_iter().collect();
        content.push(Block::text(task));
        let outcome = Box::pin(agent.run_given(content, &quiet)).await;
        self.count(agent.usage)?;
        match outcome {
            Ok(outcome) => {
                let mut text: String = outcome.text.chars().take(MAX_RESULT_CHARACTERS).collect();
                if outcome.text.chars().count() > MAX_RESULT_CHARACTERS {
                    text.push_str("\n[cut: the result was longer]");
                }
                if text.trim().is_empty() {
                    text = "The sub-agent gave no answer.".to_owned();
                }
                if outcome.ending != TurnEnding::Done {
                    text.push_str("\n[the sub-agent did not finish: it reached a limit]");
                }
                Ok((text, false))
            }
            Err(AgentError::Cancelled) => Err(AgentError::Cancelled),
            Err(error) => Ok((format!("Error: the sub-agent failed: {error}"), true)),
        }
    }

    /// Saves the conversation of a sub-agent beside that of this one.
    fn save_subagent(&mut self, agent: &mut Self, name: Option<&str>) -> Result<(), AgentError> {
        let Some(path) = self.transcript().map(Path::to_owned) else { return Ok(()) };
        let header = Transcript::header(&path)?;
        let file = |number: u32| path.with_file_name(format!("{}.{number}.jsonl", header.id));
        // A conversation that is resumed has some already.
        while file(self.subagents).is_file() {
            self.subagents += 1;
        }
        let (id, path) = (format!("{}.{}", header.id, self.subagents), file(self.subagents));
        agent.save(&path, &Header::new(id, header.provider, header.model, name))?;
        Ok(())
    }
}
