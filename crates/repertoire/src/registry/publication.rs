//! Publications: skills as clients of a served library see them, with the objections to serving them.

use std::path::Path;

use repertoire_model::validate::{BundleCheck, BundleFacts, Reporter};
use repertoire_model::{Bundle, Diagnostic, Digest, Document, ManifestSource, Policy, RuleId, Severity};

use super::{Entry, Registry, requires};
use crate::provider::OpenedSkill;
use crate::{Error, ErrorKind};

/// The most attempts at reading a skill that changes in the meantime.
const ATTEMPTS: usize = 3;

/// A skill as clients of a served library see it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Publication {
    /// Its parsed `SKILL.md`.
    pub document: Document,
    /// The full text of its `SKILL.md`, which is one of the files of the bundle.
    pub text: String,
    /// Its files; empty if there are too many or too large ones, or one cannot be read.
    pub bundle: Bundle,
    /// Diagnostics about files that were left out.
    pub left_out: Vec<Diagnostic>,
    /// Errors that keep it from being served; empty for a skill that strict clients accept.
    pub objections: Vec<Diagnostic>,
}

impl Registry {
    /// Returns the skill as clients of a served library see it, with the objections to serving it.
    ///
    /// Text and bundle belong together: the digest of the `SKILL.md` in the bundle is the text's. The rules
    /// are those of `rep check --publish`. Fails with [`ErrorKind::SkillNotFound`] if the skill is gone.
    pub async fn publication(&self, entry: &Entry) -> Result<Publication, Error> {
        let policy = self.policy().clone().for_publishing();
        let mut attempt = 1;
        loop {
            let opened = self.open_skill(entry).await?;
            let (bundle, failure) = match self.bundle(entry).await {
                Ok(bundle) => (Some(bundle), None),
                Err(error) if error.kind() == ErrorKind::SkillNotFound => return Err(error),
                Err(error) => (None, Some(error)),
            };
            let manifest = Digest::of(opened.skill.text.as_bytes());
            let is_whole = |bundle: &Bundle| {
                let mut files = bundle.files().iter();
                files.any(|file| file.path.as_str() == entry.manifest_file && file.digest == manifest)
            };
            let is_settled = bundle.as_ref().is_none_or(is_whole);
            if is_settled || attempt == ATTEMPTS {
                let mut objections = self.objections(entry, &opened, &policy);
                if !is_settled {
                    let message =
                        "SKILL.md is not what is in force; it is broken or keeps changing".to_owned();
                    let help = "mend it, or wait until it is written";
                    objections.extend(objection(&policy, RuleId::FileUnreadable, message, help));
                }
                match failure {
                    Some(error) if error.kind() != ErrorKind::TooLarge => {
                        // Clients need not know the path of the skill.
                        let file = error.subject().unwrap_or("one of them");
                        let message = format!("not all files of the skill can be read: {file}");
                        let help = "see that whoever serves it may read them";
                        objections.extend(objection(&policy, RuleId::FileUnreadable, message, help));
                    }
                    // The rules have reported it if they know the number.
                    Some(_) if objections.is_empty() => {
                        let message = "the skill has more or larger files than are looked at".to_owned();
                        let help = "leave out what an agent does not need";
                        objections.extend(objection(&policy, RuleId::FileCount, message, help));
                    }
                    _ => {}
                }
                let OpenedSkill { skill, files, .. } = opened;
                let bundle = bundle.unwrap_or_else(|| Bundle::new(Vec::new()));
                let (document, text, left_out) = (skill.document, skill.text, files.problems);
                return Ok(Publication { document, text, bundle, left_out, objections });
            }
            attempt += 1;
        }
    }

    /// Returns the objections of strict clients to the skill.
    fn objections(&self, entry: &Entry, opened: &OpenedSkill, policy: &Policy) -> Vec<Diagnostic> {
        let skill = &opened.skill;
        let directory = directory_of(entry);
        let source = ManifestSource {
            bytes: skill.text.as_bytes(),
            directory: directory.as_deref(),
            file_name: &entry.manifest_file,
        };
        let document = Document::parse(source, policy);
        let facts = BundleFacts {
            document: &document,
            text: &skill.text,
            manifest_file: &entry.manifest_file,
            files: &opened.files.files,
            skill_at: &|_| None,
        };
        let mut found = BundleCheck::new(facts, policy).finish();
        found.extend(requires::check(entry, &self.snapshot(), policy));
        // Findings that depend on reading the files: links, special files, a version that is gone.
        let seen = skill.document.diagnostics.iter().chain(&opened.files.problems);
        let is_told = |rule: RuleId| document.diagnostics.iter().any(|diagnostic| diagnostic.rule == rule);
        let seen = seen.filter(|diagnostic| !is_told(diagnostic.rule));
        found.extend(seen.filter_map(|diagnostic| {
            let mut diagnostic = diagnostic.clone();
            diagnostic.severity = policy.severity(diagnostic.rule)?;
            Some(diagnostic)
        }));
        let mut objections = document.diagnostics;
        objections.extend(found);
        objections.retain(|diagnostic| diagnostic.severity == Severity::Error);
        objections
    }
}

/// Returns the name of the skill's directory, if it has one.
fn directory_of(entry: &Entry) -> Option<String> {
    let resolved = entry.identity.as_deref()?;
    let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    name(&entry.path).or_else(|| name(resolved))
}

fn objection(policy: &Policy, rule: RuleId, message: String, help: &str) -> Vec<Diagnostic> {
    let mut reporter = Reporter::new(policy);
    reporter.report(rule, message).help(help);
    reporter.finish()
}
