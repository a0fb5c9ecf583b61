//! The table of validation rules: one row each, with its severity under every profile.

use std::fmt;

crate::words! {
    /// The weight of a diagnostic, in increasing order.
    #[derive(PartialOrd, Ord)]
    Severity {
        /// Information; nothing needs to change.
        Info "info",
        /// The skill works, but not as well or not everywhere.
        Warning "warning",
        /// The skill breaks a rule of the profile in force; `check` fails.
        Error "error",
    }
}

/// Declares the rules: variant, id, severity in `standard strict lenient publish`, one-line summary.
/// Severities are written `E`rror, `W`arning, `I`nfo and `-` for off.
macro_rules! rules {
    (@level E) => { Some(Severity::Error) };
    (@level W) => { Some(Severity::Warning) };
    (@level I) => { Some(Severity::Info) };
    (@level -) => { None };
    ($($variant:ident $id:literal [$s:tt $t:tt $l:tt $p:tt] $summary:literal;)*) => {
        /// A validation rule, by the name it is reported under.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum RuleId {
            $(#[doc = $summary] $variant,)*
        }

        /// Every rule, in the order of the table.
        pub const RULES: &[Rule] = &[
            $(Rule {
                id: RuleId::$variant,
                name: $id,
                summary: $summary,
                severities: [rules!(@level $s), rules!(@level $t), rules!(@level $l), rules!(@level $p)],
            },)*
        ];
    };
}

/// A row of the table.
#[derive(Debug)]
pub struct Rule {
    /// The rule.
    pub id: RuleId,
    /// The name it is reported under, in kebab case; it never changes its meaning.
    pub name: &'static str,
    /// Its summary, in one line.
    pub summary: &'static str,
    /// Its severity under `standard`, `strict`, `lenient` and the publish check, before any configuration.
    pub severities: [Option<Severity>; 4],
}

rules! {
    // The file and its frontmatter.
    FileEncoding "file-encoding" [E E E E] "SKILL.md is not UTF-8";
    FileTooLarge "file-too-large" [E E E E] "a file is larger than the limit";
    FileUnreadable "file-unreadable" [E E E E] "a file or directory cannot be read";
    LastGood "last-good" [W W W W] "the file on disk is broken; the last good version is in force";
    ManifestCase "manifest-case" [W E I E] "the file is not spelled exactly SKILL.md";
    ManifestMissing "manifest-missing" [E E E E] "the directory has no SKILL.md";
    SkillEmpty "skill-empty" [E E E E] "there is neither a description nor a body";
    FrontmatterMissing "frontmatter-missing" [W E I E] "SKILL.md has no frontmatter";
    FrontmatterUnterminated "frontmatter-unterminated" [E E E E] "the frontmatter is never closed";
    FrontmatterTooLarge "frontmatter-too-large" [E E E E] "the frontmatter is larger than 64 KiB";
    FrontmatterYaml "frontmatter-yaml" [E E E E] "the frontmatter is not YAML and cannot be repaired";
    FrontmatterMapping "frontmatter-mapping" [E E E E] "the frontmatter is not a mapping of keys to values";
    FrontmatterBudget "frontmatter-budget" [E E E E] "the frontmatter uses anchors, aliases or tags, or nests too deep";
    FrontmatterRepaired "frontmatter-repaired" [W E I E] "the frontmatter is not valid YAML and was repaired";
    FrontmatterPrelude "frontmatter-prelude" [W E I E] "something stands before the opening fence";
    FrontmatterDuplicate "frontmatter-duplicate" [W E W E] "a key occurs twice";
    FieldUnknown "field-unknown" [W E - -] "the key is not known";
    FieldExtension "field-extension" [- E - -] "the key is not in the open standard";
    FieldType "field-type" [W E I E] "a field has a value of the wrong type";
    FieldNumber "field-number" [I W - E] "a value is a number in YAML that JSON does not have, or beyond what clients hold exactly";
    FieldComment "field-comment" [W W W W] "a blank and # cut an unquoted value short";
    // The name.
    NameMissing "name-missing" [W E I E] "the frontmatter has no name";
    NameUnusable "name-unusable" [W E I E] "the name cannot be used as it is";
    NameGrammar "name-grammar" [W E I E] "the name breaks the grammar of the open standard";
    NameDirectory "name-directory" [W E W E] "the name differs from the directory";
    NameReserved "name-reserved" [W W - I] "the name holds a reserved word";
    NameTool "name-tool" [E E E E] "the name is that of a tool";
    // The description.
    DescriptionMissing "description-missing" [W E W E] "there is no description";
    DescriptionShort "description-short" [W W I W] "the description is too short to choose by";
    DescriptionLong "description-long" [W E W E] "the description is longer than the standard allows";
    DescriptionVerbose "description-verbose" [I I - I] "the description is longer than 500 characters";
    DescriptionWhen "description-when" [W W - I] "the description does not say when to use the skill";
    DescriptionWorkflow "description-workflow" [W W - I] "the description tells the workflow";
    DescriptionPerson "description-person" [W W - I] "the description speaks in the first or second person";
    DescriptionMarkup "description-markup" [I I - I] "the description holds angle-bracket tags";
    // Other fields.
    CompatibilityLength "compatibility-length" [W E I E] "compatibility is empty or longer than 500 characters";
    MetadataValues "metadata-values" [- E - E] "metadata holds values that are not strings";
    MetadataReserved "metadata-reserved" [I W - E] "metadata has a key with the prefix that MCP reserves";
    AllowedToolsForm "allowed-tools-form" [I E - W] "allowed-tools is not a space-separated string";
    PathsGlob "paths-glob" [E E W E] "a glob in `paths` is malformed";
    VersionNumber "version-number" [W W I I] "the version is a number in YAML";
    // The body.
    BodyEmpty "body-empty" [W W I W] "there are no instructions";
    BodyLines "body-lines" [I I - I] "the body is longer than 500 lines";
    BodyTokens "body-tokens" [I I - I] "the body is longer than 5,000 tokens";
    BodyOversize "body-oversize" [W W W W] "the body is longer than 8,000 tokens";
    BodySections "body-sections" [- - - -] "the body lacks sections of the template that `rep new --template sections` writes";
    InvisibleCharacters "invisible-characters" [W E W E] "the text holds invisible or direction-changing characters";
    ControlCharacters "control-characters" [W E W E] "the text holds control characters";
    SuppressionUnused "suppression-unused" [W W I W] "a `rep-ignore` comment suppresses nothing, or has no reason";
    // The files beside it.
    FileDeclared "file-declared" [E E E E] "a declared file does not exist";
    FileUndeclared "file-undeclared" [I I - -] "a file is not declared although others are";
    FileName "file-name" [W E W E] "a file has a name that is not safe everywhere";
    FileCollision "file-collision" [W E W E] "two files differ only in case";
    FileSymlink "file-symlink" [W E W E] "a symbolic link inside a skill is not followed";
    FileSpecial "file-special" [W E W E] "a device, socket or pipe inside a skill is not read";
    FileHardLink "file-hard-link" [W W I W] "a file is a hard link, so it may be one from outside of the skill";
    FileCount "file-count" [W W W E] "the skill has more or larger files than are looked at";
    LinkBroken "link-broken" [W W I W] "a link leads to a file that does not exist";
    LinkEscape "link-escape" [W W I W] "a link leads out of the skill";
    LinkDepth "link-depth" [I W - I] "a reference leads on to further files";
    // The tools it brings along.
    ToolsFile "tools-file" [E E W E] "schema.json declares no tools that can be read";
    ToolsPython "tools-python" [I I - I] "the tools of the skill are the functions of its tools.py, which has no schema.json";
    ToolName "tool-name" [E E E E] "a tool has a name that it cannot have: none, one twice, or that of a skill or of a tool that every agent has";
    ToolSchema "tool-schema" [E E W E] "the parameters of a tool are not a JSON Schema of an object";
    ToolField "tool-field" [W E W E] "what a tool asks for cannot be understood and is not granted";
    ToolRepository "tool-repository" [E E W E] "a tool asks to write the git repository, which only `host` commands do";
    ToolHandler "tool-handler" [W W I W] "nothing in the skill runs a tool that it declares";
    ToolDescription "tool-description" [W W I W] "a tool has no description";
    ToolKeyword "tool-keyword" [I I - I] "the schema of a tool uses a keyword that calls are not held against";
    ToolCount "tool-count" [W W I W] "a skill has more than 8 tools";
    ToolFew "tool-few" [I I - I] "a skill has 1 or 2 tools";
    ToolDuplicate "tool-duplicate" [W W W W] "tools of two skills have the same name";
    // Plugins and marketplaces.
    PluginInvalid "plugin-invalid" [E E E E] "a plugin breaks the specification of Agent Plugins and is rejected";
    PluginField "plugin-field" [W W W E] "a field of a plugin's manifest is unknown and ignored";
    PluginServer "plugin-server" [W W W E] "MCP servers of a plugin break the specification and are ignored";
    MarketplaceInvalid "marketplace-invalid" [E E W E] "a marketplace lists a plugin that cannot be installed";
    // All skills together.
    SourceBroken "source-broken" [E E E E] "a source cannot be read";
    SourceMissing "source-missing" [W W W W] "a configured directory of skills does not exist";
    SourceLimit "source-limit" [W W W W] "a source is larger than the limits of the scan";
    WatchLimited "watch-limited" [W W W -] "a source is polled because there is no room to watch it";
    RequiresUnknown "requires-unknown" [E E W W] "a required skill does not exist";
    RequiresCycle "requires-cycle" [E E W E] "skills require each other";
    Confusable "confusable" [W W I W] "an agent could mix up two skills; found by `rep check --confusable` alone";
    DuplicateName "duplicate-name" [W E W W] "another skill has the same name and comes first";
}

/// The rules under which nothing useful can be made of a skill.
const FATAL: &[RuleId] = &[
    RuleId::FileEncoding,
    RuleId::FileTooLarge,
    RuleId::FileUnreadable,
    RuleId::ManifestMissing,
    RuleId::SkillEmpty,
    RuleId::FrontmatterUnterminated,
    RuleId::FrontmatterTooLarge,
    RuleId::FrontmatterYaml,
    RuleId::FrontmatterMapping,
    RuleId::FrontmatterBudget,
];

impl RuleId {
    /// Returns the rule's row of the table.
    pub fn rule(self) -> &'static Rule {
        // The enum and the table are written by one macro, so the discriminant is the row.
        &RULES[self as usize]
    }

    /// Returns the name it is reported under.
    pub fn as_str(self) -> &'static str {
        self.rule().name
    }

    /// Returns the rule reported under `name`.
    pub fn parse(name: &str) -> Option<Self> {
        RULES.iter().find(|rule| rule.name == name).map(|rule| rule.id)
    }

    /// Returns whether no policy can change the rule's severity, since a skill is set aside because of it.
    pub fn is_fixed(self) -> bool {
        self.is_fatal() || self == Self::NameTool
    }

    /// Returns whether a comment in a skill can suppress the rule: not where a skill is set aside, and not
    /// where it hides something from its readers.
    pub fn is_suppressible(self) -> bool {
        !self.is_fixed()
            && !matches!(
                self,
                Self::InvisibleCharacters
                    | Self::ControlCharacters
                    | Self::FileSymlink
                    | Self::FileSpecial
                    | Self::SuppressionUnused
            )
    }

    /// Returns whether [`fix`](crate::fix::fix) repairs findings of the rule, where that is safe.
    pub fn is_repairable(self) -> bool {
        matches!(
            self,
            Self::FrontmatterUnterminated
                | Self::FrontmatterRepaired
                | Self::FrontmatterPrelude
                | Self::VersionNumber
                | Self::NameMissing
                | Self::NameUnusable
                | Self::LinkBroken
        )
    }

    /// Returns whether `selector` names the rule, or its group: the first word of its name.
    pub fn is_selected_by(self, selector: &str) -> bool {
        self.as_str().strip_prefix(selector).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }

    /// Returns whether the finding means that nothing useful can be made of the skill.
    pub fn is_fatal(self) -> bool {
        FATAL.contains(&self)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back_to_the_rule() {
        for rule in RULES {
            assert_eq!(RuleId::parse(rule.name), Some(rule.id));
            assert_eq!(rule.id.rule().name, rule.name);
            assert!(rule.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.name);
        }
    }
}
