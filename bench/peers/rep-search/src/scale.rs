//! The product with many skills: how long, how much memory, how large a file, and what one changed skill takes.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench::figures::quantile;
use bench::memory;
use bench::pool::{self, Labelled, Skill};
use bench::ranker::{Product, Ranker, ask};
use repertoire_model::search::{Index, Slot};
use serde_json::json;

/// What tells the index from one of another kind; there is only one here.
const STAMP: u64 = 1;
/// How many skills are changed, each followed by a query. Some are packed anew on the way, as it is aside where a library is searched.
const CHANGES: usize = 1000;
/// How many changes must lie between two skills, so that they are not neighbours.
const STRIDE: usize = 7919;
const MB: f64 = 1e6;

/// Indexes `skills`, writes the index to `file`, changes some, and prints what it took as a JSON object.
pub fn run(skills: &[Skill], queries: &[Labelled], file: &Path) -> Result<()> {
    ensure!(!queries.is_empty(), "there are no queries");
    let before = memory::resident();
    memory::forget_peak();
    let mut product = Product::shipped();
    let started = Instant::now();
    product.index(skills);
    let index_s = started.elapsed().as_secs_f64();
    // What the pool takes is not the index's.
    let build_peak_mb =
        memory::peak().zip(before).map(|(peak, before)| peak.saturating_sub(before) as f64 / MB);
    let (_, times) = ask(&mut product, queries);
    let started = Instant::now();
    write(product.index_of_skills(), file)?;
    let write_s = started.elapsed().as_secs_f64();
    let (index_mb, file_mb) =
        (product.index_of_skills().bytes() as f64 / MB, file.metadata()?.len() as f64 / MB);
    let changes = changes(&mut product, skills, queries);
    let line = json!({
        "task": "scale",
        "documents": skills.len(),
        "queries": queries.len(),
        "index_s": index_s,
        "indexed_per_s": skills.len() as f64 / index_s,
        "build_peak_mb": build_peak_mb,
        "index_mb": index_mb,
        "file_mb": file_mb,
        "write_s": write_s,
        "p50_us": quantile(&times, 0.5),
        "p99_us": quantile(&times, 0.99),
        "change_p50_us": quantile(&changes.times, 0.5),
        "change_p99_us": quantile(&changes.times, 0.99),
        "next_query_p50_us": quantile(&changes.queries, 0.5),
        "change_mean_us": changes.mean(),
        "pack_p50_us": quantile(&changes.packs, 0.5),
        "pack_max_us": quantile(&changes.packs, 1.0),
        "packs": changes.packs.len(),
    });
    println!("{line}");
    Ok(())
}

fn write(index: &Index, file: &Path) -> Result<()> {
    let mut writer = BufWriter::new(File::create(file)?);
    let mut written = Ok(());
    index.write_to(STAMP, |piece| {
        if written.is_ok() {
            written = writer.write_all(piece);
        }
    });
    written?;
    Ok(writer.flush()?)
}

/// What changes took in microseconds, sorted.
struct Changes {
    /// A change that packed nothing.
    times: Vec<f64>,
    /// One after which some were packed anew.
    packs: Vec<f64>,
    /// The query after a change.
    queries: Vec<f64>,
}

impl Changes {
    /// Returns what a change took, one with another.
    fn mean(&self) -> f64 {
        self.times.iter().chain(&self.packs).sum::<f64>() / CHANGES as f64
    }
}

fn changes(product: &mut Product, skills: &[Skill], queries: &[Labelled]) -> Changes {
    let mut changes = Changes { times: Vec::new(), packs: Vec::new(), queries: Vec::new() };
    // Another skill may stand at a slot once some were packed anew; for what a change takes that is all the same.
    let packed = skills.len().saturating_sub(CHANGES).max(1);
    for number in 0..CHANGES {
        let slot = number * STRIDE % packed;
        let mut skill = skills[slot].clone();
        skill.body.push_str("\n\nOne sentence more.\n");
        let started = Instant::now();
        let is_packed = product.change(slot as Slot, &skill);
        let took = started.elapsed().as_secs_f64() * 1e6;
        if is_packed {
            changes.packs.push(took)
        } else {
            changes.times.push(took)
        }
        let query = &queries[number % queries.len()].query;
        let started = Instant::now();
        product.rank(query);
        changes.queries.push(started.elapsed().as_secs_f64() * 1e6);
    }
    for times in [&mut changes.times, &mut changes.packs, &mut changes.queries] {
        times.sort_by(f64::total_cmp);
    }
    changes
}

/// Reads the index in `file`, asks `queries`, and prints what it took as a JSON object.
pub fn load(queries: &Path, file: &Path) -> Result<()> {
    let queries = pool::queries(queries)?;
    let started = Instant::now();
    let length = file.metadata()?.len() as usize;
    let mut reader = File::open(file)?;
    let index = Index::read_from(length, STAMP, |piece| reader.read_exact(piece).ok());
    let index = index.with_context(|| format!("{} is no index", file.display()))?;
    let load_s = started.elapsed().as_secs_f64();
    let load_peak_mb = memory::peak().map(|peak| peak as f64 / MB);
    let index_mb = index.bytes() as f64 / MB;
    let mut product = Product::shipped().with_index(index);
    let (_, times) = ask(&mut product, &queries);
    let line = json!({
        "task": "load",
        "documents": product.index_of_skills().len(),
        "queries": queries.len(),
        "load_s": load_s,
        "load_peak_mb": load_peak_mb,
        "index_mb": index_mb,
        "search_peak_mb": memory::peak().map(|peak| peak as f64 / MB),
        "resident_mb": memory::resident().map(|resident| resident as f64 / MB),
        "p50_us": quantile(&times, 0.5),
        "p99_us": quantile(&times, 0.99),
    });
    println!("{line}");
    Ok(())
}
