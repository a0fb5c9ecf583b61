//! Rules about the files beside a `SKILL.md`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::links::{self, Link};
use super::{Place, Reporter, RuleId};
use crate::fix::respelled;
use crate::policy::{Policy, ResourceListing};
use crate::{Diagnostic, Document, FileEntry, FileKind, SkillName, SkillPath, Span, text};

/// The most files the Skills extension of MCP allows in one skill.
pub const PUBLISHED_MAX_FILES: usize = 512;
/// The most bytes the Skills extension of MCP allows in one skill.
pub const PUBLISHED_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A skill that a link leads to.
#[derive(Debug, Clone)]
pub struct LinkedSkill {
    /// The name it is loaded by.
    pub name: SkillName,
    /// The path from its directory on; empty if the link leads to the directory.
    pub path: String,
}

/// Finds the skill at a path relative to the directory of the checked skill, such as `../other/SKILL.md`.
pub type SkillLookup<'a> = &'a (dyn Fn(&str) -> Option<LinkedSkill> + Sync);

/// The facts about a skill that the rules about files need.
#[derive(Clone, Copy)]
pub struct BundleFacts<'a> {
    /// Its `SKILL.md`, taken apart.
    pub document: &'a Document,
    /// The whole text of its `SKILL.md`.
    pub text: &'a str,
    /// The spelling of its `SKILL.md`.
    pub manifest_file: &'a str,
    /// Its files.
    pub files: &'a [FileEntry],
    /// The lookup of skills that links out of this one lead to.
    pub skill_at: SkillLookup<'a>,
}

/// Returns the diagnostics of the files of a skill, except of their contents.
pub fn bundle(facts: BundleFacts<'_>, policy: &Policy) -> Vec<Diagnostic> {
    BundleCheck::new(facts, policy).finish()
}

/// Checks the files of a skill, and takes the texts of its references one at a time, so that they need not
/// all be held at once.
pub struct BundleCheck<'a> {
    facts: BundleFacts<'a>,
    index: Index<'a>,
    /// The files that the body links to.
    linked: BTreeSet<String>,
    reporter: Reporter<'a>,
}

impl<'a> BundleCheck<'a> {
    /// Checks everything but the texts of the references.
    pub fn new(facts: BundleFacts<'a>, policy: &'a Policy) -> Self {
        let mut reporter = Reporter::new(policy);
        let index = Index::new(facts.files);
        check_declared(&facts, &index, &mut reporter);
        check_collisions(facts.files, &mut reporter);
        check_limits(facts.files, &mut reporter);
        let linked = check_links(&facts, &index, &mut reporter);
        Self { facts, index, linked, reporter }
    }

    /// Checks the Markdown reference `path`, whose text is `content`.
    pub fn reference(&mut self, path: &SkillPath, content: &str) {
        check_reference(&self.facts, &self.index, &self.linked, path, content, &mut self.reporter);
    }

    /// Returns the diagnostics.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.reporter.finish()
    }
}

/// The files that exist in a skill.
#[derive(Debug)]
struct Index<'a> {
    files: HashSet<&'a str>,
    directories: HashSet<&'a str>,
}

impl<'a> Index<'a> {
    fn new(files: &'a [FileEntry]) -> Self {
        let mut directories = HashSet::new();
        for file in files {
            let path = file.path.as_str();
            directories.extend(path.match_indices('/').map(|(end, _)| &path[..end]));
        }
        Self { files: files.iter().map(|file| file.path.as_str()).collect(), directories }
    }

    fn holds(&self, path: &str) -> bool {
        self.files.contains(path) || self.directories.contains(path.trim_end_matches('/'))
    }

    /// Returns the file that the list `directory` of a frontmatter means by `path`: there, at the top of the
    /// skill, or with an extension.
    fn declared(&self, directory: &str, path: &str) -> Option<&'a str> {
        let bare = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
        let exact = [Some(path), bare].into_iter().flatten().find_map(|path| self.files.get(path).copied());
        let is_meant = |file: &&&str| {
            file.strip_prefix(path).is_some_and(|end| end.starts_with('.') && !end.contains('/'))
        };
        exact.or_else(|| self.files.iter().filter(is_meant).min().copied())
    }
}

/// Returns the span in which the frontmatter names the file at `path`.
fn declaration(facts: &BundleFacts<'_>, path: &str) -> Option<Span> {
    let frontmatter = facts.text.get(..facts.document.body.offset)?;
    let name = path.split_once('/').map_or(path, |(_, name)| name);
    let start = frontmatter.rfind(name)?;
    Some(Place::new(facts.text, 0).span(&(start..start + name.len())))
}

fn check_declared(facts: &BundleFacts<'_>, index: &Index<'_>, reporter: &mut Reporter<'_>) {
    let manifest = &facts.document.manifest;
    for kind in [FileKind::Reference, FileKind::Script, FileKind::Asset] {
        let Some(directory) = kind.directory() else { continue };
        let declared = manifest.declared(kind);
        let is_missing = |path: &&String| index.declared(directory, path).is_none() && !index.holds(path);
        for path in declared.iter().filter(is_missing) {
            reporter
                .report(
                    RuleId::FileDeclared,
                    format!("`{directory}` declares {path}, but there is no such file"),
                )
                .help("add the file, or remove it from the list")
                .at(declaration(facts, path));
        }
        let paths: HashSet<&str> =
            declared.iter().filter_map(|path| index.declared(directory, path)).collect();
        let compares =
            !declared.is_empty() || reporter.policy().resource_listing == ResourceListing::Declared;
        if compares {
            for file in
                facts.files.iter().filter(|file| file.kind == kind && !paths.contains(file.path.as_str()))
            {
                reporter
                    .report(RuleId::FileUndeclared, format!("{} is not declared in `{directory}`", file.path))
                    .help("add it to the list, so that a reader of the frontmatter knows of it");
            }
        }
    }
}

fn check_collisions(files: &[FileEntry], reporter: &mut Reporter<'_>) {
    let mut seen: HashMap<String, &SkillPath> = HashMap::new();
    for file in files {
        if let Some(other) = seen.insert(file.path.collision_key(), &file.path) {
            reporter
                .report(
                    RuleId::FileCollision,
                    format!("{other} and {} are one file where case does not count", file.path),
                )
                .help("rename one of them");
        }
    }
}

fn check_limits(files: &[FileEntry], reporter: &mut Reporter<'_>) {
    let bytes: u64 = files.iter().filter_map(|file| file.size).sum();
    if files.len() > PUBLISHED_MAX_FILES || bytes > PUBLISHED_MAX_BYTES {
        reporter
            .report(
                RuleId::FileCount,
                format!(
                    "the skill has {} files of {bytes} bytes; clients of a served library take {PUBLISHED_MAX_FILES} files and {PUBLISHED_MAX_BYTES} bytes",
                    files.len()
                ),
            )
            .help("leave out what an agent does not need");
    }
}

/// Reports links of the body that lead nowhere, or out of the skill. Returns the files that links lead to.
fn check_links(facts: &BundleFacts<'_>, index: &Index<'_>, reporter: &mut Reporter<'_>) -> BTreeSet<String> {
    let offset = facts.document.body.offset;
    let Some(body) = facts.text.get(offset..) else { return BTreeSet::new() };
    let mut linked = BTreeSet::new();
    let place = Place::new(facts.text, offset);
    let mut seen = BTreeSet::new();
    for Link { target, range } in links::file_links(body) {
        if !seen.insert(target.clone()) {
            continue;
        }
        let shown = text::shorten(&target, 120);
        match resolve("", &target).filter(|_| !target.starts_with('/')) {
            None => {
                reporter
                    .report(RuleId::LinkEscape, format!("the link to {shown} leads out of the skill"))
                    .help_with(|| escape_help(facts, index, "", &target))
                    .at(place.span(&range));
            }
            Some(path) if !index.holds(&path) => {
                let meant = respelled(&target, facts.files);
                // A backslash is seldom part of a path.
                if meant.is_empty() && target.contains('\\') {
                    continue;
                }
                reporter
                    .report(RuleId::LinkBroken, format!("the link to {shown} leads to no file of the skill"))
                    .help(match meant.as_slice() {
                        [path] => format!("write {path}, as `rep check --fix` does"),
                        _ => "add the file, or correct the link; paths are relative to the skill directory"
                            .to_owned(),
                    })
                    .at(place.span(&range));
            }
            Some(path) => {
                linked.insert(path);
            }
        }
    }
    linked
}

/// Returns the help for the link to `target`, out of the skill, of a file in `directory`. It names a skill
/// only where that is known.
fn escape_help(facts: &BundleFacts<'_>, index: &Index<'_>, directory: &str, target: &str) -> String {
    let own = "an agent reads only the skill's own files";
    if target.starts_with('/') {
        return format!("{own}; bring the file in, or write the whole URL of a page on the web");
    }
    let is_manifest =
        |path: &str| path.rsplit('/').next().is_some_and(|file| file.eq_ignore_ascii_case("SKILL.md"));
    // Some write paths from the reference, some from the skill.
    match [directory, ""].iter().find_map(|from| (facts.skill_at)(&joined(from, target))) {
        Some(LinkedSkill { name, path }) if name == facts.document.name => {
            if index.holds(&path) {
                format!("paths are relative to the skill directory: write `{}`", text::shorten(&path, 120))
            } else {
                "correct the link; paths are relative to the skill directory".to_owned()
            }
        }
        Some(LinkedSkill { name, path }) if path.is_empty() || is_manifest(&path) => {
            format!("an agent loads another skill by its name: write the name `{name}` without a link")
        }
        Some(LinkedSkill { name, .. }) => {
            format!("{own}; bring the file in, or name the skill `{name}`, to which it belongs")
        }
        None if is_manifest(target) => {
            "an agent loads another skill by its name: write its name without a link".to_owned()
        }
        None => format!("{own}; bring the file in, or name the skill that has it"),
    }
}

/// Returns the path that `target` means in `directory`, with `..` at its start if it is outside of the skill.
fn joined(directory: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns whether the links of the file at `path` belong to documents that are made from it.
fn is_template(path: &SkillPath) -> bool {
    let stem = path.file_name().rsplit_once('.').map_or("", |(stem, _)| stem).to_ascii_lowercase();
    path.as_str().split('/').any(|part| matches!(part, "template" | "templates"))
        || stem.ends_with("template")
}

/// Reports a reference that leads on to further files: an agent follows one step, seldom two.
fn check_reference(
    facts: &BundleFacts<'_>,
    index: &Index<'_>,
    linked: &BTreeSet<String>,
    path: &SkillPath,
    content: &str,
    reporter: &mut Reporter<'_>,
) {
    if is_template(path) {
        return;
    }
    let directory = path.as_str().rsplit_once('/').map_or("", |(directory, _)| directory);
    let links = links::file_links(content);
    let place = Place::new(content, 0);
    // Some write paths from the reference, some from the skill; either will do.
    let leads = |target: &str| {
        [directory, ""].iter().filter_map(|from| resolve(from, target)).any(|to| index.holds(&to))
    };
    for Link { target, range } in
        links.iter().filter(|link| !leads(&link.target) && !link.target.contains('\\'))
    {
        let shown = text::shorten(target, 120);
        let is_outside = resolve(directory, target).is_none() || target.starts_with('/');
        let finding = if is_outside {
            reporter
                .report(RuleId::LinkEscape, format!("the link to {shown} leads out of the skill"))
                .help_with(|| escape_help(facts, index, directory, target))
        } else {
            reporter
                .report(RuleId::LinkBroken, format!("the link to {shown} leads to no file of the skill"))
                .help("add the file, or correct the link")
        };
        finding.in_file(path.as_str()).at(place.span(range));
    }
    let mut seen = HashSet::new();
    let further = links.into_iter().find_map(|link| {
        let found = resolve(directory, &link.target).or_else(|| resolve("", &link.target))?;
        let is_file = found != path.as_str() && index.files.contains(found.as_str());
        if !is_file || found == facts.manifest_file || linked.contains(&found) || !seen.insert(found.clone())
        {
            return None;
        }
        // A path that stands in the instructions without a link is known to the agent too.
        (!facts.text.contains(&found)).then_some((found, link.range))
    });
    if let Some((found, range)) = further {
        reporter
            .report(RuleId::LinkDepth, format!("{path} leads on to {found}"))
            .help(format!("link every file from {} itself", facts.manifest_file))
            .in_file(path.as_str())
            .at(place.span(&range));
    }
}

/// Returns the path that `target` means in `directory`, or `None` if it is outside of the skill.
fn resolve(directory: &str, target: &str) -> Option<String> {
    Some(joined(directory, target)).filter(|path| path != ".." && !path.starts_with("../"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManifestSource;

    /// Returns the skills of a library in which the checked one is `skills/fd`.
    fn skill_at(path: &str) -> Option<LinkedSkill> {
        [("../oauth", "zoom-oauth"), ("../fd", "fd")].into_iter().find_map(|(directory, name)| {
            let rest =
                path.strip_prefix(directory).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            let path = rest.trim_start_matches('/').to_owned();
            Some(LinkedSkill { name: SkillName::new(name).unwrap(), path })
        })
    }

    fn found(skill: &str, files: &[&str], references: &[(&str, &str)]) -> Vec<Diagnostic> {
        let policy = Policy::default();
        let source = ManifestSource { bytes: skill.as_bytes(), directory: None, file_name: "SKILL.md" };
        let document = Document::parse(source, &policy);
        let entry = |path: &&str| {
            let path = SkillPath::new(path).unwrap();
            let kind = FileKind::of(&path, "SKILL.md");
            FileEntry { path, size: Some(1), kind, executable: false }
        };
        let files: Vec<FileEntry> = files.iter().map(entry).collect();
        let facts = BundleFacts {
            document: &document,
            text: skill,
            manifest_file: "SKILL.md",
            files: &files,
            skill_at: &skill_at,
        };
        let mut check = BundleCheck::new(facts, &policy);
        for (path, text) in references {
            check.reference(&SkillPath::new(path).unwrap(), text);
        }
        check.finish()
    }

    fn check(skill: &str, files: &[&str], references: &[(&str, &str)]) -> Vec<String> {
        let found = found(skill, files, references).into_iter();
        found.map(|d| format!("{}: {}", d.rule, d.message)).collect()
    }

    #[test]
    fn advice_on_links_out_of_a_skill_names_only_skills_that_exist() {
        let files = ["SKILL.md", "references/astro.md"];
        let check = |target: &str, expect: &str| {
            let link = format!("[x]({target})");
            let skill = format!("---\nname: fd\n---\n{link}");
            let help = found(&skill, &files, &[]).remove(0).help.unwrap();
            assert!(help.contains(expect) && help.matches('`').count() <= 2, "{target}: {help}");
        };
        check("../oauth/SKILL.md", "write the name `zoom-oauth`");
        check("../oauth/", "write the name `zoom-oauth`");
        check("../oauth/references/notes.md", "name the skill `zoom-oauth`");
        check("../fd/references/astro.md", "write `references/astro.md`");
        check("../fd/references/gone.md", "correct the link");
        check("../gone/SKILL.md", "write its name without");
        check("../../../tools/", "name the skill that has it");
        check("../shared/references/x.md", "name the skill that has it");
        check("../SKILL.md", "write its name without");
        check("/api/docs", "the whole URL");
        let text = "[s](../../oauth/SKILL.md)";
        let help = found("---\nname: fd\n---\nbody", &files, &[("references/astro.md", text)]).remove(0).help;
        assert!(help.unwrap().contains("write the name `zoom-oauth`"));
    }

    #[test]
    fn declared_files_must_exist() {
        let skill =
            "---\nname: x\nreferences: [a.md, ./references/b.md, ./a.md]\nscripts: [lint.sh]\n---\nbody";
        let files = ["SKILL.md", "references/a.md", "references/b.md", "references/c.md"];
        assert_eq!(
            check(skill, &files, &[]),
            [
                "file-undeclared: references/c.md is not declared in `references`",
                "file-declared: `scripts` declares scripts/lint.sh, but there is no such file",
            ]
        );
    }

    #[test]
    fn links_must_lead_to_files_of_the_skill() {
        let skill = "---\nname: x\n---\n[a](references/a.md) [b](./gone.md) [c](../other/x.md) [d](references/) [b2](gone.md)";
        assert_eq!(
            check(skill, &["SKILL.md", "references/a.md"], &[]),
            [
                "link-broken: the link to ./gone.md leads to no file of the skill",
                "link-escape: the link to ../other/x.md leads out of the skill",
                "link-broken: the link to gone.md leads to no file of the skill",
            ]
        );
    }

    #[test]
    fn references_should_not_lead_on() {
        let files = ["SKILL.md", "references/a.md", "references/b.md"];
        assert_eq!(
            check("body", &files, &[("references/a.md", "see [b](b.md) and [up](../SKILL.md)")]),
            ["link-depth: references/a.md leads on to references/b.md"]
        );
        let linked = "[a](references/a.md) [b](references/b.md)";
        assert_eq!(check(linked, &files, &[("references/a.md", "see [b](b.md)")]), [""; 0]);
        assert_eq!(check("body", &files, &[("references/a.md", "see [up](../SKILL.md)")]), [""; 0]);
    }

    #[test]
    fn declared_files_may_lack_the_extension_or_lie_at_the_top() {
        let skill = "---\nname: x\nreferences: [astro, guide.md, gone]\n---\nbody";
        assert_eq!(
            check(skill, &["SKILL.md", "references/astro.md", "guide.md"], &[]),
            ["file-declared: `references` declares references/gone, but there is no such file"]
        );
    }

    #[test]
    fn links_of_references_out_of_the_skill_are_not_called_broken() {
        let files = ["SKILL.md", "references/a.md", "references/templates/b.md"];
        let text =
            "[s](../../shared/SKILL.md) [x](../../quota/quota.md) [gone](gone.md) [page](/api/docs/guide)";
        assert_eq!(
            check("body", &files, &[("references/a.md", text), ("references/templates/b.md", text)]),
            [
                "link-escape: the link to ../../shared/SKILL.md leads out of the skill",
                "link-escape: the link to ../../quota/quota.md leads out of the skill",
                "link-broken: the link to gone.md leads to no file of the skill",
                "link-escape: the link to /api/docs/guide leads out of the skill",
            ]
        );
    }

    #[test]
    fn files_that_differ_in_case_collide() {
        assert_eq!(
            check("body", &["SKILL.md", "skill.md"], &[]),
            ["file-collision: SKILL.md and skill.md are one file where case does not count"]
        );
    }
}
