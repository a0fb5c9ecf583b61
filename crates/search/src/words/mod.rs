//! From a text to terms: tokenizing, stemming, spellings and stop words.

mod cutter;
mod exclusion;
mod stem;
mod term;
mod vocabulary;

pub(crate) use cutter::{TextRole, WordCutter};
pub(crate) use exclusion::clauses;
pub(crate) use term::{Term, TermMap, TermPair};
