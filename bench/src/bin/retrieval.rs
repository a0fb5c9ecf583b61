//! Measures how well and how fast skills are found, beside other ways to find them.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;

use anyhow::Result;
use bench::pool;
use bench::ranker::{Parts, Product, Ranker, measure};
use clap::Parser;

/// Measures how well and how fast skills are found, beside other ways to find them
#[derive(Parser)]
struct Arguments {
    /// A directory that holds `skills/`; every SKILL.md below it is one document
    #[arg(long, value_name = "DIR")]
    pool: PathBuf,
    /// The queries: lines of {"query": TEXT, "gold": [PATH, …]}
    #[arg(long, value_name = "FILE.jsonl")]
    queries: PathBuf,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let skills = pool::skills(&arguments.pool)?;
    let queries = pool::queries(&arguments.queries)?;
    let mut rankers: Vec<Box<dyn Ranker>> = vec![
        Box::new(Product::shipped()),
        Box::new(Product::words()),
        Box::new(Product::plain("bm25 name+description", Parts::NameAndDescription)),
        Box::new(Product::plain("bm25 everything", Parts::Everything)),
    ];
    if !arguments.json {
        println!(
            "{:<24} {:>6} {:>6} {:>6} {:>7} {:>9} {:>9} {:>8}",
            "ranker", "hit@1", "r@5", "r@10", "ndcg@10", "p50 µs", "p99 µs", "index s"
        );
    }
    for ranker in &mut rankers {
        let (figures, _) = measure(ranker.as_mut(), &skills, &queries);
        if arguments.json {
            println!("{}", serde_json::to_string(&figures)?);
        } else {
            println!(
                "{:<24} {:>6.3} {:>6.3} {:>6.3} {:>7.3} {:>9.0} {:>9.0} {:>8.2}",
                figures.ranker,
                figures.hit1,
                figures.r5,
                figures.r10,
                figures.ndcg10,
                figures.p50_us,
                figures.p99_us,
                figures.index_s
            );
        }
    }
    Ok(())
}
