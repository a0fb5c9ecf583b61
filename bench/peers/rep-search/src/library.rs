//! One changed skill of a library on disk: from the change to the search that finds it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench::figures::quantile;
use pollster::block_on;
use repertoire::{FsOptions, FsProvider, Library, SearchRequest, Visibility};
use repertoire_search::SkillSearch;
use serde_json::json;

/// Changes skills of the library in turns, puts them back, and prints the times as a JSON object.
pub fn run(directory: &Path, changes: usize) -> Result<()> {
    let provider = FsProvider::new(FsOptions::new("library", directory));
    let searcher = SkillSearch::default();
    let builder = Library::builder().provider(provider).searcher(searcher.clone());
    let library = block_on(builder.open()).context("the library is not accepted")?;
    let started = Instant::now();
    searcher.prepare(library.registry(), &library.snapshot(), &|_, _| ());
    let index_s = started.elapsed().as_secs_f64();
    let skills = library.snapshot().entries().len();
    ensure!(skills > changes, "the library has too few skills");
    let (mut reloads, mut firsts, mut agains) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..changes {
        let path = file(&library.snapshot().entries()[number * skills / changes].path);
        let original = fs::read_to_string(&path).with_context(|| path.clone())?;
        // A word that nothing else has: a match shows that the change was indexed.
        let word = word(number);
        fs::write(&path, format!("{original}\nMind the {word}.\n"))?;
        let started = Instant::now();
        let snapshot = pollster::block_on(library.reload());
        reloads.push(started.elapsed().as_secs_f64() * 1e3);
        let request = SearchRequest::new(word.as_str(), 1);
        let search = || {
            let started = Instant::now();
            let found = block_on(library.search(&snapshot, &request, Visibility::All));
            (started.elapsed().as_secs_f64() * 1e3, found)
        };
        let (first, found) = search();
        let is_found = found.first().is_some_and(|found| file(&found.entry.path) == path);
        firsts.push(first);
        agains.push(search().0);
        fs::write(&path, original)?;
        ensure!(is_found, "the change of {path} is not found");
    }
    for times in [&mut reloads, &mut firsts, &mut agains] {
        times.sort_by(f64::total_cmp);
    }
    let line = json!({
        "task": "library",
        "skills": skills,
        "changes": changes,
        "index_s": index_s,
        "reload_p50_ms": quantile(&reloads, 0.5),
        "first_search_p50_ms": quantile(&firsts, 0.5),
        "first_search_p99_ms": quantile(&firsts, 0.99),
        "next_search_p50_ms": quantile(&agains, 0.5),
    });
    println!("{line}");
    Ok(())
}

/// Returns a word of letters alone, another one for each number.
fn word(number: usize) -> String {
    let letters: String =
        format!("{number:04}").bytes().map(|digit| char::from(digit - b'0' + b'k')).collect();
    format!("zqx{letters}qz")
}

fn file(skill: &str) -> String {
    format!("{skill}/SKILL.md")
}
