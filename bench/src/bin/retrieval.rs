//! Measures how well and how fast skills are found, beside other ways to find them.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use bench::figures::{Figures, Quality};
use bench::pool::{self, Labelled, Skill, Unfindable};
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
    /// Then print how good the ranker is for each author's queries, beside words alone
    #[arg(long)]
    by_author: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let skills = pool::skills(&arguments.pool)?;
    let queries = pool::queries(&arguments.queries)?;
    warn_of_unfindable(&skills, &queries);
    let mut rankers: Vec<Box<dyn Ranker>> = vec![
        Box::new(Product::shipped()),
        Box::new(Product::words()),
        Box::new(Product::plain("bm25 name+description", Parts::NameAndDescription)),
        Box::new(Product::plain("bm25 everything", Parts::Everything)),
    ];
    if !arguments.json {
        println!("{}", Figures::heads());
    }
    let mut found: Vec<Vec<Quality>> = Vec::new();
    for ranker in &mut rankers {
        let (figures, qualities) = measure(ranker.as_mut(), &skills, &queries);
        if arguments.json {
            println!("{}", serde_json::to_string(&figures)?);
        } else {
            println!("{}", figures.row());
        }
        found.push(qualities);
    }
    if arguments.by_author
        && let [shipped, words, ..] = &found[..]
    {
        print_authors(&queries, shipped, words, arguments.json);
    }
    Ok(())
}

/// Warns of queries without any correct document in the pool: figures of another pool would look like those
/// of a bad ranker.
fn warn_of_unfindable(skills: &[Skill], queries: &[Labelled]) {
    let Unfindable { all, some } = pool::unfindable(skills, queries);
    let total = queries.len();
    if all > 0 {
        eprintln!("{all} of {total} queries have no skill of `gold` in the pool; they count as not found");
    }
    if some > 0 {
        eprintln!(
            "{some} of {total} queries have skills of `gold` that are not in the pool; these are passed over"
        );
    }
    if total == 0 {
        eprintln!("there are no queries");
    }
}

/// Prints how good the ranker is for each author's queries as it is shipped, and by words alone.
fn print_authors(queries: &[Labelled], shipped: &[Quality], words: &[Quality], json: bool) {
    let mut authors: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, labelled) in queries.iter().enumerate() {
        authors.entry(labelled.author()).or_default().push(number);
    }
    if !json {
        println!("\n{:<40} {:>7} {:>8} {:>8} {:>7}", "author", "queries", "ndcg@10", "words", "change");
    }
    for (author, numbers) in authors {
        let mean = |all: &[Quality]| {
            Quality::mean(&numbers.iter().map(|number| all[*number]).collect::<Vec<_>>()).ndcg10
        };
        let (ndcg10, words_ndcg10) = (mean(shipped), mean(words));
        if json {
            let queries = numbers.len();
            let line = serde_json::json!({
                "author": author, "queries": queries, "ndcg10": ndcg10, "words_ndcg10": words_ndcg10,
            });
            println!("{line}");
        } else {
            let change = ndcg10 - words_ndcg10;
            println!("{author:<40} {:>7} {ndcg10:>8.3} {words_ndcg10:>8.3} {change:>+7.3}", numbers.len());
        }
    }
}
