//! Repairs of a whole `SKILL.md` that lose nothing, and the repairs that only its author can make.
//!
//! [`repair::fix`] mends the YAML. This adds what the directory tells: a frontmatter that is never closed, a
//! name that is spelled otherwise than the directory, and links whose files are there under another spelling.

use crate::frontmatter::{self, Division, Lines};
use crate::name::{Grammar, grammar_faults};
use crate::repair;
use crate::validate::links::file_links;
use crate::yaml::{self, MappingEntry, Node};
use crate::{FileEntry, RuleId, SkillName, text};

/// Returns the `text` of a `SKILL.md` with all safe repairs, if there are any, and the rules whose findings
/// have a repair that is not safe to write, each with the reason. `directory` is the name of the skill's.
///
/// The repaired text has every byte of the body but in the targets of repaired links, every key of the
/// frontmatter, and the name by which the skill is loaded.
pub fn fix(
    text: &str,
    directory: Option<&str>,
    files: &[FileEntry],
) -> (Option<String>, Vec<(RuleId, String)>) {
    let (mut fixed, mut unsafe_repairs) = (text.to_owned(), Vec::new());
    let mut leave = |rule, reason: String| unsafe_repairs.push((rule, reason));
    if let Division::Unterminated { opening, near_miss } = frontmatter::divide(&fixed) {
        match closed(&fixed, opening, near_miss) {
            Some(closed) => fixed = closed,
            None => leave(
                RuleId::FrontmatterUnterminated,
                "it is not clear where the frontmatter ends".to_owned(),
            ),
        }
    }
    if let Some(repaired) = repair::fix(&fixed) {
        fixed = repaired;
    }
    if let Division::Fenced(fenced) = frontmatter::divide(&fixed) {
        leave_unsafe_yaml(fenced.yaml, &mut leave);
    }
    if let Some(named) = directory.and_then(|directory| with_name(&fixed, directory, &mut leave)) {
        fixed = named;
    }
    let fixed = with_links(&fixed, files, &mut leave);
    ((fixed != text).then_some(fixed), unsafe_repairs)
}

/// Returns `text` with a closing fence: in place of a line that looks like one, or before the first blank
/// line or heading behind the keys.
fn closed(text: &str, opening: usize, near_miss: Option<usize>) -> Option<String> {
    let first = Lines::new(text, opening).next()?;
    let yaml_start = first.start + first.text.len() + first.ending.len();
    let mut lines = Lines::new(text, yaml_start);
    let is_end = |line: &str| line.trim().is_empty() || line.starts_with("# ");
    let end = match near_miss {
        Some(near_miss) => Lines::new(text, near_miss).next()?,
        None => lines.find(|line| is_end(line.text))?,
    };
    let parsed = yaml::parse(&text[yaml_start..end.start]).ok()?;
    let Some(Node::Mapping(entries, _)) = parsed.root else { return None };
    let has = |key: &str| entries.iter().any(|entry| entry.key.text == key);
    let rest = if near_miss.is_some() { end.start + end.text.len() + end.ending.len() } else { end.start };
    // Without a body the keys may go on below.
    if !has("description") || text::is_blank(&text[rest..]) {
        return None;
    }
    let ending = if first.ending.is_empty() { "\n" } else { first.ending };
    Some([&text[..end.start], "---", ending, &text[rest..]].concat())
}

/// Names the entries of `yaml` whose repair would lose something.
fn leave_unsafe_yaml(yaml: &str, leave: &mut dyn FnMut(RuleId, String)) {
    let Err(fault) = yaml::parse(yaml) else { return };
    if repair::has_conflict_markers(yaml) {
        return leave(
            RuleId::FrontmatterRepaired,
            "only you know which side of the merge is meant".to_owned(),
        );
    }
    let Some(recovery) = repair::recover(yaml).filter(|_| !fault.over_budget) else {
        return leave(RuleId::FrontmatterYaml, format!("it is not clear what is meant: {}", fault.message));
    };
    for repair in recovery.repairs.iter().filter(|repair| !repair.kind.is_safe()) {
        let key = text::shorten(&repair.key, 60);
        leave(RuleId::FrontmatterRepaired, format!("`{key}` could lose lines or brackets that belong to it"));
    }
}

/// Returns `text` with the name of the directory, where the skill has no name or writes this one in letters
/// that a name does not have. The name by which it is loaded stays.
fn with_name(text: &str, directory: &str, leave: &mut dyn FnMut(RuleId, String)) -> Option<String> {
    let Division::Fenced(fenced) = frontmatter::divide(text) else { return None };
    let Some(Node::Mapping(entries, _)) = yaml::parse(fenced.yaml).ok()?.root else { return None };
    let name = SkillName::new(directory)?;
    let is_plain = grammar_faults(directory, Grammar::AgentSkills).is_empty()
        && directory.starts_with(|c: char| c.is_ascii_lowercase())
        && !matches!(directory, "true" | "false" | "null");
    let written: Vec<&MappingEntry> = entries.iter().filter(|entry| entry.key.text == "name").collect();
    let mut fixed = text.to_owned();
    match written.as_slice() {
        // The first key may be indented, and would go on behind the name.
        [] if is_plain && entries.first().is_some_and(|entry| entry.key.range.start == 0) => {
            let ending = if fenced.yaml.ends_with("\r\n") { "\r\n" } else { "\n" };
            fixed.insert_str(fenced.offset, &format!("name: {directory}{ending}"));
        }
        [MappingEntry { value: Node::Scalar(scalar), .. }] => {
            let written = scalar.text.trim();
            if written == directory || written.is_empty() {
                return None;
            }
            let is_same = SkillName::new(written).is_none() && SkillName::slug(written) == Some(name);
            if !is_same || !is_plain {
                let written = text::shorten(written, 60);
                leave(
                    RuleId::NameDirectory,
                    format!("only you know if `{written}` or the directory is right, and who uses the name"),
                );
                return None;
            }
            let range = fenced.offset + scalar.range.start..fenced.offset + scalar.range.end;
            fixed.replace_range(range, directory);
        }
        _ => return None,
    }
    Some(fixed)
}

/// Returns `text` with every link that leads to no file, but to one file in another spelling, led there.
fn with_links(text: &str, files: &[FileEntry], leave: &mut dyn FnMut(RuleId, String)) -> String {
    let mut fixed = text.to_owned();
    let body = match frontmatter::divide(text) {
        Division::Fenced(fenced) => fenced.body,
        Division::Bare { body } => body,
        Division::Unterminated { .. } => return fixed,
    };
    // From the last to the first, so that offsets stay as they were found.
    for link in file_links(&text[body..]).into_iter().rev() {
        let candidates = respelled(&link.target, files);
        let [path] = candidates.as_slice() else {
            if candidates.len() > 1 {
                let target = text::shorten(&link.target, 60);
                leave(RuleId::LinkBroken, format!("several files could be meant by {target}"));
            }
            continue;
        };
        let range = body + link.range.start..body + link.range.end;
        let destination = text[range.clone()].rfind("](").map(|at| range.start + at + 2);
        let is_plain = !path.contains(|c: char| c.is_whitespace() || "()<>\\".contains(c));
        match destination.filter(|at| is_plain && text[*at..range.end].starts_with(&link.target)) {
            Some(at) => fixed.replace_range(at..at + link.target.len(), path),
            None => leave(RuleId::LinkBroken, format!("the link is not written plainly: write {path}")),
        }
    }
    fixed
}

/// Returns the files that `target`, which is not one, can mean: in another case, with `/` for `\`, or with an
/// extension.
pub(crate) fn respelled<'f>(target: &str, files: &'f [FileEntry]) -> Vec<&'f str> {
    let slashed = target.replace('\\', "/");
    let plain = slashed.trim_start_matches("./").trim_end_matches('/');
    let paths = || files.iter().map(|file| file.path.as_str());
    let is_directory = |path: &str| path.strip_prefix(plain).is_some_and(|rest| rest.starts_with('/'));
    if plain.is_empty() || paths().any(|path| path == plain || is_directory(path)) {
        return if slashed == target { Vec::new() } else { paths().filter(|path| *path == plain).collect() };
    }
    let folded = plain.to_lowercase();
    let is_meant = |path: &&str| {
        let path = path.to_lowercase();
        path == folded || path.strip_prefix(&folded) == Some(".md")
    };
    paths().filter(is_meant).collect()
}

#[cfg(test)]
mod tests;
