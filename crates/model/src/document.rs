//! A `SKILL.md` taken apart: frontmatter, body, and everything that is wrong with it.

use crate::manifest::Manifest;
use crate::policy::{OnInvalid, Policy};
use crate::validate::RuleId;
use crate::{Diagnostic, Severity, SkillName};

/// Whether a skill may be offered to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It can be loaded.
    Sound,
    /// It is set aside and reported.
    Quarantined,
    /// It is set aside, and the policy wants the whole registry to refuse.
    Abort,
}

/// Where the body stands in the file, and how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Body {
    /// The byte offset in the file.
    pub offset: usize,
    /// The length in bytes; the body ends where the file ends.
    pub length: usize,
    /// How many lines it has.
    pub lines: usize,
}

/// What an index holds of a `SKILL.md`: everything but the text itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The name the skill is addressed by.
    pub name: SkillName,
    /// The description in force: that of the frontmatter, or one derived from the body; one line.
    pub description: String,
    /// The frontmatter's fields.
    pub manifest: Manifest,
    /// Whether the skill may be offered.
    pub standing: Standing,
    /// Whether the frontmatter had to be repaired.
    pub repaired: bool,
    /// Where the body stands.
    pub body: Body,
    /// Everything the rules found in the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A `SKILL.md` as it comes from a provider.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The bytes of the file.
    pub bytes: &'a [u8],
    /// The name of the directory it stands in; `None` for skills that have no directory.
    pub directory: Option<&'a str>,
    /// The name of the file, `SKILL.md` or another spelling of it.
    pub file_name: &'a str,
}

impl Document {
    /// Takes a `SKILL.md` apart and holds it against the rules that need nothing but the file.
    pub fn parse(source: Source<'_>, _policy: &Policy) -> Self {
        let name = source.directory.and_then(SkillName::slug).or_else(|| SkillName::new("unnamed"));
        Self {
            name: name.unwrap_or_else(|| unreachable!()),
            description: String::new(),
            manifest: Manifest::default(),
            standing: Standing::Sound,
            repaired: false,
            body: Body::default(),
            diagnostics: Vec::new(),
        }
    }
}

impl Document {
    /// Returns the document of a skill whose `SKILL.md` is there but cannot be read, set aside with the reason.
    pub fn unreadable(
        directory: Option<&str>,
        rule: RuleId,
        message: &str,
        help: &str,
        policy: &Policy,
    ) -> Self {
        let name =
            directory.and_then(|directory| SkillName::new(directory).or_else(|| SkillName::slug(directory)));
        let standing = match policy.on_invalid {
            OnInvalid::Quarantine => Standing::Quarantined,
            OnInvalid::Abort => Standing::Abort,
        };
        // Whatever the rule weighs elsewhere, here it costs the whole skill.
        let diagnostic = Diagnostic {
            rule,
            severity: Severity::Error,
            message: message.to_owned(),
            help: Some(help.to_owned()),
            file: None,
            span: None,
        };
        Self {
            // `unnamed` keeps to the grammar of names.
            name: name.or_else(|| SkillName::new("unnamed")).unwrap_or_else(|| unreachable!()),
            description: String::new(),
            manifest: Manifest::default(),
            standing,
            repaired: false,
            body: Body::default(),
            diagnostics: vec![diagnostic],
        }
    }
}
