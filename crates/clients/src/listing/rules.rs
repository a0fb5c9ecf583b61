//! The rules of the clients, as their requests show them; `tests/clients` compares them.

use repertoire_model::text::{escape_xml, one_line};

use super::rule::{ListingBudget, ListingRule, OfferedSkill};

/// Starts a rule: every description is shown whole, as goose, opencode and Gemini CLI do it.
const WHOLE: ListingRule = ListingRule {
    version: "",
    read_at: None,
    window: 200_000,
    budget: ListingBudget::Unlimited,
    room: None,
    longest: None,
    cut_mark: None,
    written: str::to_owned,
    entry: xml_with_path,
    order: |skill| skill.name.clone(),
    user_wins: Some(false),
    leaves_out_manual: false,
    waits_for_paths: false,
    own: &[],
};

#[rustfmt::skip]
const CLAUDE_CODE_SKILLS: &[(&str, usize)] = &[
    ("dataviz", 1_436), ("update-config", 690), ("keybindings-help", 228), ("code-review", 825),
    ("simplify", 176), ("fewer-permission-prompts", 163), ("loop", 336), ("claude-api", 150),
    ("workflow-authoring", 230), ("run", 361), ("plugin-authoring", 255), ("init", 0),
    ("security-review", 0),
];

/// Its own skills stay whole, and so take from the room of others, except for the last two.
pub(crate) const CLAUDE_CODE: ListingRule = ListingRule {
    version: "2.1.325",
    window: 1_000_000,
    budget: ListingBudget::MostUsed(0.01, [3, 4], 1_004),
    longest: Some(1_536),
    cut_mark: Some("…"),
    written: |description| {
        let lines = description.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.collect::<Vec<_>>().join(" ");
        line.replace('<', "&lt;").replace('>', "&gt;")
    },
    entry: |skill, description| match description {
        "" => format!("- {}", skill.name),
        description => format!("- {}: {description}", skill.name),
    },
    order: |skill| format!("{} {}", u8::from(!skill.is_users), skill.name.to_lowercase()),
    user_wins: Some(true),
    leaves_out_manual: true,
    waits_for_paths: true,
    own: CLAUDE_CODE_SKILLS,
    ..WHOLE
};

/// Its own skills come first.
pub(crate) const CODEX: ListingRule = ListingRule {
    version: "0.166.0",
    window: 272_000,
    budget: ListingBudget::Even(0.02),
    longest: Some(1_024),
    cut_mark: Some("..."),
    written: one_line,
    entry: |skill, description| {
        let blank = if description.is_empty() { "" } else { " " };
        let root = if skill.is_users { "r0" } else { "r2" };
        format!("- {}:{blank}{description} (file: {root}/{}/SKILL.md)", skill.name, skill.directory_name())
    },
    order: |skill| format!("{} {}", u8::from(skill.is_users), skill.name),
    user_wins: None,
    own: &[("imagegen", 570), ("openai-docs", 463), ("skill-creator", 106), ("skill-installer", 225)],
    ..WHOLE
};

pub(crate) const COPILOT: ListingRule = ListingRule {
    version: "1.0.102",
    budget: ListingBudget::FirstCome(15_000),
    longest: Some(1_024),
    written: |description| escape_xml(description).replace('"', "&quot;").replace('\'', "&apos;"),
    entry: |skill, description| {
        let location = if skill.is_users { "user" } else { "project" };
        let (name, description) = (&skill.name, description);
        format!(
            "<skill>\n  <name>{name}</name>\n  <description>{description}</description>\n  \
             <location>{location}</location>\n</skill>"
        )
    },
    order: |skill| format!("{} {}", u8::from(skill.is_users), skill.name),
    leaves_out_manual: true,
    ..WHOLE
};

pub(crate) const OPENCODE: ListingRule =
    ListingRule { version: "1.18.33", order: |skill| skill.name.to_lowercase(), ..WHOLE };

pub(crate) const GOOSE: ListingRule = ListingRule {
    version: "1.52.0",
    entry: |skill, description| format!("• {} - {description}", skill.name),
    ..WHOLE
};

pub(crate) const GEMINI: ListingRule = ListingRule { version: "0.61.0", ..WHOLE };

pub(crate) const CURSOR: ListingRule = ListingRule {
    version: "2.4",
    read_at: Some("https://cursor.com/docs/context/skills"),
    leaves_out_manual: true,
    ..WHOLE
};

fn xml_with_path(skill: &OfferedSkill, description: &str) -> String {
    let (name, path) = (&skill.name, skill.path.display());
    format!(
        "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
         <location>{path}</location>\n  </skill>"
    )
}
