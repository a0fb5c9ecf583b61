//! A sentence encoder behind a pipe: documents and queries as lines of JSON, rankings back.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use bench::pool::Skill;
use bench::ranker::Ranker;
use serde_json::{Value, json};

pub struct Encoder {
    name: String,
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
}

impl Encoder {
    /// Starts `command`, which writes its name first.
    pub fn start(command: &str) -> Result<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().context("its command is empty")?;
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{program} cannot be started"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("it has no pipes")
        };
        let mut encoder = Self {
            name: String::new(),
            child,
            input: Some(BufWriter::new(input)),
            output: BufReader::new(output),
        };
        let hello = encoder.read()?;
        encoder.name = hello["name"].as_str().context("it does not say its name")?.to_owned();
        Ok(encoder)
    }

    fn write(&mut self, line: &Value) -> Result<()> {
        let input = self.input.as_mut().context("it is gone")?;
        Ok(writeln!(input, "{line}")?)
    }

    fn read(&mut self) -> Result<Value> {
        if let Some(input) = self.input.as_mut() {
            input.flush()?;
        }
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("it ended")
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn fill(&mut self, skills: &[Skill]) -> Result<()> {
        for skill in skills {
            let document = &skill.document;
            let text = format!("{}. {}\n{}", document.name, document.description, skill.body);
            self.write(&json!({ "document": text }))?;
        }
        self.write(&json!({ "index": skills.len() }))?;
        self.read().map(drop)
    }

    fn search(&mut self, query: &str) -> Result<Vec<usize>> {
        self.write(&json!({ "query": query }))?;
        let places = self.read()?;
        let places = places["ranking"].as_array().context("there is no ranking in its answer")?;
        Ok(places.iter().filter_map(|place| Some(place.as_u64()? as usize)).collect())
    }
}

impl Ranker for Encoder {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn index(&mut self, skills: &[Skill]) {
        self.fill(skills).expect("the encoder indexes");
    }

    fn rank(&mut self, query: &str) -> Vec<usize> {
        self.search(query).expect("the encoder answers")
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // It ends when there is nothing more to read.
        self.input = None;
        let _ = self.child.wait();
    }
}
