//! A thin agent loop over Repertoire's sessions.
//!
//! The loop, the context and the clients of model services are here; all an agent knows is in skills. A
//! request consists of tools, system prompt and messages, in this order. Loading a skill, reading its files
//! and library changes only append messages, so a prompt cache keeps its prefix until a compaction.
//!
//! ```no_run
//! use repertoire::Library;
//! use repertoire_agent::{Agent, AgentOptions, ModelApi, ModelClient, ModelClientOptions};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let library = Library::builder().directory("skills").open().await?;
//! let mut options = ModelClientOptions::default();
//! options.base_url = Some("http://127.0.0.1:8080/v1".to_owned());
//! let client = ModelClient::new(ModelApi::OpenAi, options);
//! let mut agent = Agent::new(client, library.session().await?, AgentOptions::new("qwen"));
//! let outcome = agent.run("Which month sold most in data/sales.csv?", &|_| {}).await?;
//! println!("{}", outcome.text);
//! # Ok(())
//! # }
//! ```

mod message;
mod usage;
mod cancel;
mod cache;
mod request;
mod progress;
mod client;
mod error;
mod invocation;
mod transcript;
mod agent;
mod compact;
mod subagent_tool;
mod subagent;
mod turn;

pub use agent::{Agent, AgentOptions, TurnLimits};
pub use cache::Breakpoints;
pub use cancel::Cancellation;
pub use client::{
    Client, ClientError, ClientErrorKind, ModelApi, ModelClient, ModelClientOptions, Response, StopReason,
};
pub use error::AgentError;
pub use message::{Block, Call, Message, Role};
pub use progress::{Observer, Progress};
pub use request::Request;
pub use subagent_tool::NAME as SUBAGENT_TOOL;
pub use transcript::{Header, Transcript, TranscriptError};
pub use turn::{TurnEnding, TurnOutcome};
pub use usage::TokenUsage;
