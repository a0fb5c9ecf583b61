//! All engines in one run, over the same documents and for the same queries.

use anyhow::Result;
use bench::figures::Figures;
use bench::pool::{Labelled, Skill};
use bench::ranker::{Parts, Product, Ranker, measure};
use serde_json::{Value, json};

use crate::encoder::Encoder;
use crate::fts5::Fts5;
use crate::tantivy_peer::Tantivy;

pub fn run(skills: &[Skill], queries: &[Labelled], encoder: Option<&str>, json: bool) -> Result<()> {
    let mut rankers: Vec<Box<dyn Ranker>> = vec![
        Box::new(Product::shipped()),
        Box::new(Product::words()),
        Box::new(Product::plain("bm25 name+description", Parts::NameAndDescription)),
        Box::new(Product::plain("bm25 everything", Parts::Everything)),
        Box::new(Tantivy::new()?),
        Box::new(Fts5::new()?),
    ];
    match encoder.map(Encoder::start) {
        Some(Ok(encoder)) => rankers.push(Box::new(encoder)),
        Some(Err(error)) => eprintln!("the sentence encoder is left out: {error:#}"),
        None => eprintln!("the sentence encoder is left out: no --encoder was given"),
    }
    if !json {
        println!("{} {:>8} {:>8}", Figures::heads(), "p50 x", "index x");
    }
    let mut product: Option<Figures> = None;
    // Each is dropped before the next begins, so that none pays for another's memory.
    for mut ranker in rankers {
        let (figures, _) = measure(ranker.as_mut(), skills, queries);
        let product = product.get_or_insert_with(|| figures.clone());
        let (p50, index) = (figures.p50_us / product.p50_us, figures.index_s / product.index_s);
        if json {
            println!("{}", line(&figures, p50, index)?);
        } else {
            println!("{} {p50:>8.2} {index:>8.2}", figures.row());
        }
    }
    Ok(())
}

/// Returns the figures with how many times as long as the product's they are.
fn line(figures: &Figures, p50: f64, index: f64) -> Result<Value> {
    let mut line = serde_json::to_value(figures)?;
    line["p50_ratio"] = json!(p50);
    line["index_ratio"] = json!(index);
    Ok(line)
}
