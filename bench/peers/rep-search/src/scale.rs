//! The product with many skills: the time, the memory, the size of the file, and the cost of a changed skill.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench::figures::quantile;
use bench::memory;
use bench::pool::{self, Labelled, Skill};
use bench::ranker::{Product, Ranker, ask};
use repertoire_search::{SearchIndex, Slot, Weights};
use serde_json::json;

/// The stamp that identifies the kind of index; there is only one here.
const STAMP: u64 = 1;
/// The number of skills that are changed, each followed by a query. Each change rebuilds the index.
const CHANGES: usize = 50;
/// The distance between two changed skills, so that they are not neighbours.
const STRIDE: usize = 7919;
const MB: f64 = 1e6;

/// Indexes `skills`, writes the index to `file`, changes some, and prints the times as a JSON object.
pub fn run(skills: &[Skill], queries: &[Labelled], file: &Path) -> Result<()> {
    ensure!(!queries.is_empty(), "there are no queries");
    let before = memory::resident();
    memory::forget_peak();
    let mut product = Product::shipped();
    let started = Instant::now();
    product.index(skills);
    let index_s = started.elapsed().as_secs_f64();
    // The memory of the pool does not count.
    let build_peak_mb =
        memory::peak().zip(before).map(|(peak, before)| peak.saturating_sub(before) as f64 / MB);
    let (_, times) = ask(&mut product, queries);
    let started = Instant::now();
    fs::write(file, product.index_of_skills().to_bytes(STAMP))?;
    let write_s = started.elapsed().as_secs_f64();
    let file_mb = file.metadata()?.len() as f64 / MB;
    let changes = changes(&mut product, skills, queries);
    let line = json!({
        "task": "scale",
        "documents": skills.len(),
        "queries": queries.len(),
        "index_s": index_s,
        "indexed_per_s": skills.len() as f64 / index_s,
        "build_peak_mb": build_peak_mb,
        "file_mb": file_mb,
        "write_s": write_s,
        "p50_us": quantile(&times, 0.5),
        "p99_us": quantile(&times, 0.99),
        "change_p50_us": quantile(&changes.times, 0.5),
        "change_p99_us": quantile(&changes.times, 0.99),
        "next_query_p50_us": quantile(&changes.queries, 0.5),
    });
    println!("{line}");
    Ok(())
}

/// Times of changes in microseconds, sorted.
struct Changes {
    /// Times of the rebuilds.
    times: Vec<f64>,
    /// Times of the queries after them.
    queries: Vec<f64>,
}

fn changes(product: &mut Product, skills: &[Skill], queries: &[Labelled]) -> Changes {
    let mut changes = Changes { times: Vec::new(), queries: Vec::new() };
    for number in 0..CHANGES {
        let slot = number * STRIDE % skills.len();
        let mut skill = skills[slot].clone();
        skill.body.push_str("\n\nOne sentence more.\n");
        let started = Instant::now();
        product.change(slot as Slot, &skill);
        changes.times.push(started.elapsed().as_secs_f64() * 1e6);
        let query = &queries[number % queries.len()].query;
        let started = Instant::now();
        product.rank(query);
        changes.queries.push(started.elapsed().as_secs_f64() * 1e6);
    }
    changes.times.sort_by(f64::total_cmp);
    changes.queries.sort_by(f64::total_cmp);
    changes
}

/// Reads the index in `file`, runs `queries`, and prints the times as a JSON object.
pub fn load(queries: &Path, file: &Path) -> Result<()> {
    let queries = pool::queries(queries)?;
    let started = Instant::now();
    let index = SearchIndex::from_bytes(&fs::read(file)?, STAMP, Weights::default());
    let index = index.with_context(|| format!("{} is no index", file.display()))?;
    let load_s = started.elapsed().as_secs_f64();
    let load_peak_mb = memory::peak().map(|peak| peak as f64 / MB);
    let mut product = Product::shipped().with_index(index);
    let (_, times) = ask(&mut product, &queries);
    let line = json!({
        "task": "load",
        "documents": product.index_of_skills().skills(),
        "queries": queries.len(),
        "load_s": load_s,
        "load_peak_mb": load_peak_mb,
        "search_peak_mb": memory::peak().map(|peak| peak as f64 / MB),
        "resident_mb": memory::resident().map(|resident| resident as f64 / MB),
        "p50_us": quantile(&times, 0.5),
        "p99_us": quantile(&times, 0.99),
    });
    println!("{line}");
    Ok(())
}
