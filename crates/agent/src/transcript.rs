//! Conversations saved as files, one JSON value per line.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::client::ModelApi;
use crate::message::Message;
use crate::usage::TokenUsage;

const VERSION: u32 = 1;

/// The largest transcript that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The start of a line with a header.
const HEADER_START: &[u8] = br#"{"type":"conversation","#;

/// The first line of a transcript, which is repeated where something in it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The id of the conversation.
    pub id: String,
    /// The API of the service.
    pub provider: ModelApi,
    /// The name of the model.
    pub model: String,
    /// The agent that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Header {
    /// Returns the header of a conversation.
    pub fn new(
        id: impl Into<String>,
        provider: ModelApi,
        model: impl Into<String>,
        agent: Option<&str>,
    ) -> Self {
        let (id, model, agent) = (id.into(), model.into(), agent.map(str::to_owned));
        Self { version: VERSION, id, provider, model, agent }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Conversation(Header),
    Message {
        message: Message,
    },
    Usage {
        usage: TokenUsage,
    },
    /// All messages before it were replaced by these.
    Compaction {
        messages: Vec<Message>,
    },
}

/// A conversation that is written to a file as it goes on.
///
/// Only its owner can read the file.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
}

/// A conversation as it was read from a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SavedConversation {
    pub(crate) messages: Vec<Message>,
    pub(crate) usage: TokenUsage,
}

/// The error of reading or writing a transcript.
#[derive(Debug, thiserror::Error)]
#[error("the transcript {}: {problem}", path.display())]
pub struct TranscriptError {
    path: PathBuf,
    problem: String,
    source: Option<io::Error>,
}

impl TranscriptError {
    /// Returns whether there is no such file.
    pub fn is_missing(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

impl Transcript {
    /// Creates the file at `path`; there must not be one.
    pub fn create(path: &Path, header: &Header) -> Result<Self, TranscriptError> {
        let failed = |error| failure(path, "it cannot be created", error);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        private(&mut options);
        let file = options.open(path).map_err(failed)?;
        lock(&file, path)?;
        let mut transcript = Self { path: path.to_owned(), file };
        transcript.write(&Line::Conversation(header.clone()))?;
        Ok(transcript)
    }

    /// Returns the newest header in the file at `path`; a conversation may go on with another model.
    pub fn header(path: &Path) -> Result<Header, TranscriptError> {
        let unreadable = |error| failure(path, "it cannot be read", error);
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(problem(path, "it is not a regular file".to_owned()));
        }
        let file = File::open(path).map_err(unreadable)?;
        let mut reader = BufReader::new(file.take(MAX_BYTES));
        let (mut newest, mut line) = (Vec::new(), Vec::new());
        while reader.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
            if newest.is_empty() || (line.starts_with(HEADER_START) && line.ends_with(b"\n")) {
                newest.clone_from(&line);
            }
            line.clear();
        }
        match serde_json::from_slice(&newest) {
            Ok(Line::Conversation(header)) if header.version <= VERSION => Ok(header),
            Ok(Line::Conversation(header)) => Err(problem(
                path,
                format!("it has version {} of the format; this program knows {VERSION}", header.version),
            )),
            _ => Err(problem(path, "it is not a transcript of a conversation".to_owned())),
        }
    }

    /// Opens the file at `path` to go on with its conversation.
    ///
    /// A last line that is cut off, as after a crash, is removed.
    pub(crate) fn resume(path: &Path) -> Result<(Self, SavedConversation), TranscriptError> {
        Self::header(path)?;
        let failed = |error| failure(path, "it cannot be read", error);
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() > MAX_BYTES {
            return Err(problem(path, "it is larger than 256 MiB".to_owned()));
        }
        lock(&file, path)?;
        let mut reader = BufReader::new(file.try_clone().map_err(failed)?.take(MAX_BYTES));
        let mut saved = SavedConversation { messages: Vec::new(), usage: TokenUsage::default() };
        let (mut complete, mut number) = (0, 0);
        let mut text = Vec::new();
        loop {
            text.clear();
            let count = reader.read_until(b'\n', &mut text).map_err(failed)?;
            if !text.ends_with(b"\n") {
                break;
            }
            number += 1;
            let line = serde_json::from_slice(&text)
                .map_err(|error| problem(path, format!("line {number} cannot be understood: {error}")))?;
            match line {
                Line::Conversation(_) => {}
                Line::Message { message } => saved.messages.push(message),
                Line::Usage { usage } => saved.usage += usage,
                Line::Compaction { messages } => saved.messages = messages,
            }
            complete += count as u64;
        }
        file.set_len(complete).map_err(failed)?;
        Ok((Self { path: path.to_owned(), file }, saved))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes another header, which counts from then on.
    pub(crate) fn replace_header(&mut self, header: &Header) -> Result<(), TranscriptError> {
        self.write(&Line::Conversation(header.clone()))
    }

    pub(crate) fn message(&mut self, message: &Message) -> Result<(), TranscriptError> {
        self.write(&Line::Message { message: message.clone() })
    }

    pub(crate) fn usage(&mut self, usage: TokenUsage) -> Result<(), TranscriptError> {
        self.write(&Line::Usage { usage })
    }

    pub(crate) fn compaction(&mut self, messages: &[Message]) -> Result<(), TranscriptError> {
        self.write(&Line::Compaction { messages: messages.to_vec() })
    }

    fn write(&mut self, line: &Line) -> Result<(), TranscriptError> {
        let mut text = serde_json::to_vec(line).map_err(|error| problem(&self.path, error.to_string()))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(|error| failure(&self.path, "it cannot be written", error))
    }
}

/// Locks the file for as long as it is open.
fn lock(file: &File, path: &Path) -> Result<(), TranscriptError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(problem(path, "another program is using it".to_owned())),
        // Where files cannot be locked, nothing is.
        _ => Ok(()),
    }
}

/// Lets only the owner read what is created.
#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

/// Files are as private as the directory that they are created in.
#[cfg(not(unix))]
fn private(_options: &mut OpenOptions) {}

fn failure(path: &Path, what: &str, error: io::Error) -> TranscriptError {
    TranscriptError { path: path.to_owned(), problem: format!("{what}: {error}"), source: Some(error) }
}

fn problem(path: &Path, problem: String) -> TranscriptError {
    TranscriptError { path: path.to_owned(), problem, source: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::new("1-2-3", ModelApi::OpenAi, "qwen", None)
    }

    #[test]
    fn a_conversation_is_read_back_and_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let mut transcript = Transcript::create(&path, &header()).unwrap();
        transcript.message(&Message::user("one")).unwrap();
        transcript.usage(TokenUsage { requests: 1, input: 5, ..TokenUsage::default() }).unwrap();
        transcript.compaction(&[Message::user("summary")]).unwrap();
        drop(transcript);
        let (mut transcript, saved) = Transcript::resume(&path).unwrap();
        assert_eq!(saved.messages, [Message::user("summary")]);
        assert_eq!(saved.usage.input, 5);
        transcript.message(&Message::user("two")).unwrap();
        let in_use = Transcript::resume(&path).unwrap_err().to_string();
        assert!(in_use.ends_with("another program is using it"), "{in_use}");
        assert_eq!(Transcript::header(&path).unwrap(), header());
        let other = Header::new("1-2-3", ModelApi::Anthropic, "claude", None);
        transcript.replace_header(&other).unwrap();
        drop(transcript);
        assert_eq!(Transcript::resume(&path).unwrap().1.messages.len(), 2);
        assert_eq!(Transcript::header(&path).unwrap(), other);
    }

    #[test]
    fn a_line_that_was_cut_off_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let mut transcript = Transcript::create(&path, &header()).unwrap();
        transcript.message(&Message::user("one")).unwrap();
        transcript.file.write_all(b"{\"type\":\"mess").unwrap();
        drop(transcript);
        let (mut transcript, saved) = Transcript::resume(&path).unwrap();
        assert_eq!(saved.messages.len(), 1);
        transcript.message(&Message::user("two")).unwrap();
        drop(transcript);
        assert_eq!(Transcript::resume(&path).unwrap().1.messages.len(), 2);
    }

    #[test]
    fn other_files_are_errors_that_name_the_file_and_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        assert!(Transcript::header(&path).unwrap_err().is_missing());
        std::fs::write(&path, "hello\n").unwrap();
        assert!(
            Transcript::resume(&path)
                .unwrap_err()
                .to_string()
                .ends_with("it is not a transcript of a conversation")
        );
        std::fs::remove_file(&path).unwrap();
        let mut transcript = Transcript::create(&path, &header()).unwrap();
        transcript.file.write_all(b"{}\n").unwrap();
        drop(transcript);
        assert!(Transcript::resume(&path).unwrap_err().to_string().contains("line 2 cannot be understood"));
        assert!(Transcript::create(&path, &header()).is_err(), "nothing is overwritten");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        Transcript::create(&path, &header()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
