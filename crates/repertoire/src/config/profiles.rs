//! The keys of profiles: those of the model, which are files of this crate, and files of users.

use std::path::{Path, PathBuf};

use repertoire_model::Profile;
use repertoire_model::answer::Render;
use repertoire_model::ledger::Reload;

use super::error::{ConfigError, FaultyFile};
use super::input::ConfigInput;
use super::keys::{AGENTS_KEY, ConfigValue, KITS_KEY, OIDC_GROUPS_KEY};
use super::parse::{Assignment, parse};
use super::profile_choice::{PROFILES, ProfileChoice};
use super::settings::Settings;
use super::trust::FileTrust;
use crate::regular_file;
use crate::tool::OfferedTools;

/// The largest configuration file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The profiles that are files, by name.
const FILES: [(&str, &str); 5] = [
    ("harness", include_str!("../../profiles/harness.toml")),
    ("bernstein", include_str!("../../profiles/bernstein.toml")),
    ("yodoca", include_str!("../../profiles/yodoca.toml")),
    ("helix", include_str!("../../profiles/helix.toml")),
    ("pattern", include_str!("../../profiles/pattern.toml")),
];

/// The keys that a profile may not have: what they define adds up over the layers.
const KEYS_OF_LAYERS: [&str; 4] = ["disabled", AGENTS_KEY, KITS_KEY, OIDC_GROUPS_KEY];

pub(super) struct ProfileKeys {
    /// The profile of the model that it starts from.
    base: Profile,
    /// Its keys, later ones winning.
    assignments: Vec<Assignment>,
}

impl ProfileKeys {
    pub(super) fn read(choice: &ProfileChoice, input: &ConfigInput) -> Result<Self, ConfigError> {
        match choice {
            ProfileChoice::Named(name) => Self::named(name, input),
            ProfileChoice::File(file) => {
                let directory = file.path.parent().unwrap_or(Path::new(""));
                Self::of_text(text_of(&file.path, regular_file::read)?, &file.path, directory, input)
            }
        }
    }

    fn named(name: &str, input: &ConfigInput) -> Result<Self, ConfigError> {
        let Some((_, text)) = FILES.iter().find(|(file, _)| *file == name) else {
            let base = Profile::parse(name).unwrap_or(Profile::Standard);
            return Ok(Self { base, assignments: Vec::new() });
        };
        let project = input.repository().unwrap_or_else(|| input.working_directory.clone());
        Self::of_text((*text).to_owned(), &PathBuf::from(format!("{name}.toml")), &project, input)
    }

    fn of_text(
        text: String,
        path: &Path,
        directory: &Path,
        input: &ConfigInput,
    ) -> Result<Self, ConfigError> {
        let (mut assignments, faults) = parse(&text, directory, &FileTrust::Whole);
        if !faults.is_empty() {
            return Err(ConfigError::of_file(FaultyFile { path: path.to_owned(), text, faults }));
        }
        let refused = assignments.iter().find(|it| KEYS_OF_LAYERS.contains(&it.key.name));
        if let Some(refused) = refused {
            let message = format!("{}: a profile may not have `{}`", path.display(), refused.key.name);
            return Err(ConfigError::new(message).hint("put it in your user configuration instead"));
        }
        let mut keys = match chosen(&assignments) {
            ProfileChoice::Named(base) => Self::named(base, input)?,
            ProfileChoice::File(_) => {
                let message = format!("{}: a profile may not start from another file", path.display());
                let hint = format!("it may start from {}", PROFILES.join(", "));
                return Err(ConfigError::new(message).hint(hint));
            }
        };
        assignments.retain(|assignment| assignment.key.name != "profile");
        keys.assignments.extend(assignments);
        Ok(keys)
    }

    /// Returns the settings of the profile; settings that `trust` does not allow stay as they are.
    pub(super) fn settings(&self, trust: &FileTrust) -> Settings {
        let mut settings = Settings::of(self.base);
        for Assignment { key, value } in self.assignments.iter().filter(|it| is_allowed(it, trust)) {
            (key.set)(&mut settings, value);
        }
        let left_out = self.assignments.iter().filter(|it| !is_allowed(it, trust));
        settings.profile_left_out = left_out.map(Assignment::name).collect();
        settings.policy.profile_severities = std::mem::take(&mut settings.policy.rule_severities);
        if let OfferedTools::Only(tools) = settings.session.tools.offered {
            settings.session.tools.offered = OfferedTools::Preset(tools);
        }
        settings
    }

    pub(super) fn sets(&self, name: &str) -> bool {
        self.assignments.iter().any(|assignment| assignment.key.name == name)
    }
}

/// Returns `true` if a profile that a file with `trust` chooses may have `assignment`. A project chooses
/// among [`PROFILES`], whose keys are known; it may not have instructions acknowledged that may be lost, nor
/// take the wrapper off the text of skills.
fn is_allowed(assignment: &Assignment, trust: &FileTrust) -> bool {
    let name = assignment.name();
    match &assignment.value {
        _ if *trust == FileTrust::Whole => true,
        ConfigValue::Paths(paths) => {
            paths.iter().all(|path| trust.objection_to_path(&name, &path.path).is_none())
        }
        ConfigValue::Word(word) if name == "load.reload" => Reload::parse(word) == Some(Reload::AlwaysBody),
        ConfigValue::Word(word) if ["render.load", "mcp.result"].contains(&name.as_str()) => {
            !matches!(Render::parse(word), Some(Render::Text | Render::Body) | None)
        }
        _ if name.starts_with("tools.names.") || name.starts_with("tools.args.") => true,
        _ => trust.objection_to_key(&name).is_none(),
    }
}

/// Returns the profile that the last of `assignments` chooses.
pub(super) fn chosen(assignments: &[Assignment]) -> ProfileChoice {
    let choices = assignments.iter().rev().find_map(|assignment| match &assignment.value {
        ConfigValue::Profile(choice) => Some(choice.clone()),
        _ => None,
    });
    choices.unwrap_or_default()
}

/// Returns the text of the configuration file at `path`.
pub(super) fn text_of(
    path: &Path,
    read: fn(&Path, u64) -> std::io::Result<Vec<u8>>,
) -> Result<String, ConfigError> {
    let bytes = read(path, MAX_FILE_BYTES).map_err(|error| {
        ConfigError::new(format!("cannot read the configuration file {}", path.display())).because(error)
    })?;
    String::from_utf8(bytes)
        .map_err(|error| ConfigError::new(format!("{} is not UTF-8", path.display())).because(error))
}

impl Settings {
    /// Returns the settings of the profile called `name`, one of [`PROFILES`], before any layer changes them.
    pub fn of_profile(name: &str) -> Result<Self, ConfigError> {
        let keys = ProfileKeys::named(name, &ConfigInput::default())?;
        Ok(Self { profile: name.to_owned(), ..keys.settings(&FileTrust::Whole) })
    }
}

#[cfg(test)]
mod tests {
    use repertoire_model::name::Grammar;
    use repertoire_model::policy::{Duplicates, NameMismatch};
    use repertoire_model::{Document, ManifestSource, RuleId, Severity, Standing};

    use super::*;

    fn settings(name: &str) -> Settings {
        Settings::of_profile(name).unwrap()
    }

    #[test]
    fn y33_y66_x15_h30_profiles_offer_the_tools_of_their_documents() {
        let offered = |name: &str| match settings(name).session.tools.offered {
            OfferedTools::Preset(tools) => tools.into_iter().collect::<Vec<_>>().join(" "),
            other => format!("{other:?}"),
        };
        assert_eq!(offered("standard"), "Needed(None)");
        assert_eq!(offered("bernstein"), "");
        assert_eq!(offered("yodoca"), "list_skills propose_skill_update read_skill_file");
        assert_eq!(offered("helix"), "read_skill_file");
        assert_eq!(offered("harness"), "unload_skill");
        assert_eq!(offered("pattern"), "list_skill_files read_skill_file");
        // B29: `load_skill` without a file returns the body, every time.
        assert_eq!(settings("bernstein").session.loading.reload, Reload::AlwaysBody);
        let hidden = settings("bernstein").session.tools.hidden_arguments;
        assert_eq!(hidden.into_iter().collect::<Vec<_>>(), ["asset", "force"]);
    }

    #[test]
    fn y43_the_query_of_list_skills_is_shown() {
        assert!(!settings("yodoca").session.tools.hidden_arguments.contains("query"));
    }

    #[test]
    fn answers_over_mcp_have_the_form_of_the_profile() {
        for name in PROFILES {
            let settings = settings(name);
            let is_usual = settings.session.render == Render::default() && name != "helix";
            let expect = if is_usual { Render::Markdown } else { settings.session.render };
            assert_eq!(settings.mcp_result, expect, "{name}");
        }
    }

    #[test]
    fn profiles_have_the_policies_of_their_documents() {
        let check = |name: &str, expect: (Duplicates, NameMismatch, Grammar, bool)| {
            let policy = settings(name).policy;
            let found =
                (policy.duplicates, policy.name_mismatch, policy.name_grammar, policy.quarantine_errors);
            assert_eq!(found, expect, "{name}");
        };
        check("harness", (Duplicates::LastWins, NameMismatch::DirWins, Grammar::Relaxed, false));
        check("bernstein", (Duplicates::Abort, NameMismatch::Abort, Grammar::Bernstein, true));
        check("yodoca", (Duplicates::Quarantine, NameMismatch::DirWins, Grammar::AgentSkills, false));
        check("helix", (Duplicates::LastWins, NameMismatch::Quarantine, Grammar::AgentSkills, true));
        check("pattern", (Duplicates::LastWins, NameMismatch::Warn, Grammar::AgentSkills, false));
    }

    #[test]
    fn b13_the_severities_of_a_profile_yield_to_choices_and_do_not_count_when_publishing() {
        let mut policy = settings("bernstein").policy;
        assert_eq!(policy.severity(RuleId::DescriptionShort), Some(Severity::Error));
        policy.rule_severities.insert(RuleId::DescriptionShort, None);
        assert_eq!(policy.severity(RuleId::DescriptionShort), None);
        let publishing = settings("bernstein").policy.for_publishing();
        assert_eq!(publishing.severity(RuleId::DescriptionShort), Some(Severity::Warning));
        let mut policy = settings("helix").policy;
        assert_eq!(policy.severity(RuleId::FrontmatterMissing), Some(Severity::Error));
        policy.frontmatter_required = false;
        assert_eq!(policy.severity(RuleId::FrontmatterMissing), None);
    }

    #[test]
    fn p12_the_pattern_has_defaults_and_a_root() {
        let settings = settings("pattern");
        let defaults =
            (settings.policy.default_version.as_deref(), settings.policy.default_author.as_deref());
        assert_eq!(defaults, (Some("1.0.0"), Some("")));
        assert_eq!(settings.roots[0].given, Path::new("skills"));
    }

    #[test]
    fn a_profile_of_a_project_is_in_force_where_it_does_not_weaken_a_session() {
        let project = FileTrust::Within(PathBuf::from("/project"));
        let of_project =
            |name: &str| ProfileKeys::named(name, &ConfigInput::default()).unwrap().settings(&project);
        let (bounded, whole) = (of_project("yodoca"), settings("yodoca"));
        assert_eq!(bounded.session.tools.names, whole.session.tools.names);
        assert_eq!(bounded.session.tools.hidden_arguments, whole.session.tools.hidden_arguments);
        assert_eq!(bounded.mcp_result, Render::Markdown);
        assert_eq!(bounded.policy.name_mismatch, NameMismatch::DirWins);
        assert_eq!(bounded.profile_left_out, [""; 0]);
        let harness = of_project("harness");
        assert_eq!(harness.mcp_result, Render::Markdown);
        assert_eq!(harness.profile_left_out, ["load.reload", "mcp.result", "render.load"]);
    }

    #[test]
    fn a_profile_has_no_agents_and_starts_from_a_named_one() {
        let read = |text: &str| {
            let keys = ProfileKeys::of_text(
                text.to_owned(),
                Path::new("my.toml"),
                Path::new(""),
                &ConfigInput::default(),
            );
            keys.map(|keys| keys.settings(&FileTrust::Whole)).map_err(|error| error.to_string())
        };
        let settings = read("profile = \"helix\"\nunload = \"evict\"").unwrap();
        assert_eq!(settings.policy.name_mismatch, NameMismatch::Quarantine);
        let refused = |text: &str| read(text).unwrap_err();
        assert_eq!(refused("agents.a.reviews = true"), "my.toml: a profile may not have `agents.<name>`");
        let nested = "my.toml: a profile may not start from another file";
        assert_eq!(refused("profile = \"./other.toml\""), nested);
        assert_eq!(refused("nope = 1"), "my.toml: unknown key `nope`");
    }

    #[test]
    fn x24_x25_x41_x42_helix_skips_skills_without_a_sound_name_and_description() {
        let long = format!("name: a\ndescription: {}", "Does a thing. ".repeat(80));
        for (fields, directory, expect) in [
            ("name: a\ndescription: Short.", "a", Standing::Sound),
            ("name: a\ndescription: Does a thing. Use when asked.\nversion: 1", "a", Standing::Sound),
            (&long, "a", Standing::Quarantined),
            ("name: under_score\ndescription: Does a thing.", "under_score", Standing::Quarantined),
            ("name: a--b\ndescription: Does a thing.", "a--b", Standing::Quarantined),
            ("name: a", "a", Standing::Quarantined),
            ("description: Does a thing.", "a", Standing::Quarantined),
            ("name: b\ndescription: Does a thing.", "a", Standing::Quarantined),
        ] {
            let text = format!("---\n{fields}\n---\nbody\n");
            let source =
                ManifestSource { bytes: text.as_bytes(), directory: Some(directory), file_name: "SKILL.md" };
            let document = Document::parse_for_listing(source, &settings("helix").policy);
            assert_eq!(document.standing, expect, "{fields}");
        }
        let source =
            ManifestSource { bytes: b"# Title\n\nText.\n", directory: Some("a"), file_name: "SKILL.md" };
        let document = Document::parse_for_listing(source, &settings("helix").policy);
        assert_eq!(document.standing, Standing::Quarantined);
    }
}
