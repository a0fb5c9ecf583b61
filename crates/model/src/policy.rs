//! Policies: choices that differ from user to user, and the profiles that bundle them.

use std::collections::BTreeMap;

use crate::Severity;
use crate::name::Grammar;
use crate::rule::RuleId;
use crate::scope::Pattern;

crate::words! {
    /// A named set of policies.
    Profile {
        /// Loads what can be understood and reports the rest; the default.
        Standard "standard",
        /// Demands the open standard to the letter and stops at the first skill it cannot understand.
        Strict "strict",
        /// Loads the same as `standard` and complains less.
        Lenient "lenient",
    }
}

impl Profile {
    /// Returns the column of its severities in the table of rules.
    fn column(self) -> usize {
        match self {
            Self::Standard => 0,
            Self::Strict => 1,
            Self::Lenient => 2,
        }
    }
}

/// The column of the publish check in the table of rules.
const PUBLISH_COLUMN: usize = 3;

/// The longest description that the open standard allows, in characters.
const DESCRIPTION_MAX: usize = 1024;

crate::words! {
    /// The treatment of skills that share a name.
    ///
    /// Within one source only one of them can be reached as `source:name`: the first, or the last under
    /// `LastWins`. The others of that source are quarantined under every choice.
    Duplicates {
        /// The first source wins; others are shadowed, twins within one source quarantined. The default.
        Quarantine "quarantine",
        /// The whole registry refuses to open.
        Abort "abort",
        /// The last source wins, and the last skill within one source; other sources are shadowed.
        LastWins "last_wins",
        /// The first source wins, and the first skill within one source; other sources are shadowed.
        FirstWins "first_wins",
    }
}

crate::words! {
    /// The treatment of a skill that cannot be parsed.
    OnInvalid {
        /// It is set aside and reported; all others load.
        Quarantine "quarantine",
        /// The whole registry refuses to open.
        Abort "abort",
    }
}

crate::words! {
    /// The treatment of a `name` that differs from the directory.
    NameMismatch {
        /// The skill loads under its `name`, with a warning.
        Warn "warn",
        /// The skill is set aside.
        Quarantine "quarantine",
        /// The whole registry refuses to open.
        Abort "abort",
        /// The skill loads under the name of its directory.
        DirWins "dir_wins",
    }
}

crate::words! {
    /// The severity of a rule with an option of its own.
    Action {
        /// As a warning.
        Warn "warn",
        /// As an error.
        Error "error",
        /// Not at all.
        Ignore "ignore",
    }
}

impl Action {
    fn severity(self) -> Option<Severity> {
        match self {
            Self::Warn => Some(Severity::Warning),
            Self::Error => Some(Severity::Error),
            Self::Ignore => None,
        }
    }
}

crate::words! {
    /// The source of a skill's description.
    DescriptionSource {
        /// The frontmatter, or else the instructions.
        Frontmatter "frontmatter",
        /// The first heading of the instructions, or else the frontmatter.
        Heading "heading",
    }
}

crate::words! {
    /// The files that a skill is reported to have.
    ResourceListing {
        /// Those found in its directory.
        Walk "walk",
        /// Those its frontmatter declares.
        Declared "declared",
        /// Those found, and those declared that are missing.
        Both "both",
    }
}

crate::options! {
    /// The choices in force.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub struct Policy {
        /// The profile the choices started from: the column of the table of rules.
        pub profile: Profile = Profile::Standard,
        /// True if the severities of the publish check apply instead of the profile's.
        pub publish: bool,
        /// Skills that share a name.
        pub duplicates: Duplicates = Duplicates::Quarantine,
        /// Skills that cannot be understood.
        pub on_invalid: OnInvalid = OnInvalid::Quarantine,
        /// Skills whose name differs from their directory.
        pub name_mismatch: NameMismatch = NameMismatch::Warn,
        /// The grammar names are held against.
        pub name_grammar: Grammar = Grammar::AgentSkills,
        /// Words a name should not hold.
        pub reserved_words: Vec<String> = vec!["anthropic".to_owned(), "claude".to_owned()],
        /// The severity of `name-reserved`.
        pub reserved_action: Action = Action::Warn,
        /// The shortest description that is not reported, in characters.
        pub description_min: usize = 20,
        /// The longest description that is not reported, in characters.
        pub description_max: usize = DESCRIPTION_MAX,
        /// The source of descriptions.
        pub description_from: DescriptionSource = DescriptionSource::Frontmatter,
        /// The fields that are part of the format, beyond those of the open standard.
        pub known_fields: Vec<String>,
        /// The version of a skill that states none.
        pub default_version: Option<String>,
        /// The author of a skill that states none.
        pub default_author: Option<String>,
        /// The severity of `field-unknown`.
        pub unknown_fields: Action = Action::Warn,
        /// True if a missing frontmatter is reported.
        pub frontmatter_required: bool = true,
        /// The files that a skill is reported to have.
        pub resource_listing: ResourceListing = ResourceListing::Walk,
        /// The most files that are listed when a skill is loaded.
        pub max_listed: usize = 200,
        /// True if every error in a `SKILL.md` sets the skill aside, not only errors that make it unusable.
        pub quarantine_errors: bool,
        /// Severities that replace those of the profile's column, where no choice above settles them.
        pub profile_severities: BTreeMap<RuleId, Option<Severity>>,
        /// Severities that replace all others; `None` turns a rule off. Rules that [set a skill
        /// aside](RuleId::is_fixed) always speak.
        pub rule_severities: BTreeMap<RuleId, Option<Severity>>,
        /// The sources and tiers, such as `user`, because of whose skills the registry does not refuse to
        /// open: those are set aside.
        pub tolerated_sources: Vec<String>,
        /// The skills that are switched off for all agents.
        pub disabled: Vec<Pattern>,
        /// Those of `disabled` that a project's file has and the user's does not. A skill that they alone
        /// switch off is reported where another takes its name.
        pub disabled_by_project: Vec<Pattern>,
        /// The skills of the kits that are in use; all others are switched off. `None` if no kit is in use.
        pub kit: Option<Vec<Pattern>>,
    }
}

impl Policy {
    /// Returns the choices of `profile`.
    pub fn of(profile: Profile) -> Self {
        let standard = Self { profile, ..Self::default() };
        match profile {
            Profile::Standard => standard,
            Profile::Strict => Self {
                duplicates: Duplicates::Abort,
                on_invalid: OnInvalid::Abort,
                name_mismatch: NameMismatch::Abort,
                unknown_fields: Action::Error,
                quarantine_errors: true,
                ..standard
            },
            Profile::Lenient => Self {
                name_grammar: Grammar::Relaxed,
                reserved_action: Action::Ignore,
                unknown_fields: Action::Ignore,
                ..standard
            },
        }
    }

    /// Returns this policy with the severities of the publish check: those of a strict client.
    ///
    /// Other settings can make it stricter, never laxer: clients elsewhere do not know them.
    pub fn for_publishing(self) -> Self {
        let description_max = self.description_max.min(DESCRIPTION_MAX);
        Self { publish: true, name_grammar: Grammar::AgentSkills, description_max, ..self }
    }

    /// Returns whether a skill can be the reason for the registry to refuse to open.
    pub fn can_refuse(&self) -> bool {
        self.duplicates == Duplicates::Abort
            || self.on_invalid == OnInvalid::Abort
            || self.name_mismatch == NameMismatch::Abort
    }

    /// Returns whether any error in a skill of `source` is a reason for the registry to refuse to open.
    pub fn refuses_errors_of(&self, source: &str) -> bool {
        self.on_invalid == OnInvalid::Abort && self.quarantine_errors && !self.tolerates(source)
    }

    /// Returns whether skills of `source` are not a reason for the registry to refuse to open.
    pub(crate) fn tolerates(&self, source: &str) -> bool {
        let tier = source.split(':').next();
        self.tolerated_sources.iter().any(|tolerated| tolerated == source || Some(&**tolerated) == tier)
    }

    /// Returns whether the skill `name` of `source` is switched off.
    pub fn disables(&self, source: &str, name: &str) -> bool {
        self.disabled.iter().any(|pattern| pattern.matches(source, name)) || self.leaves_out(source, name)
    }

    /// Returns whether the skill `name` of `source` is switched off by a project's file and by nothing else.
    pub fn is_disabled_by_project_alone(&self, source: &str, name: &str) -> bool {
        let mut matching = self.disabled.iter().filter(|pattern| pattern.matches(source, name)).peekable();
        matching.peek().is_some()
            && matching.all(|pattern| self.disabled_by_project.contains(pattern))
            && !self.leaves_out(source, name)
    }

    /// Returns `true` if kits are in use and none of them has the skill `name` of `source`.
    pub fn leaves_out(&self, source: &str, name: &str) -> bool {
        self.kit.as_ref().is_some_and(|kit| !kit.iter().any(|pattern| pattern.matches(source, name)))
    }

    /// Returns the severity of `rule`, or `None` where it is off.
    pub fn severity(&self, rule: RuleId) -> Option<Severity> {
        let chosen = self.rule_severities.get(&rule).filter(|_| !rule.is_fixed());
        let severities = &rule.rule().severities;
        if self.publish {
            return severities[PUBLISH_COLUMN].max(chosen.copied().flatten());
        }
        if let Some(severity) = chosen {
            return *severity;
        }
        match rule {
            RuleId::DuplicateName if self.duplicates == Duplicates::Abort => Some(Severity::Error),
            RuleId::FieldUnknown => self.unknown_fields.severity(),
            RuleId::NameReserved => self.reserved_action.severity(),
            RuleId::FrontmatterMissing if !self.frontmatter_required => None,
            RuleId::NameDirectory => match self.name_mismatch {
                NameMismatch::Warn => Some(Severity::Warning),
                NameMismatch::Quarantine | NameMismatch::Abort => Some(Severity::Error),
                NameMismatch::DirWins => None,
            },
            _ => match self.profile_severities.get(&rule) {
                Some(severity) => *severity,
                None => severities[self.profile.column()],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::RULES;

    #[test]
    fn publishing_rules_can_be_stricter_but_not_laxer() {
        let mut policy = Policy { description_max: 5_000, ..Policy::default() };
        policy.rule_severities.insert(RuleId::MetadataValues, None);
        policy.rule_severities.insert(RuleId::NameGrammar, Some(Severity::Info));
        policy.rule_severities.insert(RuleId::WatchLimited, Some(Severity::Error));
        assert_eq!(policy.severity(RuleId::MetadataValues), None);
        let publishing = policy.for_publishing();
        assert_eq!(publishing.severity(RuleId::MetadataValues), Some(Severity::Error));
        assert_eq!(publishing.severity(RuleId::NameGrammar), Some(Severity::Error));
        assert_eq!(publishing.severity(RuleId::WatchLimited), Some(Severity::Error));
        assert_eq!(publishing.description_max, 1024);
    }

    #[test]
    fn strict_means_the_open_standard_to_the_letter() {
        let severity = |profile, rule| Policy::of(profile).severity(rule);
        assert_eq!(severity(Profile::Strict, RuleId::AllowedToolsForm), Some(Severity::Error));
        assert_eq!(severity(Profile::Strict, RuleId::DescriptionShort), Some(Severity::Warning));
    }

    #[test]
    fn severities_of_profiles_equal_the_table() {
        for profile in Profile::ALL {
            for rule in RULES {
                let column = rule.severities[profile.column()];
                assert_eq!(
                    Policy::of(profile).severity(rule.id),
                    column,
                    "{} {}",
                    profile.as_str(),
                    rule.name
                );
            }
        }
    }
}
