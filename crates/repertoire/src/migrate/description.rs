//! The description of a skill that was a role.

use repertoire_model::text::{shorten, visible_line};

/// The most characters that are taken from a prompt.
const MAX_DERIVED_CHARS: usize = 240;

/// Returns a description, and a note for the person who migrates.
///
/// `configured` is the description in the role's configuration; it is taken if it says when to use the role.
pub(super) fn describe(role: &str, prompt: &str, configured: Option<&str>) -> (String, Option<String>) {
    let words = role.replace(['-', '_'], " ");
    let when = format!("Use when a task calls for the {words} role.");
    if let Some(configured) = configured.map(plain).filter(|text| !text.is_empty()) {
        if configured.to_lowercase().contains("when") {
            return (configured, None);
        }
        let note = "config.yaml does not say when to use the role; a sentence was added to the description";
        return (format!("{}. {when}", configured.trim_end_matches('.')), Some(note.to_owned()));
    }
    let note = "the description was taken from the prompt; say in the words of users when to use the skill";
    match role_sentence(prompt).or_else(|| opening_sentence(prompt)) {
        Some(sentence) => (format!("{sentence}. {when}"), Some(note.to_owned())),
        None => {
            let note = "no plain sentence of the prompt says what the role is; write what the skill does and when to use it";
            (format!("Acts as the {words} specialist of a team. {when}"), Some(note.to_owned()))
        }
    }
}

/// Returns the sentence of `prompt` that describes the role, in the third person.
fn role_sentence(prompt: &str) -> Option<String> {
    for line in outside_code(prompt) {
        for (opening, third_person) in [("You are ", "Acts as "), ("You're ", "Acts as ")] {
            // A sentence that needs a variable is useless without it.
            let rest =
                line.strip_prefix(opening).map(first_sentence).filter(|rest| !rest.contains(['{', '}']));
            if let Some(rest) = rest.map(plain).filter(|rest| !rest.is_empty()) {
                let rest = rest.strip_prefix("responsible for ").map_or_else(
                    || format!("{third_person}{rest}"),
                    |duty| format!("Is responsible for {duty}"),
                );
                return Some(shorten(&rest, MAX_DERIVED_CHARS));
            }
        }
    }
    None
}

/// Returns the first sentence of the first running text of `prompt`, unless it speaks to the agent.
fn opening_sentence(prompt: &str) -> Option<String> {
    let is_text = |line: &str| line.starts_with(char::is_alphanumeric);
    let mut paragraph = String::new();
    for line in outside_code(prompt) {
        if is_text(line) {
            paragraph.push_str(line);
            paragraph.push(' ');
        } else if !paragraph.is_empty() {
            break;
        }
    }
    let sentence = plain(first_sentence(&paragraph));
    let speaks =
        sentence.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| SPOKEN.contains(&word));
    // A line that introduces a list is useless without it.
    let is_plain =
        !speaks && !sentence.is_empty() && !sentence.contains(['{', '}']) && !sentence.ends_with(':');
    is_plain.then(|| shorten(&sentence, MAX_DERIVED_CHARS))
}

/// Returns the lines of `prompt`, trimmed, and empty ones for those of fenced code.
fn outside_code(prompt: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    prompt.lines().map(str::trim).map(move |line| {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~')).unwrap_or('\0');
        let rest = line.trim_start_matches(mark);
        let run = &line[..line.len() - rest.len()];
        match fence {
            // A fence is closed by one of its kind that is as long and stands alone.
            Some(open) => {
                if run.starts_with(open) && rest.is_empty() {
                    fence = None;
                }
                ""
            }
            None if run.len() >= 3 => {
                fence = Some(run);
                ""
            }
            None => line,
        }
    })
}

/// Words by which a sentence speaks to someone rather than about something.
const SPOKEN: [&str; 8] = ["you", "your", "yours", "i", "my", "we", "our", "please"];

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").or_else(|| text.strip_suffix('.').map(str::len)).unwrap_or(text.len());
    &text[..end]
}

/// Returns `text` on one line, without marks that have a meaning to hosts or to Markdown.
fn plain(text: &str) -> String {
    visible_line(&text.replace(['<', '>', '*', '`'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_about_a_third_person_and_say_when() {
        let check = |prompt: &str, configured: Option<&str>, expect: &str, is_noted: bool| {
            let (description, note) = describe("back-end", prompt, configured);
            assert_eq!((description.as_str(), note.is_some()), (expect, is_noted));
        };
        let when = "Use when a task calls for the back end role.";
        let acts = format!("Acts as a **senior** engineer. {when}").replace("**", "");
        check("# Backend\n\nYou are a **senior** engineer. You test.\n", None, &acts, true);
        check("```\nYou are code.\n```\nYou are a senior engineer", None, &acts, true);
        check("~~~\n```\nYou are code.\n~~~\nYou are a senior engineer", None, &acts, true);
        let none = format!("Acts as the back end specialist of a team. {when}");
        check("You are {{ name }}.", None, &none, true);
        check("", None, &none, true);
        check("# Title\n- Be kind.\n", None, &none, true);
        check("Your task is this.", None, &none, true);
        check("Keep to these:\n- x\n", None, &none, true);
        check(
            "# Title\n\nServers in Python,\nand queues. More.\n",
            None,
            &format!("Servers in Python, and queues. {when}"),
            true,
        );
        check("You are responsible for servers.", None, &format!("Is responsible for servers. {when}"), true);
        check("x", Some("Builds <b>servers</b>."), &format!("Builds bservers/b. {when}"), true);
        check("x", Some("Builds servers. Use when asked."), "Builds servers. Use when asked.", false);
    }
}
