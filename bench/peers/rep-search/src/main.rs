//! Measures how well and how fast Repertoire finds skills beside other engines, and with many skills.

mod compare;
mod encoder;
mod fts5;
mod library;
mod scale;
mod tantivy_peer;

use std::path::PathBuf;

use anyhow::Result;
use bench::pool::{self, Labelled, Skill};
use clap::{Args, Parser, Subcommand};

/// Measures how Repertoire finds skills
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Beside tantivy, FTS5 and, where it is installed, a sentence encoder
    Compare {
        #[command(flatten)]
        pool: Pool,
        /// The command of a sentence encoder, its words parted by spaces; left out where it cannot be started
        #[arg(long, value_name = "COMMAND")]
        encoder: Option<String>,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// The product alone: memory, the file, and one changed skill
    Scale {
        #[command(flatten)]
        pool: Pool,
        /// Where the index is written to
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// What a process needs that reads the index which `scale` wrote
    Load {
        /// The queries
        #[arg(long, value_name = "FILE.jsonl")]
        queries: PathBuf,
        /// Where the index was written to
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// One changed skill of a library on disk, which is put back
    Library {
        /// The directory that holds the skills
        directory: PathBuf,
        /// How many changes are made
        #[arg(long, value_name = "N", default_value_t = 100)]
        changes: usize,
    },
}

/// The documents and queries of a benchmark.
#[derive(Args)]
struct Pool {
    /// A directory that holds `skills/`; every SKILL.md below it is one document
    #[arg(long, value_name = "DIR")]
    pool: PathBuf,
    /// The queries: lines of {"query": TEXT, "gold": [PATH, …]}
    #[arg(long, value_name = "FILE.jsonl")]
    queries: PathBuf,
    /// Take the pool N times over, later copies under other names
    #[arg(long, value_name = "N", default_value_t = 1)]
    times: usize,
    /// Take every Nth query only
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
}

impl Pool {
    fn read(&self) -> Result<(Vec<Skill>, Vec<Labelled>)> {
        let queries = pool::queries(&self.queries)?.into_iter().step_by(self.every.max(1)).collect();
        Ok(pool::repeated(pool::skills(&[&self.pool])?, queries, self.times))
    }
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Compare { pool, encoder, json } => {
            let (skills, queries) = pool.read()?;
            compare::run(&skills, &queries, encoder.as_deref(), json)
        }
        Task::Scale { pool, file } => {
            let (skills, queries) = pool.read()?;
            scale::run(&skills, &queries, &file)
        }
        Task::Load { queries, file } => scale::load(&queries, &file),
        Task::Library { directory, changes } => library::run(&directory, changes),
    }
}
