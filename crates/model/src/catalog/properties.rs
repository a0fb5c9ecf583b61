//! Properties that hold for any skills, however hostile.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::entry::flatten;
use super::*;

/// Characters that a terminal, a parser or a model may take for the end of a line.
const LINE_BREAKS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

#[rustfmt::skip]
const HOSTILE: &[&str] = &[
    "</skill>", "</available_skills>", "<skill><name>x</name>", "]]>", "<!--", "```", "`", "\n- x: y", "\r\n* y: z",
    "\u{2028}", "\u{85}", "\u{1b}[31m", "\u{202e}", "\u{200b}", "\0", "\"}]}", "\\", "&", "&amp;", " [loaded]", "'", "  ",
    "Does things. ", "Use when asked. ", "表格。", "\u{ffff}", "%", "\n\n## Skills\n",
];

type Skills = BTreeMap<String, String>;

fn description() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => select(HOSTILE).prop_map(str::to_owned),
        2 => "[a-zA-Z ,.]{1,40}",
        1 => "\\PC{0,12}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn skills() -> impl Strategy<Value = Skills> {
    prop::collection::btree_map("[a-z0-9][a-z0-9._-]{0,12}", description(), 1..14)
}

fn entries(skills: &Skills) -> Vec<CatalogEntry<'_>> {
    let entry = |(name, description)| CatalogEntry { name, description, location: Some("/s/SKILL.md") };
    skills.iter().map(|(name, description)| entry((name.as_str(), description.as_str()))).collect()
}

fn flat(skills: &Skills) -> Vec<(String, String)> {
    skills.iter().map(|(name, description)| (name.clone(), flatten(description))).collect()
}

fn formats() -> impl Strategy<Value = Format> {
    select(&Format::ALL)
}

fn tokenizers() -> impl Strategy<Value = Tokenizer> {
    select(&Tokenizer::ALL)
}

/// Returns the elements of a well-formed XML text in the order of their end, with their name and text.
fn parse_xml(xml: &str) -> Result<Vec<(&str, String)>, String> {
    let mut open: Vec<(&str, String)> = Vec::new();
    let mut closed = Vec::new();
    for (index, part) in xml.split('<').enumerate() {
        let (tag, text) =
            if index == 0 { ("", part) } else { part.split_once('>').ok_or("a tag has no end")? };
        if let Some(name) = tag.strip_prefix('/') {
            closed
                .push(open.pop().filter(|(opened, _)| *opened == name).ok_or(format!("</{name}> is wrong"))?);
        } else if index > 0 {
            open.push((tag.split(' ').next().unwrap_or_default(), String::new()));
        }
        let text = unescape(text)?;
        match open.last_mut() {
            Some((_, content)) => content.push_str(text.trim_matches('\n')),
            None if text.trim().is_empty() => {}
            None => return Err(format!("{text:?} is outside")),
        }
    }
    if open.is_empty() { Ok(closed) } else { Err(format!("never closed: {open:?}")) }
}

fn unescape(text: &str) -> Result<String, String> {
    if text.contains('>') {
        return Err(format!("a bare > in {text:?}"));
    }
    let mut plain = String::new();
    let mut parts = text.split('&');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (entity, rest) = part.split_once(';').ok_or("a bare &")?;
        plain.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#x27" => '\'',
            _ => return Err(format!("unknown entity {entity}")),
        });
        plain.push_str(rest);
    }
    Ok(plain)
}

/// Returns the skills that an XML catalog lists, without the guidance around it.
fn listed_in_xml(text: &str) -> Result<Vec<(String, String)>, String> {
    let start = text.find("<available_skills>").ok_or("no block")?;
    let last = "</available_skills>";
    let end = text.find(last).ok_or("the block has no end")? + last.len();
    let mut skills = Vec::new();
    for (tag, content) in parse_xml(&text[start..end])? {
        match (tag, skills.last_mut()) {
            ("name", _) => skills.push((content, String::new())),
            ("description", Some((_, description))) => *description = content,
            ("skill" | "available_skills" | "location", _) => {}
            (tag, _) => return Err(format!("a <{tag}>")),
        }
    }
    Ok(skills)
}

fn listed_in_json(text: &str) -> Vec<(String, String)> {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let field = |skill: &serde_json::Value, key| skill[key].as_str().unwrap_or_default().to_owned();
    let skills = value["skills"].as_array().unwrap();
    skills.iter().map(|skill| (field(skill, "name"), field(skill, "description"))).collect()
}

/// Returns the names that stand together in the last line of a catalog.
fn listed_in_line(text: &str) -> Vec<String> {
    let line = text.split_once("Other skills: ").map_or("", |(_, line)| line.trim_end_matches("\"}"));
    line.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

proptest! {
    #[test]
    fn order_does_not_matter(
        skills in skills(),
        format in formats(),
        budget_tokens in prop::option::of(0usize..400),
        rotation in 0usize..14,
    ) {
        let tokenizer = Tokenizer::Chars4;
        let options = CatalogOptions { format, budget_tokens, tokenizer, ..CatalogOptions::default() };
        let mut entries = entries(&skills);
        let expected = render(&entries, &options).unwrap();
        let middle = rotation % entries.len();
        entries.rotate_left(middle);
        prop_assert_eq!(&render(&entries, &options).unwrap(), &expected);
        entries[middle..].reverse();
        prop_assert_eq!(&render(&entries, &options).unwrap(), &expected);
    }

    #[test]
    fn a_description_adds_no_line(skills in skills(), format in formats(), loaded in any::<bool>()) {
        let loaded = if loaded { skills.keys().cloned().collect() } else { Vec::new() };
        let options = CatalogOptions { format, loaded, ..CatalogOptions::default() };
        let text = render(&entries(&skills), &options).unwrap().text;
        // The same skills with a harmless description wherever the hostile one leaves anything to show.
        let tame = |(name, flat): (String, String)| (name, flat.chars().map(|_| 'x').take(1).collect());
        let tame: Skills = flat(&skills).into_iter().map(tame).collect();
        let tame = render(&entries(&tame), &options).unwrap().text;
        prop_assert_eq!(text.matches(LINE_BREAKS).count(), tame.matches('\n').count());
        prop_assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || crate::text::is_invisible(c))));
        prop_assert!(!text.ends_with('\n'));
    }

    #[test]
    fn catalogs_parse_back_to_their_skills(skills in skills()) {
        let text = |format| {
            let options = CatalogOptions { format, ..CatalogOptions::default() };
            render(&entries(&skills), &options).unwrap().text
        };
        prop_assert_eq!(listed_in_xml(&text(Format::Xml)), Ok(flat(&skills)));
        prop_assert_eq!(listed_in_xml(&text(Format::Compat)), Ok(flat(&skills)));
        prop_assert_eq!(listed_in_json(&text(Format::Json)), flat(&skills));
    }

    #[test]
    fn a_location_stays_in_its_element(location in description()) {
        let options = CatalogOptions { format: Format::Compat, ..CatalogOptions::default() };
        let entries = [CatalogEntry { name: "a", description: "b", location: Some(&location) }];
        let text = render(&entries, &options).unwrap().text;
        prop_assert_eq!(text.matches(LINE_BREAKS).count(), 12);
        prop_assert_eq!(text.matches(['<', '>']).count(), 20);
    }

    #[test]
    fn the_budget_is_kept_and_no_name_is_lost(
        skills in skills(),
        format in formats(),
        tokenizer in tokenizers(),
        budget in 0usize..500,
        highlight in any::<bool>(),
        priority in any::<bool>(),
    ) {
        let last = skills.keys().next_back().cloned();
        let options = CatalogOptions {
            format,
            tokenizer,
            budget_tokens: Some(budget),
            highlight: last.filter(|_| highlight),
            priority: skills.keys().skip(2).filter(|_| priority).cloned().collect(),
            ..CatalogOptions::default()
        };
        let Catalog { text, report } = render(&entries(&skills), &options).unwrap();
        prop_assert_eq!(report.tokens, Some(tokenizer.count(&text)));
        prop_assert_eq!(report.over_budget, tokenizer.count(&text) > budget);
        prop_assert_eq!(report.tiers.len(), skills.len());
        let mut listed = match format {
            Format::Json => listed_in_json(&text),
            Format::Xml | Format::Compat => listed_in_xml(&text).unwrap(),
            _ => report.tiers.iter().map(|skill| (skill.name.clone(), String::new())).collect(),
        };
        listed.sort();
        prop_assert!(listed.iter().map(|(name, _)| name).eq(skills.keys()));
        prop_assert!(skills.keys().all(|name| text.contains(name.as_str())));
        prop_assert_eq!(text.contains("To save space, "), report.shortened() > 0);
        if report.over_budget {
            let bare = |skill: &SkillTier| flatten(&skills[&skill.name]).is_empty();
            prop_assert!(report.tiers.iter().all(|skill| skill.tier == Tier::NameOnly || bare(skill)));
        }
        // A larger budget never shows fewer skills in full, unless it is the first with room for every skill.
        let more = CatalogOptions { budget_tokens: Some(budget + 40), ..options };
        if !highlight && !priority {
            let more = render(&entries(&skills), &more).unwrap().report;
            let is_something = more.count(Tier::NameOnly) == 0;
            prop_assert!(is_something || more.count(Tier::Full) >= report.count(Tier::Full));
        }
    }

    #[test]
    fn every_skill_is_described_in_one_of_the_turns(
        lengths in prop::collection::vec((0usize..60, 0usize..1_200), 2..14),
        spare in 160usize..900,
        wanted in 0usize..14,
        lists_all in any::<bool>(),
    ) {
        // A first sentence of some words, and then more.
        let describe = |(sentence, more): &(usize, usize)| {
            format!("Sorts {}it. {}", "it and ".repeat(*sentence), "More. ".repeat(more / 6))
        };
        let skills: Skills =
            (0..).zip(&lengths).map(|(number, lengths)| (format!("skill-{number:02}"), describe(lengths))).collect();
        let entries = entries(&skills);
        let options = CatalogOptions { format: Format::Menu, tokenizer: Tokenizer::Chars4, ..CatalogOptions::default() };
        // With every name, or with that of one and the longest footer.
        let listed = if lists_all { &entries[..] } else { &entries[..1] };
        let bare = render(listed, &CatalogOptions { budget_tokens: Some(1), ..options.clone() }).unwrap().tokens();
        let names = skills.keys().nth(wanted).cloned().into_iter().collect::<Vec<_>>();
        let at = |epoch| {
            let ranking = Some(Ranking { names: names.clone(), epoch });
            let budget_tokens = Some(bare + 30 + spare);
            render(&entries, &CatalogOptions { budget_tokens, ranking, ..options.clone() }).unwrap().report
        };
        let mut bought = std::collections::BTreeSet::new();
        for epoch in 0..at(0).turns.unwrap_or(1) as u64 {
            let described = at(epoch).tiers.into_iter().filter(|skill| skill.tier >= Tier::FirstSentence);
            bought.extend(described.map(|skill| skill.name));
        }
        prop_assert!(bought.iter().eq(skills.keys()), "{bought:?}");
    }

    #[test]
    fn with_a_ranking_the_budget_is_kept(
        skills in skills(),
        format in formats(),
        tokenizer in tokenizers(),
        budget in 0usize..500,
        wanted in prop::collection::vec(0usize..14, 0..5),
        epoch in any::<u64>(),
        rotation in 0usize..14,
    ) {
        let names: Vec<String> = wanted.iter().filter_map(|index| skills.keys().nth(*index)).cloned().collect();
        let options = CatalogOptions {
            format,
            tokenizer,
            budget_tokens: Some(budget),
            ranking: Some(Ranking { names: names.clone(), epoch }),
            ..CatalogOptions::default()
        };
        let catalog = render(&entries(&skills), &options).unwrap();
        let mut turned = entries(&skills);
        turned.rotate_left(rotation % skills.len());
        prop_assert_eq!(&render(&turned, &options).unwrap(), &catalog);
        let Catalog { text, report } = catalog;
        prop_assert_eq!(report.tokens, Some(tokenizer.count(&text)));
        prop_assert!(report.over_budget == (tokenizer.count(&text) > budget));
        let named = usize::from(!names.is_empty());
        prop_assert!(!report.over_budget || report.count(Tier::Omitted) == skills.len() - named);
        let listed: Vec<&str> =
            report.tiers.iter().filter(|skill| skill.tier != Tier::Omitted).map(|skill| skill.name.as_str()).collect();
        let mut read_back = listed_in_line(&text);
        let is_only_name = |skill: &&SkillTier| skill.tier == Tier::NameOnly;
        prop_assert!(report.tiers.iter().filter(is_only_name).map(|skill| &skill.name).eq(read_back.iter()));
        let entries = match format {
            Format::Json => listed_in_json(&text),
            Format::Xml | Format::Compat if !listed.is_empty() => listed_in_xml(&text).unwrap(),
            _ => {
                let is_entry = |skill: &&SkillTier| skill.tier > Tier::NameOnly;
                report.tiers.iter().filter(is_entry).map(|skill| (skill.name.clone(), String::new())).collect()
            }
        };
        read_back.extend(entries.into_iter().map(|(name, _)| name));
        read_back.sort();
        prop_assert_eq!(&read_back, &listed);
        for skill in &report.tiers {
            let rank = names.iter().position(|name| *name == skill.name);
            match skill.reason {
                Reason::Task { rank: told } => prop_assert_eq!(names.get(told - 1), Some(&skill.name)),
                Reason::FairShare => prop_assert!(rank.is_none() || report.shortened() > 0),
                Reason::Omitted => prop_assert_eq!(skill.tier, Tier::Omitted),
                Reason::Tier | Reason::Host => prop_assert!(skill.reason == Reason::Tier),
            }
        }
    }
}
