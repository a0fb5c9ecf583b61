//! Chooses skills of a source: by name, all, or by asking.

use repertoire_sources::FoundSkill;

use super::report;
use crate::error::CliError;
use crate::ui::Ui;
use crate::wire::Workspace;

/// The most names that an unknown one is answered with.
const MAX_NAMES_SHOWN: usize = 50;

/// The characters between the words of an answer.
const SEPARATORS: [char; 2] = [' ', ','];

/// Returns the skills that are meant; `None` if that is not said, and nobody can be asked.
pub(super) fn choose<'f>(
    ui: &mut Ui,
    workspace: &Workspace,
    found: &'f [FoundSkill],
    names: &[String],
    all: bool,
) -> Result<Option<Vec<&'f FoundSkill>>, CliError> {
    if !names.is_empty() {
        let named = |name| found.iter().filter(move |skill: &&FoundSkill| skill.name.as_str() == name);
        return Ok(Some(names.iter().flat_map(named).collect()));
    }
    if all {
        return all_sound(ui, found).map(Some);
    }
    if !ui.is_interactive() || ui.is_json() {
        return Ok(None);
    }
    if let [only] = found {
        return Ok(Some(vec![only]));
    }
    report::numbered(ui, workspace, found)?;
    loop {
        let answer = ui.ask("add which? (numbers such as 1 3-5, names, `all`, or nothing)")?;
        if answer.split(SEPARATORS).all(str::is_empty) {
            return Ok(None);
        }
        if means_all(&answer) {
            return all_sound(ui, found).map(Some);
        }
        let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
        match picked(&answer, &names) {
            Ok(numbers) => return Ok(Some(numbers.into_iter().map(|number| &found[number]).collect())),
            Err(word) => ui.warn(&format!("`{word}` is not a number or name of the list"))?,
        }
    }
}

/// Returns `true` if `answer` means all skills. A yes does, too: the question may be taken for one about all.
fn means_all(answer: &str) -> bool {
    ["all", "y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Returns the skills that can be added. What is broken is reported, and does not keep the others away.
fn all_sound<'f>(ui: &mut Ui, found: &'f [FoundSkill]) -> Result<Vec<&'f FoundSkill>, CliError> {
    let (sound, broken): (Vec<&FoundSkill>, Vec<&FoundSkill>) =
        found.iter().partition(|skill| skill.fault.is_none());
    for skill in broken {
        let fault = skill.fault.as_deref().unwrap_or_default();
        ui.warn(&format!("{} is not added: {fault}", skill.name))?;
    }
    if sound.is_empty() {
        return Err(CliError::no("none of the skills can be added"));
    }
    Ok(sound)
}

/// Returns the places in `names` that `answer` means, or its first word that means none.
fn picked(answer: &str, names: &[&str]) -> Result<Vec<usize>, String> {
    let mut numbers = Vec::new();
    for word in answer.split(SEPARATORS).filter(|word| !word.is_empty()) {
        let number = |text: &str| text.parse::<usize>().ok().filter(|it| (1..=names.len()).contains(it));
        if word == "all" {
            numbers.extend(0..names.len());
        } else if let Some(index) = names.iter().position(|name| *name == word) {
            numbers.push(index);
        } else if let Some(number) = number(word) {
            numbers.push(number - 1);
        } else {
            let range = word.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
            let (first, last) = range.ok_or_else(|| word.to_owned())?;
            numbers.extend(first.min(last) - 1..first.max(last));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Returns the error about the first of `names` that no skill has.
pub(super) fn unknown_name(found: &[FoundSkill], names: &[String]) -> Option<CliError> {
    let is_unknown = |name: &&String| !found.iter().any(|skill| skill.name.as_str() == *name);
    names.iter().find(is_unknown).map(|name| unknown(found, name))
}

fn unknown(found: &[FoundSkill], name: &str) -> CliError {
    let error = CliError::no(format!("the source has no skill `{name}`"));
    let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
    if names.len() > MAX_NAMES_SHOWN {
        return error.hint("`--list` shows its skills");
    }
    error.hint(format!("it has: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_picked_by_numbers_ranges_and_names() {
        let check = |answer: &str, expect: Result<&[usize], &str>| {
            let expect = expect.map(<[usize]>::to_vec).map_err(str::to_owned);
            assert_eq!(picked(answer, &["a", "b", "c", "d", "2"]), expect, "{answer}");
        };
        check("1 3-5", Ok(&[0, 2, 3, 4]));
        check("5-3, 4", Ok(&[2, 3, 4]));
        check("b b 2-2", Ok(&[1]));
        check("2", Ok(&[4]));
        check("all", Ok(&[0, 1, 2, 3, 4]));
        check("1 0", Err("0"));
        check("2-9", Err("2-9"));
        check("x", Err("x"));
    }

    #[test]
    fn yes_means_all_skills() {
        for (answer, expect) in [("all", true), ("Y", true), ("yes ", true), ("no", false), ("1", false)] {
            assert_eq!(means_all(answer), expect, "{answer}");
        }
    }
}
