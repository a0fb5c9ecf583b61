//! Measures how well and how fast skills are found, beside other ways to find them.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use bench::figures::{Figures, Quality};
use bench::pool::{self, Labelled, Skill, Unfindable};
use bench::ranker::{Parts, Product, Ranker, measure};
use clap::Parser;

/// Measures how well and how fast skills are found, beside other ways to find them
#[derive(Parser)]
struct Arguments {
    /// A directory that holds `skills/`; every SKILL.md below it is one document. Several are one pool. The
    /// authors of the first are seen: the embedding table was trained on its skills
    #[arg(long, value_name = "DIR", required_unless_present = "small")]
    pool: Vec<PathBuf>,
    /// The queries, lines of {"query": TEXT, "gold": [PATH, …]}; "groups": [[PATH, …], …] for several skills
    #[arg(long, value_name = "FILE.jsonl", requires = "pool")]
    queries: Vec<PathBuf>,
    /// Questions about small libraries: lines of {"id", "query", "library", "category", "kind", "gold"}
    #[arg(long, value_name = "FILE.jsonl", requires = "libraries")]
    small: Option<PathBuf>,
    /// The directories of each small library: an object of lists
    #[arg(long, value_name = "FILE.json", requires = "corpus")]
    libraries: Option<PathBuf>,
    /// The directory that these directories are in
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Then print how good the ranker is for each author's queries, beside words alone
    #[arg(long)]
    by_author: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let (Some(small), Some(libraries), Some(corpus)) =
        (&arguments.small, &arguments.libraries, &arguments.corpus)
    {
        let rankers: [fn() -> Product; 3] =
            [Product::shipped, Product::words, || Product::plain("bm25 everything", Parts::Everything)];
        bench::small::measure(small, libraries, corpus, &rankers)?.iter().for_each(|line| println!("{line}"));
    }
    if arguments.pool.is_empty() {
        return Ok(());
    }
    let skills = pool::skills(&arguments.pool)?;
    let seen = pool::authors(&arguments.pool[0])?;
    for file in &arguments.queries {
        if !arguments.json {
            println!("\n{}", file.file_name().unwrap_or_default().to_string_lossy());
        }
        measure_file(&arguments, &skills, &seen, &pool::queries(file)?)?;
    }
    Ok(())
}

/// Prints the figures of all rankers for `queries`, apart for authors who are `seen` and for others: the
/// mean of both hides what a change loses on skills that nothing was trained on.
fn measure_file(
    arguments: &Arguments,
    skills: &[Skill],
    seen: &BTreeSet<String>,
    queries: &[Labelled],
) -> Result<()> {
    warn_of_unfindable(skills, queries);
    let is_seen: Vec<bool> = queries.iter().map(|labelled| seen.contains(labelled.owner())).collect();
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
        let (figures, qualities) = measure(ranker.as_mut(), skills, queries);
        for (authors, wanted) in [("seen", true), ("unseen", false)] {
            let of = qualities.iter().zip(&is_seen).filter(|(_, is_seen)| **is_seen == wanted);
            let of: Vec<Quality> = of.map(|(quality, _)| *quality).collect();
            if of.is_empty() {
                continue;
            }
            let Quality { hit1, r5, r10, ndcg10 } = Quality::mean(&of);
            let ranker = format!("{}, {authors}", figures.ranker);
            let figures = Figures { ranker, hit1, r5, r10, ndcg10, queries: of.len(), ..figures.clone() };
            if arguments.json {
                println!("{}", serde_json::to_string(&figures)?);
            } else {
                println!("{}", figures.row());
            }
        }
        found.push(qualities);
    }
    if arguments.by_author
        && let [shipped, words, ..] = &found[..]
    {
        print_authors(queries, shipped, words, arguments.json);
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
