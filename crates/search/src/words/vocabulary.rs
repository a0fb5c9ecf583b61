//! The fixed vocabulary: alternative spellings and stop words.

use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};

use super::cutter::is_dense;

/// The normal spellings of words, each with abbreviations and other spellings of it.
///
/// Only words with a single meaning in software are listed: `ts` is TypeScript, `ml` may be a language.
const SPELLINGS: &[&str] = &[
    "application: app apps; asynchronous: async; authentication: auth; command: cmd cmds; configuration: config configs",
    "continuousintegration: ci; database: db; directory: dir dirs; documentation: docs; dotnet: csharp",
    "email: mail mails; environment: env; function: func funcs; github: gh; go: golang",
    "image: img imgs photo photos pic pics; information: info; javascript: js; kubernetes: k8s; library: lib libs",
    "message: msg msgs; next: nextjs; node: nodejs; parameter: param params; performance: perf; postgres: pg postgresql",
    "pptx: ppt; presentation: slide slides; production: prod; pullrequest: pr prs; python: py; react: reactjs",
    "repository: repo repos; ruby: rb; rust: rs; specification: spec specs; statistics: stats; terraform: tf",
    "typescript: ts; video: vid vids; vue: vuejs; xlsx: xls",
];

/// The number of lines of [`STOP_WORDS`] that are English.
const ENGLISH_LINES: usize = 11;

/// Stop words of English and, one line each, of other languages, without accents. In queries they count less.
///
/// Words with a meaning in texts about software are left out of other languages: `mit` is a licence, `di` is
/// dependency injection, `su` changes users.
const STOP_WORDS: &[&str] = &[
    "a about above actually after again against all also am an and any anyone anything are aren as at be because been",
    "before being below between both but by can cannot could couldn d did didn do does doesn doing don done down during",
    "each either else ever every everything few for from further get gets getting give given goes going gone got had has",
    "hasn have haven having he help her here hers him his how however i if in into is isn it its itself just keep keeps",
    "kept kind know knows last let like ll look looking lot m make makes many may maybe me might more most much must my",
    "myself need needs never no nor not now of off ok okay on once one only or other our ours out over own please pretty",
    "put quite rather re really right s same say says see seem seems she should shouldn show since so some someone",
    "something still such t take tell than thank thanks that the their them then there these they thing things think this",
    "those though through to today together too tried try trying under until up us use used using ve very via want wants",
    "was wasn way we well were weren what whatever when where whether which while who whom whose why will with within",
    "without won would wouldn yeah yes yet you your yours bye goodbye great hello hey hi sorry",
    "der die das den dem des und oder von vom zu zum zur ist sind nicht ein eine einen einem einer auf aus bei wie ich mir mich mein meine im sich auch nach wird kann bitte",
    "le la les un une de du et est pour dans avec sur que qui je mon mes cette vous nous pas au aux en",
    "el los las del al una por para con como mi se lo",
    "um uma em nao da ao",
    "il gli che della nel nella delle sono",
    "на из для как по не от что это за до или же мне при со во ли бы",
];

/// The most bytes of a word in the tables.
const MAX_BYTES: usize = 10;

/// Returns the alternative spellings, each with the normal one.
fn spellings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let entries =
        SPELLINGS.iter().flat_map(|line| line.split("; ")).filter_map(|entry| entry.split_once(": "));
    entries.flat_map(|(normal, others)| others.split(' ').map(move |other| (other, normal)))
}

fn stop_words() -> impl Iterator<Item = &'static str> {
    STOP_WORDS.iter().flat_map(|words| words.split(' '))
}

/// The vocabulary's entry for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordInfo<'a> {
    /// The normal spelling.
    pub(crate) spelling: &'a str,
    /// `true` for a stop word.
    pub(crate) is_common: bool,
}

/// Returns the entry for `word`, which is in lower case.
pub(crate) fn look_up(word: &str) -> WordInfo<'_> {
    // One hash table for both lists, because every word of a library is looked up.
    static TABLE: LazyLock<HashMap<&str, WordInfo<'static>>> = LazyLock::new(|| {
        let spellings = spellings().map(|(word, spelling)| (word, WordInfo { spelling, is_common: false }));
        let stop_words = stop_words().map(|word| (word, WordInfo { spelling: word, is_common: true }));
        spellings.chain(stop_words).collect()
    });
    let unknown = WordInfo { spelling: word, is_common: is_grammatical(word) };
    if word.len() > MAX_BYTES { unknown } else { TABLE.get(word).copied().unwrap_or(unknown) }
}

pub(crate) fn is_english_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| STOP_WORDS[..ENGLISH_LINES].iter().flat_map(|words| words.split(' ')).collect());
    WORDS.contains(word)
}

/// Returns whether `word` is a stop word by its letters: a single non-ASCII one (`в`), or Hiragana (`から`).
fn is_grammatical(word: &str) -> bool {
    if word.as_bytes().first().is_none_or(u8::is_ascii) {
        return false;
    }
    let mut letters = word.chars();
    let is_alone = letters.next().is_some_and(|letter| !is_dense(letter)) && letters.next().is_none();
    is_alone || word.chars().all(|letter| matches!(letter, '\u{3041}'..='\u{309f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_listed_once() {
        let words = || spellings().map(|(word, _)| word).chain(stop_words());
        assert!(words().all(|word| word.len() <= MAX_BYTES));
        let different: HashSet<&str> = words().collect();
        assert_eq!(different.len(), words().count(), "a word is listed twice");
    }

    #[test]
    fn abbreviations_have_the_normal_spelling() {
        assert_eq!(look_up("k8s").spelling, "kubernetes");
        assert_eq!(look_up("kubernetes").spelling, "kubernetes");
        assert!(look_up("please").is_common && !look_up("deploy").is_common);
    }

    #[test]
    fn stop_words_of_other_languages_are_known() {
        assert!(["von", "для", "в", "から", "する"].iter().all(|word| look_up(word).is_common));
        assert!(["r", "öl", "抽出", "字", "テス"].iter().all(|word| !look_up(word).is_common));
    }
}
