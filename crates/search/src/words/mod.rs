//! From a text to terms: tokenizing, stemming, spellings and stop words.

mod cutter;
mod exclusion;
mod glossary;
mod spelling;
mod stem;
mod term;
mod vocabulary;

pub(crate) use cutter::{TextRole, WordCutter, is_dense};
pub(crate) use exclusion::clauses;
pub(crate) use glossary::{Translation, everyday};
pub(crate) use spelling::corrected;
pub(crate) use term::{Term, TermMap, TermPair};
