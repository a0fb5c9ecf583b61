//! Compares weights of the ranking, chooses them leaving authors out, and shows how far confidence is right.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use bench::figures::Quality;
use bench::pool::{self, Labelled};
use bench::ranker::{Product, Ranker as _};
use clap::Parser;
use repertoire_search::{Query, SearchIndex, Slot, SlotSet, Weights, embedded_table};

/// The number of parts of the authors: weights are chosen without one part, and judged by it.
const FOLDS: usize = 5;
/// The factors that a weight is multiplied by while weights are chosen.
const FACTORS: [f32; 2] = [1.3, 1.0 / 1.3];
/// The least gain for which a weight is changed; less is noise.
const MIN_GAIN: f64 = 0.0005;
/// The numbers of skills of the libraries in which the confidence is judged, and of libraries of each size.
const LIBRARIES: [(usize, usize); 2] = [(150, 20), (1500, 8)];
/// The share of the skills of such a library that queries are about, as a divisor.
const ASKED_SHARE: usize = 6;

/// Compares weights of the ranking, chooses them leaving authors out, and shows how far confidence is right
#[derive(Parser)]
struct Arguments {
    /// A directory that holds `skills/`. Several are one pool; the authors of the first are seen: the
    /// embedding table was trained on them
    #[arg(long, value_name = "DIR", required = true)]
    pool: Vec<PathBuf>,
    /// The queries: lines of {"query": TEXT, "gold": [PATH, …]}
    #[arg(long, value_name = "FILE.jsonl", required = true)]
    queries: Vec<PathBuf>,
    /// Weights to compare with those of the product, as in "coverage=0.4 length=0.5"
    #[arg(long = "try", value_name = "WEIGHTS")]
    tried: Vec<String>,
    /// Choose these weights, as in "coverage,length", leaving authors out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    choose: Vec<String>,
    /// Print how often the first result is right, by confidence, for 150 skills, 1,500 and the whole pool
    #[arg(long)]
    reliability: bool,
}

/// A query with the slots of the right skills.
struct Question {
    labelled: Labelled,
    query: Query,
    gold: Vec<Slot>,
    is_seen: bool,
}

/// All queries, and the index of the pool as bytes, from which it is read with other weights.
struct Trial {
    questions: Vec<Question>,
    index: Vec<u8>,
    slots: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let trial = Trial::of(&arguments)?;
    let default = Weights::default();
    println!("{:<60} {:>15} {:>15}", "weights: nDCG@10, first right", "seen", "unseen");
    trial.print("the product's", &default)?;
    for tried in &arguments.tried {
        trial.print(tried, &parsed(tried)?)?;
    }
    if !arguments.choose.is_empty() {
        trial.choose(&arguments.choose)?;
    }
    if arguments.reliability {
        trial.print_reliability()?;
    }
    Ok(())
}

/// Returns the product's weights with those that `text` changes.
fn parsed(text: &str) -> Result<Weights> {
    let mut weights = Weights::default();
    for change in text.split_whitespace() {
        let (name, value) = change.split_once('=').with_context(|| format!("{change} has no `=`"))?;
        *named(&mut weights, name)? = value.parse().with_context(|| format!("{change} is not a number"))?;
    }
    Ok(weights)
}

/// Returns the weight called `name`.
fn named<'a>(weights: &'a mut Weights, name: &str) -> Result<&'a mut f32> {
    let Weights {
        name: in_name,
        description,
        keywords,
        headings,
        prose,
        code,
        files,
        length,
        saturation,
        rarity,
        common,
        importance,
        pair,
        name_share,
        excluded,
        meaning,
        lead,
        described,
        long_rarity,
        repeated,
        coverage,
        beginning,
    } = weights;
    let all = [
        ("name", in_name),
        ("description", description),
        ("keywords", keywords),
        ("headings", headings),
        ("prose", prose),
        ("code", code),
        ("files", files),
        ("length", length),
        ("saturation", saturation),
        ("rarity", rarity),
        ("common", common),
        ("importance", importance),
        ("pair", pair),
        ("name_share", name_share),
        ("excluded", excluded),
        ("meaning", meaning),
        ("lead", lead),
        ("described", described),
        ("long_rarity", long_rarity),
        ("repeated", repeated),
        ("coverage", coverage),
        ("beginning", beginning),
    ];
    let found = all.into_iter().find(|(other, _)| *other == name);
    found.map(|(_, weight)| weight).with_context(|| format!("there is not a weight called {name}"))
}

/// Returns the query `text` with its embedding.
fn query(index: &SearchIndex, text: &str, visible: &SlotSet) -> Query {
    let query = index.query(text, visible, embedded_table());
    let vector = embedded_table().and_then(|table| table.embed_query(&query.embedded_text(text)));
    query.with_vector(vector)
}

impl Trial {
    fn of(arguments: &Arguments) -> Result<Self> {
        let skills = pool::skills(&arguments.pool)?;
        let seen = pool::authors(&arguments.pool[0])?;
        let mut product = Product::shipped();
        product.index(&skills);
        let index = product.index_of_skills();
        let all = SlotSet::all(index.slots());
        let slot = |path: &String| skills.binary_search_by(|skill| skill.path.as_str().cmp(path)).ok();
        let mut questions = Vec::new();
        for file in &arguments.queries {
            for labelled in pool::queries(file)? {
                let gold: Vec<Slot> =
                    labelled.gold.iter().filter_map(slot).map(|slot| slot as Slot).collect();
                if !gold.is_empty() {
                    let is_seen = seen.contains(labelled.owner());
                    let query = query(index, &labelled.query, &all);
                    questions.push(Question { labelled, query, gold, is_seen });
                }
            }
        }
        ensure!(!questions.is_empty(), "no query has its skill in the pool");
        Ok(Self { questions, index: index.to_bytes(0), slots: index.slots() })
    }

    fn index(&self, weights: &Weights) -> Result<SearchIndex> {
        SearchIndex::from_bytes(&self.index, 0, weights.clone()).context("the index cannot be read")
    }

    /// Returns the quality for each question.
    fn qualities(&self, weights: &Weights) -> Result<Vec<Quality>> {
        let index = self.index(weights)?;
        let all = SlotSet::all(self.slots);
        let quality = |question: &Question| {
            let hits = index.search(&question.query, &all, 10);
            let ranking: Vec<usize> = hits.iter().map(|hit| hit.slot as usize).collect();
            let gold: Vec<usize> = question.gold.iter().map(|slot| *slot as usize).collect();
            Quality::of(&ranking, &gold)
        };
        Ok(self.questions.iter().map(quality).collect())
    }

    /// Prints the quality for seen and for other authors; each counts by the root of the number of queries.
    fn print(&self, label: &str, weights: &Weights) -> Result<()> {
        let qualities = self.qualities(weights)?;
        let figures = [true, false].map(|is_seen| {
            let mean =
                |of: fn(&Quality) -> f64| self.mean(&qualities, |question| question.is_seen == is_seen, of);
            format!("{:.4}, {:.3}", mean(|one| one.ndcg10), mean(|one| one.hit1))
        });
        println!("{label:<60} {:>15} {:>15}", figures[0], figures[1]);
        Ok(())
    }

    fn mean(
        &self,
        qualities: &[Quality],
        is_wanted: impl Fn(&Question) -> bool,
        of: fn(&Quality) -> f64,
    ) -> f64 {
        let mut authors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (question, quality) in self.questions.iter().zip(qualities) {
            if is_wanted(question) {
                authors.entry(question.labelled.owner()).or_default().push(of(quality));
            }
        }
        let root = |values: &Vec<f64>| (values.len() as f64).sqrt();
        let sum: f64 = authors.values().map(|values| values.iter().sum::<f64>() / root(values)).sum();
        sum / authors.values().map(root).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Chooses the weights `names` without the authors of one part, and judges them by it, for each part.
    fn choose(&self, names: &[String]) -> Result<()> {
        let owners: BTreeSet<&str> =
            self.questions.iter().map(|question| question.labelled.owner()).collect();
        let part: BTreeMap<&str, usize> = owners.into_iter().zip((0..FOLDS).cycle()).collect();
        for left_out in 0..FOLDS {
            let is_left_out = |question: &Question| part[question.labelled.owner()] == left_out;
            let judged = |weights: &Weights, wanted: bool| -> Result<f64> {
                let qualities = self.qualities(weights)?;
                Ok(self.mean(&qualities, |question| is_left_out(question) == wanted, |one| one.ndcg10))
            };
            let mut best = Weights::default();
            let (mut gain, before) = (judged(&best, false)?, judged(&best, true)?);
            let mut changes = String::new();
            for name in names {
                for factor in FACTORS {
                    let mut other = best.clone();
                    *named(&mut other, name)? *= factor;
                    let found = judged(&other, false)?;
                    if found > gain + MIN_GAIN {
                        (gain, best) = (found, other);
                        changes = format!("{changes} {name}={:.3}", named(&mut best, name)?);
                        break;
                    }
                }
            }
            let after = judged(&best, true)?;
            println!("part {left_out} left out: {before:.4} -> {after:.4} by{changes}");
        }
        Ok(())
    }

    /// Prints how often the first result is right, for each tenth of the confidence.
    fn print_reliability(&self) -> Result<()> {
        let index = self.index(&Weights::default())?;
        let mut number = 0u64;
        // The same libraries in every run.
        let mut next = |below: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (number >> 33) as usize % below
        };
        for (size, count) in LIBRARIES {
            let mut found = Vec::new();
            for _ in 0..count {
                let asked: Vec<&Question> =
                    (0..size / ASKED_SHARE).map(|_| &self.questions[next(self.questions.len())]).collect();
                let mut library: BTreeSet<Slot> =
                    asked.iter().flat_map(|question| question.gold.clone()).collect();
                while library.len() < size {
                    library.insert(next(self.slots) as Slot);
                }
                let visible: SlotSet = library.into_iter().collect();
                found.extend(asked.iter().filter_map(|question| first(&index, question, &visible)));
            }
            print_table(size, &found);
        }
        let all = SlotSet::all(self.slots);
        let found: Vec<(f32, bool)> =
            self.questions.iter().filter_map(|question| first(&index, question, &all)).collect();
        print_table(self.slots, &found);
        Ok(())
    }
}

/// Returns the confidence of the first result among `visible`, and whether it is right.
fn first(index: &SearchIndex, question: &Question, visible: &SlotSet) -> Option<(f32, bool)> {
    let query = query(index, &question.labelled.query, visible);
    let hit = index.search(&query, visible, 1).into_iter().next()?;
    Some((hit.evidence.confidence(), question.gold.contains(&hit.slot)))
}

fn print_table(skills: usize, found: &[(f32, bool)]) {
    println!("\n{skills} skills, {} questions: confidence, first results, right", found.len());
    let mut error = 0.0;
    for tenth in 0..10 {
        let of = found.iter().filter(|(confidence, _)| ((confidence * 10.0) as usize).min(9) == tenth);
        let of: Vec<&(f32, bool)> = of.collect();
        if of.is_empty() {
            continue;
        }
        let count = of.len() as f64;
        let right = of.iter().filter(|(_, is_right)| *is_right).count() as f64 / count;
        let confidence = of.iter().map(|(confidence, _)| f64::from(*confidence)).sum::<f64>() / count;
        error += (right - confidence).abs() * count / found.len() as f64;
        println!("  {confidence:.2} {:>6} {right:>6.2}", of.len());
    }
    println!("  calibration error {error:.3}");
}
