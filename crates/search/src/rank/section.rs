//! Finds the section of a skill's instructions that fits a query best, so that only it needs to be read.

use std::collections::BTreeMap;

use repertoire_model::answer::Section;
use repertoire_model::outline::{Heading, headings};
use repertoire_model::text::start;

use super::logarithm::ln_1p;
use super::query::Query;
use crate::words::{Term, TermMap, TextRole, WordCutter};

/// The most bytes of the instructions that are searched.
const MAX_BYTES: usize = 256 * 1024;
/// The weight of a word in a title.
const TITLE_WEIGHT: f32 = 2.0;
/// The number of occurrences at which a word adds half of its maximum.
const SATURATION: f32 = 1.0;
/// The influence of the length of a section on its words, from 0 to 1.
const LENGTH_INFLUENCE: f32 = 0.2;
/// The weight of a stop word relative to other words.
const STOP_WORD_WEIGHT: f32 = 0.1;
/// The weight of a section that is only a heading.
const BARE_WEIGHT: f32 = 0.25;
/// The title of the beginning if there is no heading.
const INTRODUCTION: &str = "introduction";

/// Returns the section of the instructions that fits `query` best; `None` if they have none of its words.
///
/// A section ends at the next heading of any level; the text before the first heading is a section too. The
/// instructions start at byte `body_offset` of a `SKILL.md`. Line numbers are those of the whole file, and
/// `price` returns the number of tokens of a text.
pub(crate) fn best_section(
    query: &Query,
    text_of_skill_md: &str,
    body_offset: usize,
    price: impl Fn(&str) -> usize,
) -> Option<Section> {
    let (before, body) = text_of_skill_md.split_at_checked(body_offset)?;
    let body = start(body, MAX_BYTES);
    let places: TermMap<usize> = query.words.iter().enumerate().map(|(at, asked)| (asked.term, at)).collect();
    let mut cutter = WordCutter::default();
    let mut count = |text: &str, times: f32, found: &mut BTreeMap<usize, f32>| {
        let mut words = 0;
        cutter.each(text, TextRole::Document, |word| {
            words += 1;
            if let Some(at) = places.get(&Term::of(word).0) {
                *found.entry(*at).or_default() += times;
            }
        });
        words
    };
    let parts = parts(body);
    let counted: Vec<SectionCounts> = parts
        .iter()
        .map(|part| {
            let mut found = BTreeMap::new();
            count(&part.title, TITLE_WEIGHT - 1.0, &mut found);
            let length = count(&body[part.start..part.end], 1.0, &mut found);
            SectionCounts { found, length }
        })
        .collect();
    let scores = scores(query, &parts, &counted);
    let best = (0..parts.len()).reduce(|best, next| if scores[next] > scores[best] { next } else { best })?;
    let SectionSpan { title, level, start, end, .. } =
        parts.into_iter().nth(best).filter(|_| scores[best] > 0.0)?;
    let lines = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let content = &body[start..end];
    let first_line = 1 + lines(before) + lines(&body[..start]);
    // The section ends at the start of a line, or at the end of a text that may lack a final line end.
    let open_line = usize::from(!content.ends_with('\n'));
    let last_line = (first_line + lines(content) + open_line).saturating_sub(1).max(first_line);
    Some(Section { title, level, first_line, last_line, tokens: price(content) })
}

/// A section from its heading to the next one.
struct SectionSpan {
    title: String,
    level: u8,
    start: usize,
    end: usize,
    /// `true` if it is only a heading.
    is_bare: bool,
}

/// The query words in a section.
struct SectionCounts {
    /// The weighted number of occurrences, by index of the query word.
    found: BTreeMap<usize, f32>,
    /// The number of words of the section.
    length: u32,
}

/// Splits `body` at its headings.
fn parts(body: &str) -> Vec<SectionSpan> {
    let headings = headings(body);
    let first = headings.first().map_or(body.len(), |heading| heading.offset);
    let mut parts = Vec::with_capacity(headings.len() + 1);
    if !body[..first].trim().is_empty() {
        // Blank lines at the start are left out.
        let blank: usize =
            body.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
        let (title, level) =
            headings.first().map_or((INTRODUCTION.to_owned(), 1), |first| (first.title.clone(), first.level));
        parts.push(SectionSpan { title, level, start: blank, end: first, is_bare: false });
    }
    let ends: Vec<usize> =
        headings.iter().skip(1).map(|heading| heading.offset).chain([body.len()]).collect();
    for (Heading { title, level, offset }, end) in headings.into_iter().zip(ends) {
        let is_bare = body[offset..end].trim_end().lines().nth(1).is_none();
        parts.push(SectionSpan { title, level, start: offset, end, is_bare });
    }
    parts
}

/// Returns the score of each section for `query`: words that few sections have weigh most.
fn scores(query: &Query, parts: &[SectionSpan], counted: &[SectionCounts]) -> Vec<f32> {
    let count = counted.len() as f32;
    let mut holders = vec![0.0f32; query.words.len()];
    counted.iter().flat_map(|part| part.found.keys()).for_each(|at| holders[*at] += 1.0);
    let weights = query.words.iter().zip(holders).map(|(asked, holders)| {
        let rarity = ln_1p((count - holders + 0.5) / (holders + 0.5));
        if asked.is_common { rarity * STOP_WORD_WEIGHT } else { rarity }
    });
    let weights: Vec<f32> = weights.collect();
    let total: u64 = counted.iter().map(|part| u64::from(part.length)).sum();
    let average = (total as f32 / count.max(1.0)).max(1.0);
    // Stop words alone find nothing, unless the query has no other words.
    let has_only_stop_words = query.words.iter().all(|asked| asked.is_common);
    let is_found = |found: &BTreeMap<usize, f32>| {
        has_only_stop_words || found.keys().any(|at| !query.words[*at].is_common)
    };
    let score = |(part, SectionCounts { found, length }): (&SectionSpan, &SectionCounts)| {
        if !is_found(found) {
            return 0.0;
        }
        let half = SATURATION * (1.0 - LENGTH_INFLUENCE + LENGTH_INFLUENCE * *length as f32 / average);
        let words = found.iter().map(|(at, count)| weights[*at] * count / (count + half));
        words.sum::<f32>() * if part.is_bare { BARE_WEIGHT } else { 1.0 }
    };
    parts.iter().zip(counted).map(score).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRONT: &str = "---\nname: x\n---\n";

    fn check(body: &str, query: &str, expected: Option<(usize, usize, &str)>) {
        let text = format!("{FRONT}{body}");
        let found = best_section(&Query::new(query), &text, FRONT.len(), str::len);
        let shown = found.as_ref().map(|found| (found.first_line, found.last_line, found.title.as_str()));
        assert_eq!(shown, expected, "{query} in {body}");
        if let Some(section) = found {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let content = lines[section.first_line - 1..section.last_line].concat();
            assert_eq!(content.len(), section.tokens, "these are the lines that were priced");
        }
    }

    const GUIDE: &str = "\nAbout PDF files.\n\n# PDF guide\n\n## Fill forms\nThe form has fields.\n\n### Radio buttons\n\
        Each button of a form.\n\n## Merge\nJoin the pages of files, see the forms.\n\n## Notes\n";

    #[test]
    fn the_section_with_the_words_is_found() {
        check(GUIDE, "fill in a form", Some((9, 11, "Fill forms")));
        check(GUIDE, "what about radio buttons?", Some((12, 14, "Radio buttons")));
        check(GUIDE, "join pages", Some((15, 17, "Merge")));
        check(GUIDE, "PDF files", Some((5, 6, "PDF guide")));
        check(GUIDE, "notes", Some((18, 18, "Notes")));
        check(GUIDE, "deploy a cluster", None);
        check(GUIDE, "", None);
        check("", "form", None);
    }

    #[test]
    fn stop_words_do_not_decide() {
        check(
            "# A\nHow do I do it with the tool of the day?\n# B\nDeploy.\n",
            "how do I deploy the",
            Some((6, 7, "B")),
        );
    }

    #[test]
    fn a_title_counts_more_than_a_mention() {
        check(
            "# Other\nRun the migrations.\n# Migrations\nRun the rest.\n",
            "migration",
            Some((6, 7, "Migrations")),
        );
        check("# Deploy\n## Steps\nDeploy it now.\n", "deploy", Some((5, 6, "Steps")));
    }

    #[test]
    fn a_text_without_headings_is_one_section() {
        check("Fill the form.\nThen save.", "form", Some((4, 5, "introduction")));
        check("\n\nFill the form.\n", "form", Some((6, 6, "introduction")));
    }

    #[test]
    fn comments_in_code_are_not_headings() {
        check("# A\n```sh\n# deploy\nmake deploy\n```\n# B\ntext\n", "deploy", Some((4, 8, "A")));
    }

    #[test]
    fn crlf_line_ends_are_accepted() {
        check("# A\r\ntext\r\n\r\n# B\r\nform\r\n", "form", Some((7, 8, "B")));
    }

    #[test]
    fn scripts_without_blanks_are_found() {
        check("# 安装\n运行它。\n# 翻译文档\n翻译文件。\n", "如何翻译", Some((6, 7, "翻译文档")));
    }

    #[test]
    fn searched_text_is_bounded() {
        let body = "# A\n".to_owned() + &"word ".repeat(MAX_BYTES) + "\n# B\nform\n";
        check(&body.replace("word", "page"), "form", None);
        assert_eq!(best_section(&Query::new("a"), "# A", 9, str::len), None);
        assert_eq!(best_section(&Query::new("a"), "ü# A", 1, str::len), None);
    }

    proptest! {
        #[test]
        fn lines_of_a_section_match_its_content(body in "([#=\\-\r\n` a-cä翻]|```){0,60}", query in "[a-cä翻 ]{1,8}") {
            let found = best_section(&Query::new(&query), &body, 0, str::len);
            if let Some(section) = found {
                let lines: Vec<&str> = body.split_inclusive('\n').collect();
                prop_assert!(1 <= section.first_line && section.first_line <= section.last_line);
                prop_assert!(section.last_line <= lines.len());
                let content = lines[section.first_line - 1..section.last_line].concat();
                prop_assert_eq!(content.len(), section.tokens);
            }
        }
    }
}
