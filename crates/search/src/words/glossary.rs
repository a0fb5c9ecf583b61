//! Translates words of requests in other languages into English, the language of most skills.
//!
//! `glossary.tsv` has a line for each concept: one to three English words, then words of six languages with
//! `|` between them. A word that ends with `*` stands for all that start with it.

use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};

use super::cutter::{TextRole, WordCutter, is_dense};
use super::vocabulary::is_english_stop_word;

const TABLE: &str = include_str!("glossary.tsv");
/// The columns of languages with spaces between words: German, Spanish, French and Portuguese.
const SPACED: usize = 4;
/// The column of German, which writes several words as one.
const GERMAN: usize = 0;
/// The column of French.
const FRENCH: usize = 2;
/// The fewest letters of the first and of the last part of a compound.
const MIN_PART: usize = 4;
/// The most characters of a word in a script without spaces.
const MAX_DENSE_CHARS: usize = 8;

/// Frequent words of German, Spanish, French and Portuguese that are not English words, without accents.
const FUNCTION_WORDS: [&str; SPACED] = [
    "aber alle als auch auf aus bei bis bitte brauche das dass dem der dich dieser diese dieses diesen diesem dir doch ein eine einem einen einer eines er es fur habe haben hatte ich ihr im ist jetzt kann kannst kein keine mach mache mal mein meine meinem meinen meiner mich mir mit mochte muss nach nicht noch nur ob oder ohne schon sein sich sie sind soll uber um und uns unser unsere unseren unserer von vom wann warum wenn wer werden wie wir wird wo zu zum zur zwischen",
    "al alguien algo antes como con cual cuando de del desde donde el ella en entre es esa ese eso esta estan estas este esto estos hace hacer han hasta hay haz la las le lo los mas mi mis muy necesito nos nuestra nuestro nuestros nuestras o para pero por porque puede puedes puedo que quiero se sea ser si sobre su sus tengo tiene todo todos un una unos y ya",
    "ainsi au aux avec avoir besoin ce cela ces cet cette ceux chaque comme dans de depuis des deux dois donc elle en entre est et etre fait faire fais faut il ils je jusqu la le les leur leurs lui ma mais mes moi mon ne nos notre nous ont ou par peut peux pourquoi puis quand que quel quelle quels qui sa se ses si sont sous sur tes tous tout toute toutes tres trop un une veux voici vos votre vous",
    "ao aos antes ate como da das de dela dele depois do e ela ele em entao entre essa esse esta estao este eu fazer foi ha isso isto ja mais mas meu meus minha minhas muito na nao nas nem nos nossa nosso nossos o ou para pela pelo por porque posso pra precisa preciso qual quando que quem quero se sem ser sem seu seus sobre sua suas tem tenho todas todos tudo um uma umas uns vez voce",
];

/// Everyday words of English, each with the word that skills use instead.
const EVERYDAY: [(&str, &str); 8] = [
    ("cv", "resume"),
    ("mail", "email"),
    ("mails", "email"),
    ("pic", "image"),
    ("pics", "image"),
    ("prod", "production"),
    ("vid", "video"),
    ("vids", "video"),
];

/// Returns the word that skills use for `word`, an everyday word of English.
pub(crate) fn everyday(word: &str) -> Option<&'static str> {
    EVERYDAY.iter().find(|(everyday, _)| *everyday == word).map(|(_, usual)| *usual)
}

/// The words of one language with spaces.
#[derive(Default)]
struct Language {
    whole: HashMap<String, Vec<&'static str>>,
    starts: HashMap<String, Vec<&'static str>>,
}

/// The parsed table.
struct Glossary {
    languages: [Language; SPACED],
    /// The words of Chinese and Japanese.
    dense: HashMap<&'static str, Vec<&'static str>>,
}

/// The function words of each language with spaces.
static MARKS: LazyLock<[HashSet<&str>; SPACED]> =
    LazyLock::new(|| FUNCTION_WORDS.map(|words| words.split(' ').collect()));

/// The table, which is parsed when a text has a word of another language or one that no skill has.
static GLOSSARY: LazyLock<Glossary> = LazyLock::new(|| {
    let mut languages: [Language; SPACED] = Default::default();
    let mut dense: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut cutter = WordCutter::default();
    for line in TABLE.lines().skip(1) {
        let mut cells = line.split('\t');
        let english = cells.next().unwrap_or_default();
        for (column, cell) in cells.enumerate() {
            for word in cell.split('|').filter(|word| !word.is_empty()) {
                let Some(language) = languages.get_mut(column) else {
                    dense.entry(word).or_default().push(english);
                    continue;
                };
                let mut parts = Vec::new();
                cutter.each(word, TextRole::Document, |part| parts.push(part.to_owned()));
                let table = if word.ends_with('*') { &mut language.starts } else { &mut language.whole };
                if let [part] = &mut parts[..] {
                    table.entry(std::mem::take(part)).or_default().push(english);
                }
            }
        }
    }
    Glossary { languages, dense }
});

/// The translations of the words of one text.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    /// The column of the language, if it has spaces between words.
    language: Option<usize>,
    /// The English words of the runs in scripts without spaces.
    pub(crate) dense: Vec<&'static str>,
}

impl Translation {
    /// Returns the translations of the words of `text`.
    pub(crate) fn of(text: &str) -> Self {
        let mut words = Vec::new();
        let spaced: String = text.chars().map(|letter| if is_dense(letter) { ' ' } else { letter }).collect();
        WordCutter::default().each(&spaced, TextRole::Query, |word| words.push(word.to_owned()));
        // Languages share function words; the one that knows more of the other words is meant.
        let count = |column: usize| {
            let function_words = words.iter().filter(|word| MARKS[column].contains(word.as_str())).count();
            let is_translated = |word: &&String| function_words > 0 && english(column, word, false).is_some();
            (function_words, words.iter().filter(is_translated).count(), column)
        };
        let (most, others, column) = (0..SPACED).rev().map(count).max().unwrap_or_default();
        let stop_words = words.iter().filter(|word| is_english_stop_word(word)).count();
        let is_short = most == 1 && stop_words == 0 && others > 0;
        let is_clear = (most >= MIN_FUNCTION_WORDS || is_short)
            && most > stop_words
            && most * MIN_SHARE_OF >= words.len();
        Self { language: is_clear.then_some(column), dense: dense_words(text) }
    }

    /// Returns the English words for `word`, none for a function word. Without a language that the text is
    /// known to be in, all of them are tried.
    pub(crate) fn word(&self, word: &str) -> Option<Vec<String>> {
        let columns = match self.language {
            Some(language) if is_function_word(language, word) => return Some(Vec::new()),
            Some(language) => language..language + 1,
            None => 0..SPACED,
        };
        let english = columns.clone().find_map(|column| english(column, word, self.is_foreign()));
        english.map(|words| words.iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect())
    }

    /// Returns whether the text is in another language.
    pub(crate) fn is_foreign(&self) -> bool {
        self.language.is_some()
    }
}

/// Returns `true` if `word` is one of grammar in the language of `column`.
fn is_function_word(column: usize, word: &str) -> bool {
    // An English word, too.
    MARKS[column].contains(word) || column == FRENCH && word == "comment"
}

/// The fewest frequent words of a language in a longer text that is in it: some occur in English too.
const MIN_FUNCTION_WORDS: usize = 2;
/// One word in this many of a text must be frequent in a language for the text to be in it.
const MIN_SHARE_OF: usize = 6;

/// Returns the English words for `word` in the language of `column`: those of every line that has it, or of
/// both parts of a compound, if compounds are allowed.
fn english(column: usize, word: &str, is_compound_allowed: bool) -> Option<Vec<&'static str>> {
    let language = &GLOSSARY.languages[column];
    let ends =
        |word: &str| word.char_indices().map(|(place, letter)| place + letter.len_utf8()).collect::<Vec<_>>();
    let started = |word: &str| {
        let mut ends = ends(word).into_iter().rev();
        ends.find_map(|end| language.starts.get(&word[..end])).cloned().unwrap_or_default()
    };
    let known = |word: &str| {
        let mut known = language.whole.get(word).cloned().unwrap_or_default();
        known.extend(started(word));
        Some(known).filter(|known| !known.is_empty())
    };
    if column != GERMAN || !is_compound_allowed || language.whole.contains_key(word) {
        return known(word);
    }
    let rests = ends(word).into_iter().filter(|end| *end >= MIN_PART && word.len() - *end >= MIN_PART);
    let last = rests.map(|end| &word[end..]).find_map(known);
    let both: Vec<&str> = started(word).into_iter().chain(last.into_iter().flatten()).collect();
    Some(both).filter(|both| !both.is_empty())
}

/// Returns the English words for runs of `text` in scripts without spaces: the longest match at each place.
fn dense_words(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let longest = || {
            let ends =
                rest.char_indices().map(|(place, letter)| place + letter.len_utf8()).take(MAX_DENSE_CHARS);
            let ends: Vec<usize> = ends.collect();
            ends.into_iter().rev().find_map(|end| Some((end, GLOSSARY.dense.get(&rest[..end])?)))
        };
        let longest = if is_dense(first) { longest() } else { None };
        let step = longest.map_or(first.len_utf8(), |(end, _)| end);
        found.extend(longest.into_iter().flat_map(|(_, lines)| lines).flat_map(|words| words.split(' ')));
        rest = &rest[step..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_all_columns() {
        for line in TABLE.lines() {
            assert_eq!(line.split('\t').count(), 7, "{line}");
            assert!(line.is_ascii() || line.split('\t').next().is_some_and(str::is_ascii), "{line}");
        }
    }

    #[test]
    fn requests_in_other_languages_are_translated() {
        let check = |text: &str, word: &str, expected: &[&str]| {
            let translation = Translation::of(text);
            assert!(translation.is_foreign(), "{text}");
            let found = translation.word(word).unwrap_or_default();
            assert!(expected.iter().all(|word| found.iter().any(|found| found == word)), "{word}: {found:?}");
        };
        check("Bitte schreib eine Rechnung für den Kunden", "rechnung", &["invoice"]);
        check("Ich brauche die Kundenrechnungen", "kundenrechnungen", &["invoice"]);
        check("Por favor, traduce este documento para mi jefe", "traduce", &["translate"]);
        check("Je dois préparer une facture pour le client", "facture", &["invoice"]);
        check("Preciso de uma fatura para o cliente", "fatura", &["invoice"]);
        // A word has the meanings of all lines that it is in.
        check("Je dois corriger une erreur", "corriger", &["fix", "grading"]);
        // Languages share function words.
        check("résoudre un conflit de fusion", "fusion", &["merge"]);
        check("déployer avec docker", "deployer", &["deploy"]);
        check("comment écrire des tests pour mon code", "comment", &[]);
        let dense = |text: &str| Translation::of(text).dense;
        assert!(dense("帮我翻译这个文件").contains(&"translate"), "{:?}", dense("帮我翻译这个文件"));
        assert!(dense("会議の議事録を翻訳して").contains(&"translate"));
        assert!(dense("translate this").is_empty());
    }

    #[test]
    fn english_is_not_translated() {
        for text in [
            "write an email in my name",
            "ai promt enginering",
            "the die is cast, no?",
            "deploy",
            "plan a course on solar power",
            "",
        ] {
            assert!(!Translation::of(text).is_foreign(), "{text}");
        }
    }
}
