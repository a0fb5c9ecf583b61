//! Questions about small libraries, some of which no skill answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use repertoire::searcher::MIN_CONFIDENCE;
use serde::Deserialize;

use crate::pool::{self, Skill};
use crate::ranker::{Product, Ranker as _};

/// A question about a small library.
#[derive(Deserialize)]
pub struct Question {
    /// The number of the question.
    id: serde_json::Value,
    query: String,
    library: String,
    category: String,
    /// The kind of a question that no skill answers.
    #[serde(default)]
    kind: String,
    /// The paths of the skills that answer it.
    gold: Vec<String>,
}

/// The result of one question.
struct Outcome {
    category: String,
    is_tuned: bool,
    /// `true` if the first skill is a right one, whatever its confidence.
    is_right: bool,
    /// `true` if nothing is found.
    is_silent: bool,
}

/// Asks the questions of `file` about the libraries of `libraries`, below `corpus`, and prints by category
/// how many skills come first, how many questions stay unanswered, and how many right answers that loses.
pub fn measure(
    file: &Path,
    libraries: &Path,
    corpus: &Path,
    rankers: &[fn() -> Product],
) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let questions: Vec<Question> =
        text.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("a question")?;
    let text =
        fs::read_to_string(libraries).with_context(|| format!("cannot read {}", libraries.display()))?;
    let libraries: BTreeMap<String, Vec<String>> = serde_json::from_str(&text)?;
    let skills: BTreeMap<&String, Vec<Skill>> = libraries
        .iter()
        .map(|(name, directories)| {
            let read = |directory: &String| pool::skill(corpus, &corpus.join(directory).join("SKILL.md"));
            Ok((name, directories.iter().map(read).collect::<Result<_>>()?))
        })
        .collect::<Result<_>>()?;
    let mut lines = Vec::new();
    for ranker in rankers {
        let mut indexed: BTreeMap<&String, Product> = BTreeMap::new();
        for (name, skills) in &skills {
            let mut product = ranker();
            product.index(skills);
            indexed.insert(name, product);
        }
        let name = ranker().name();
        let outcomes: Vec<Outcome> = questions
            .iter()
            .map(|question| {
                outcome(question, &indexed[&question.library], &skills[&question.library], &questions)
            })
            .collect();
        lines.extend(report(&name, &outcomes));
    }
    Ok(lines)
}

fn outcome(question: &Question, ranker: &Product, skills: &[Skill], all: &[Question]) -> Outcome {
    let hits = ranker.hits(&question.query);
    let is_right = hits.first().is_some_and(|hit| question.gold.contains(&skills[hit.slot as usize].path));
    let is_silent = hits.iter().all(|hit| hit.evidence.confidence() < MIN_CONFIDENCE);
    let category = match question.kind.as_str() {
        "" => question.category.clone(),
        kind => format!("none, {kind}"),
    };
    Outcome { category, is_tuned: is_tuned(question, all), is_right, is_silent }
}

/// Returns whether the weights may have been chosen by the question: those for every second owner of skills,
/// and the odd ones without one.
fn is_tuned(question: &Question, all: &[Question]) -> bool {
    let owner = |question: &Question| {
        let path = question.gold.first().map(String::as_str).unwrap_or_default();
        path.split('/').nth(1).unwrap_or_default().split("__").next().unwrap_or_default().to_owned()
    };
    if question.gold.is_empty() {
        let digits: String = question.id.to_string().chars().filter(char::is_ascii_digit).collect();
        return digits.parse::<u64>().is_ok_and(|number| number % 2 == 1);
    }
    let mut owners: Vec<String> = all.iter().filter(|other| !other.gold.is_empty()).map(owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners.iter().position(|other| *other == owner(question)).is_some_and(|place| place % 2 == 0)
}

fn report(ranker: &str, outcomes: &[Outcome]) -> Vec<String> {
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let mut lines = Vec::new();
    for (half, is_of) in
        [("tuned", Some(true)), ("other", Some(false)), ("both", None)] as [(&str, Option<bool>); 3]
    {
        let of: Vec<&Outcome> =
            outcomes.iter().filter(|outcome| is_of.is_none_or(|half| outcome.is_tuned == half)).collect();
        let is_none = |outcome: &&&Outcome| outcome.category.starts_with("none");
        let asked: Vec<&&Outcome> = of.iter().filter(|outcome| !is_none(outcome)).collect();
        let right: Vec<&&&Outcome> = asked.iter().filter(|outcome| outcome.is_right).collect();
        let mut parts = vec![format!("all {:.3}", share(right.len(), asked.len()))];
        let mut categories: Vec<&str> = of.iter().map(|outcome| outcome.category.as_str()).collect();
        categories.sort_unstable();
        categories.dedup();
        for category in categories {
            let these: Vec<&&Outcome> = of.iter().filter(|outcome| outcome.category == category).collect();
            let counts = |outcome: &&&&Outcome| {
                if category.starts_with("none") { outcome.is_silent } else { outcome.is_right }
            };
            parts.push(format!("{category} {:.2}", share(these.iter().filter(counts).count(), these.len())));
        }
        let lost = right.iter().filter(|outcome| outcome.is_silent).count();
        parts.push(format!("lost {:.3}", share(lost, right.len())));
        lines.push(format!("{ranker:<24} {half:<6} {}", parts.join(", ")));
    }
    lines
}
