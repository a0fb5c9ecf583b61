//! The messages of faults for the model: the fault, and the advice on what to do instead.

use super::render::sentence::line;
use super::{ErrorStyle, Fault, FaultKind, RunRefusal, Wording};
use crate::escape::tool_call;

/// The most names that are listed as near.
const MAX_NEAR: usize = 10;
/// The most names of skills or tools that are listed in full.
const MAX_NAMED: usize = 50;
/// The most characters of a list of names.
const MAX_NAMES_CHARS: usize = 4_000;
/// A name shorter than this many characters has little in common with names that are a few slips away.
const MIN_RANKED_CHARS: usize = 4;

impl FaultKind {
    /// Returns the word used on every surface; it never changes.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::UnknownSkill { .. } => "unknown_skill",
            Self::NotPermitted => "not_permitted",
            Self::Gone => "gone",
            Self::Broken { .. } => "broken",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::SkillAsTool => "skill_as_tool",
            Self::MissingArgument { .. } => "missing_argument",
            Self::BadArgument { .. } => "bad_argument",
            Self::UnknownArgument { .. } => "unknown_argument",
            Self::BadPath { .. } => "bad_path",
            Self::NoFile { .. } => "no_file",
            Self::NoDirectory { .. } => "no_directory",
            Self::IsDirectory { .. } => "is_directory",
            Self::NotDirectory { .. } => "not_directory",
            Self::Forbidden { .. } => "forbidden",
            Self::Binary { .. } => "binary",
            Self::TooLarge { .. } => "too_large",
            Self::NotLoaded { .. } => "not_loaded",
            Self::NoSkillTool { .. } => "no_skill_tool",
            Self::BadArguments { .. } => "bad_arguments",
            Self::NotApproved { .. } => "not_approved",
            Self::NoHandler { .. } => "no_handler",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
        }
    }
}

impl Fault {
    /// Returns the problem and its remedy, on one bounded line.
    ///
    /// ```
    /// use repertoire_model::answer::{Fault, FaultKind, Wording};
    /// let fault = Fault::new("pdf", None, FaultKind::SkillAsTool);
    /// let expect = "There is no function pdf; it is the name of a skill. Answer now with this call: \
    ///     {\"name\": \"load_skill\", \"arguments\": {\"name\": \"pdf\"}}";
    /// assert_eq!(fault.message(&Wording::default()), expect);
    /// ```
    pub fn message(&self, wording: &Wording) -> String {
        let tool = line(&self.tool);
        let skill = line(self.skill.as_deref().unwrap_or_default());
        match &self.kind {
            FaultKind::UnknownSkill { near, total, all } => unknown_skill(&skill, near, *total, all, wording),
            FaultKind::NotPermitted => format!("Skill `{skill}` exists, but you may not use it."),
            FaultKind::Gone => format!("Skill `{skill}` was removed since it was listed; go on without it."),
            FaultKind::Broken { reason } if reason.is_empty() => {
                format!("Skill `{skill}` is broken and cannot be used. Go on without it.")
            }
            FaultKind::Broken { reason } => {
                format!("Skill `{skill}` is broken and cannot be used: {}. Go on without it.", clause(reason))
            }
            FaultKind::UnknownTool { tools, near } => {
                let tools = names(tools, MAX_NAMED);
                let known = if tools.is_empty() { String::new() } else { format!(" Tools: {tools}.") };
                match near.as_deref().map(line) {
                    Some(skill) => format!(
                        "There is no tool `{tool}`.{known} If you mean the skill {skill}, answer now with this call: {}",
                        tool_call(&wording.load, &wording.name, &skill)
                    ),
                    None => format!(
                        "There is no tool `{tool}`. If it belongs to a skill, load the skill first.{known}"
                    ),
                }
            }
            FaultKind::SkillAsTool => {
                let skill = if skill.is_empty() { &tool } else { &skill };
                let call = tool_call(&wording.load, &wording.name, skill);
                format!(
                    "There is no function {tool}; it is the name of a skill. Answer now with this call: {call}"
                )
            }
            FaultKind::MissingArgument { name } => {
                format!("`{tool}` needs the argument `{}`.", line(name))
            }
            FaultKind::BadArgument { name, expected } => {
                format!("`{}` of `{tool}` must be {}.", line(name), clause(expected))
            }
            FaultKind::UnknownArgument { name, takes } => {
                format!("`{tool}` has no argument `{}`. It takes: {}.", line(name), names(takes, MAX_NAMED))
            }
            FaultKind::NotLoaded { .. }
            | FaultKind::NoSkillTool { .. }
            | FaultKind::BadArguments { .. }
            | FaultKind::NotApproved { .. }
            | FaultKind::NoHandler { .. } => self.about_skill_tool(&skill, wording),
            FaultKind::Refused { reason } => format!("The call was refused: {}.", clause(reason)),
            _ => self.about_path(&skill, wording),
        }
    }

    /// Returns the message of a fault that has to do with a tool or script of a skill.
    fn about_skill_tool(&self, skill: &str, wording: &Wording) -> String {
        match &self.kind {
            FaultKind::NotLoaded { tool } => {
                let Wording { load, name, .. } = wording;
                let arguments = serde_json::json!({ name: skill });
                format!(
                    "Skill `{skill}` is not loaded, so its tool `{}` cannot be called. First call `{load}` with {arguments}.",
                    line(tool)
                )
            }
            FaultKind::NoSkillTool { tool, tools } if tools.is_empty() => {
                format!("Skill `{skill}` has no tool `{}`; it has no tool that can be called.", line(tool))
            }
            FaultKind::NoSkillTool { tool, tools } => {
                let tools = names(tools, MAX_NAMED);
                format!("Skill `{skill}` has no tool `{}`. Its tools: {tools}.", line(tool))
            }
            FaultKind::BadArguments { tool, problems } => {
                let problems: Vec<String> =
                    problems.iter().take(MAX_NEAR).map(|problem| clause(problem)).collect();
                format!(
                    "The arguments of `{}` are not as its schema says: {}. Nothing was run.",
                    line(tool),
                    problems.join("; ")
                )
            }
            FaultKind::NotApproved { tool, why } => not_approved(skill, &line(tool), *why, wording),
            FaultKind::NoHandler { tool } => {
                format!("Nothing in skill `{skill}` says how to run `{}`. Go on without it.", line(tool))
            }
            _ => String::new(),
        }
    }

    /// Returns the message of a fault that has to do with a file.
    fn about_path(&self, skill: &str, wording: &Wording) -> String {
        let list = wording.list_files.as_ref();
        let list = list.map(|tool| format!(" Call `{tool}` to see its files.")).unwrap_or_default();
        // Small models look for files of the project in a skill whose instructions they have not read.
        let is_lookup =
            [&wording.read_file, &wording.list_files].into_iter().flatten().any(|name| *name == self.tool);
        let call = tool_call(&wording.load, &wording.name, skill);
        let load = format!(" If the skill is not loaded yet, answer now with this call: {call}");
        let load = if is_lookup { load } else { String::new() };
        match &self.kind {
            FaultKind::BadPath { path, reason } => {
                let (path, reason) = (line(path), clause(reason));
                match path.as_str() {
                    "" => format!("Name a file of the skill: {reason}."),
                    path if path.starts_with('/') || path.split('/').any(|component| component == "..") => {
                        format!(
                            "Path traversal detected: `{path}` is not a path of a file in a skill: {reason}."
                        )
                    }
                    path => format!("`{path}` is not a path of a file in a skill: {reason}."),
                }
            }
            FaultKind::NoFile { path, near } => {
                let hint = nearest(path, near).unwrap_or(list);
                format!("Skill `{skill}` has no file `{}`.{hint}{load}", line(path))
            }
            FaultKind::NoDirectory { path } => {
                format!("Skill `{skill}` has no directory `{}`.{list}{load}", line(path))
            }
            FaultKind::IsDirectory { path } => format!("`{}` is a directory, not a file.{list}", line(path)),
            FaultKind::NotDirectory { path } => format!("`{}` is a file, not a directory.", line(path)),
            FaultKind::Forbidden { path } => {
                format!("`{}` is never read: it is hidden, a link or no plain file.", line(path))
            }
            FaultKind::Binary { path, media_type, size } => {
                format!(
                    "`{}` is not text ({}, {size} bytes) and cannot be shown.",
                    line(path),
                    line(media_type)
                )
            }
            FaultKind::TooLarge { path } => format!("`{}` is too large to be read.", line(path)),
            FaultKind::Failed { reason } => format!("The call failed: {}.", clause(reason)),
            _ => String::new(),
        }
    }
}

/// Returns the reason that nothing was run, and the remedy.
fn not_approved(skill: &str, tool: &str, why: RunRefusal, wording: &Wording) -> String {
    let approve = |more: &str| match &wording.approve {
        Some(command) => format!("Ask the user to run `{command} {skill}{more}`, or go on without it."),
        None => "Ask the user to approve it, or go on without it.".to_owned(),
    };
    match why {
        RunRefusal::Unknown => {
            format!("Skill `{skill}` may not run anything before a person approves it. {}", approve(""))
        }
        RunRefusal::Changed => {
            format!(
                "Skill `{skill}` changed since a person approved it and may not run anything. {}",
                approve("")
            )
        }
        RunRefusal::Source => {
            format!(
                "Skill `{skill}` comes from a source whose skills may not run anything. Go on without it."
            )
        }
        RunRefusal::Asks => {
            let approve = approve(&format!(" --tool {tool}"));
            format!(
                "`{tool}` of skill `{skill}` needs the consent of a person, and nobody can be asked here. {approve}"
            )
        }
        RunRefusal::EachCall => {
            format!(
                "`{tool}` of skill `{skill}` runs outside of the sandbox, so a person approves every call, and nobody can be asked here. Leave it to the user: tell them what to run, and go on without it."
            )
        }
        RunRefusal::Ceiling => {
            format!(
                "`{tool}` of skill `{skill}` is not one of the tools that an active skill is limited to. Go on without it."
            )
        }
        RunRefusal::Off => format!("`{tool}` was not run. {}", wording.running_is_off()),
        RunRefusal::Refused => {
            format!("The user did not want `{tool}` of skill `{skill}` to run. Go on without it.")
        }
    }
}

fn unknown_skill(skill: &str, near: &[String], total: usize, all: &[String], wording: &Wording) -> String {
    if wording.errors == ErrorStyle::Menu {
        return format!("Unknown skill '{skill}'. Check the skill menu.");
    }
    let mut message = format!("There is no skill `{skill}`.");
    message.push_str(&nearest(skill, near).unwrap_or_default());
    message.push_str(&match &wording.list {
        _ if total == 0 => " There are no skills.".to_owned(),
        _ if !all.is_empty() => format!(" Available ({total}): {}.", names(all, MAX_NAMED)),
        Some(tool) => format!(" Available: {total}; call `{tool}` to see them."),
        None => format!(" Available: {total}."),
    });
    message
}

/// Returns the sentence that lists the names `near` to `asked`, if there are any.
fn nearest(asked: &str, near: &[String]) -> Option<String> {
    let length = asked.chars().count();
    let is_near = |name: &&String| {
        length >= MIN_RANKED_CHARS
            || strsim::damerau_levenshtein(&asked.to_lowercase(), &name.to_lowercase()) <= length / 2
            || (length > 1 && name.to_lowercase().contains(&asked.to_lowercase()))
    };
    let near: Vec<String> = near.iter().filter(is_near).cloned().collect();
    (!near.is_empty()).then(|| format!(" Nearest: {}.", names(&near, MAX_NEAR)))
}

/// Returns as many of `names` as may be listed.
fn names(names: &[String], limit: usize) -> String {
    let mut list = String::new();
    let mut chars = 0;
    for (index, name) in names.iter().enumerate() {
        let name = line(name);
        chars += name.chars().count() + 2;
        if index == limit || chars > MAX_NAMES_CHARS {
            list.push_str(", …");
            break;
        }
        if index > 0 {
            list.push_str(", ");
        }
        list.push_str(&name);
    }
    list
}

/// Returns `text` as a part of a sentence that ends after it.
fn clause(text: &str) -> String {
    line(text).trim_end_matches('.').to_owned()
}
