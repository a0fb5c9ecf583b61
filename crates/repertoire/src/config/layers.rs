//! Merges the layers: the project's file, the user's file, overrides.
//!
//! A project's file comes with a clone, so the user's own has the last word over it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use repertoire_model::scope::Pattern;

use super::clash::{clash, clash_of_agents};
use super::error::{ConfigError, FaultyFile};
use super::gone::hint_about_gone;
use super::input::{ConfigFileOwner, ConfigInput, ConfigOverride, ConfiguredPath, OverrideValue};
use super::keys::{ConfigValue, ValueKind, find_key};
use super::kits::{resolve_agent, skills_in_use};
use super::parse::{Assignment, parse, parse_word};
use super::places::root_label;
use super::profile_choice::ProfileChoice;
use super::profiles::{ProfileKeys, chosen, text_of};
use super::settings::{DisabledPattern, Settings};
use super::trust::FileTrust;
use crate::regular_file;
use crate::tool::OfferedTools;

/// The keys that ask for tools when they are set, whichever tools the profile offers.
const ASKING_KEYS: [(&str, &[&str]); 2] =
    [("proposals.offer", &["propose_skill", "propose_skill_update"]), ("tools.unload", &["unload_skill"])];

impl Settings {
    /// Loads the settings: the project's file, the user's file, and overrides on top of the chosen profile.
    pub fn load(input: &ConfigInput) -> Result<Self, ConfigError> {
        let (mut project, mut user, mut disabled) = (Vec::new(), Vec::new(), Vec::new());
        for (owner, path) in &input.files().found {
            let assignments = read(input, *owner, path)?;
            disabled.extend(disabled_patterns(&assignments).map(|pattern| DisabledPattern {
                pattern,
                owner: *owner,
                file: path.clone(),
            }));
            match owner {
                ConfigFileOwner::Project => project.extend(assignments),
                ConfigFileOwner::User | ConfigFileOwner::Named => user.extend(assignments),
            }
        }
        // A project could widen what an agent of the user sees, if that had kits of the project.
        let users_kits = kits_of(&user);
        let mut all_kits = kits_of(&project);
        all_kits.extend(users_kits.clone());
        resolve_agents(&mut project, &all_kits)?;
        resolve_agents(&mut user, &users_kits)?;
        // A project comes with a clone, so the user's word is later; but its own directories come first.
        let is_list = |assignment: &Assignment| matches!(assignment.key.kind, ValueKind::Paths);
        let (lists, mut assignments): (Vec<_>, Vec<_>) = project.into_iter().partition(is_list);
        // Behind these comes the user's word.
        let of_project = assignments.len();
        let mut users_sources = vec!["user".to_owned()];
        users_sources.extend(user.iter().flat_map(labels));
        assignments.extend(user);
        assignments.extend(lists);
        for overridden in &input.overrides {
            assignments.extend(assignment(input, overridden)?);
        }
        let boundary = input.repository().unwrap_or_else(|| input.working_directory.clone());
        let trust = trust_in_profile(&assignments, of_project, boundary);
        let settle_of = |assignments: &[Assignment], trust: &FileTrust| {
            let keys = ProfileKeys::read(&chosen(assignments), input)?;
            Ok::<_, ConfigError>(settle(assignments, &keys, trust))
        };
        let mut settings = Settings { disabled, ..settle_of(&assignments, &trust)? };
        settings.policy.disabled_by_project = settings.disabled_by_project_alone();
        if let Some(choice) = &input.kits {
            settings.policy.kit = Some(skills_in_use(&settings.kits, choice)?);
            settings.kits_in_use = Some(choice.clone());
        }
        let without_project = settle_of(&assignments[of_project..], &FileTrust::Whole)?;
        settings.user_off_by_project = without_project.discover_user && !settings.discover_user;
        // A project that asks for strictness answers for its own skills; the user's stay usable beside them.
        if settings.policy.can_refuse() && !without_project.policy.can_refuse() {
            settings.policy.tolerated_sources = users_sources;
        }
        clash(&settings).or_else(|| clash_of_agents(&settings)).map_or(Ok(settings), Err)
    }
}

fn disabled_patterns(assignments: &[Assignment]) -> impl Iterator<Item = Pattern> {
    let lists = assignments.iter().filter(|assignment| assignment.key.name == "disabled");
    lists.flat_map(|assignment| match &assignment.value {
        ConfigValue::Words(patterns) => patterns.iter().filter_map(|it| Pattern::new(it).ok()).collect(),
        _ => Vec::new(),
    })
}

fn kits_of(assignments: &[Assignment]) -> BTreeMap<String, Vec<Pattern>> {
    let kits = assignments.iter().filter_map(|assignment| match &assignment.value {
        ConfigValue::Kit(name, skills) => Some((name.clone(), skills.clone())),
        _ => None,
    });
    kits.collect()
}

/// Adds the skills of their kits to the scopes of the agents that `assignments` define.
fn resolve_agents(
    assignments: &mut [Assignment],
    kits: &BTreeMap<String, Vec<Pattern>>,
) -> Result<(), ConfigError> {
    assignments.iter_mut().try_for_each(|assignment| match &mut assignment.value {
        ConfigValue::Agent(agent) => resolve_agent(agent, kits),
        _ => Ok(()),
    })
}

/// Returns the labels of the roots that `assignment` configures.
fn labels(assignment: &Assignment) -> Vec<String> {
    match &assignment.value {
        ConfigValue::Paths(paths) if assignment.key.name == "roots" => {
            paths.iter().map(|root| root_label(&root.given)).collect()
        }
        _ => Vec::new(),
    }
}

fn read(input: &ConfigInput, owner: ConfigFileOwner, path: &Path) -> Result<Vec<Assignment>, ConfigError> {
    // A project comes with a clone: a link in it could lead to any file of the user, and errors quote lines.
    let read = match owner {
        ConfigFileOwner::Project => regular_file::read_no_follow,
        ConfigFileOwner::Named | ConfigFileOwner::User => regular_file::read,
    };
    let text = text_of(path, read)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let trust = match owner {
        ConfigFileOwner::Named | ConfigFileOwner::User => FileTrust::Whole,
        ConfigFileOwner::Project => {
            FileTrust::Within(input.repository().unwrap_or_else(|| directory.to_owned()))
        }
    };
    let (mut assignments, faults) = parse(&text, directory, &trust);
    if !faults.is_empty() {
        return Err(ConfigError::of_file(FaultyFile { path: path.to_owned(), text, faults }));
    }
    if let (FileTrust::Whole, Some(home)) = (&trust, &input.home) {
        assignments.iter_mut().for_each(|assignment| expand_home(home, assignment));
    }
    Ok(assignments)
}

/// Takes a `~` at the start of a directory for the user's home, as a shell would.
fn expand_home(home: &Path, assignment: &mut Assignment) {
    let paths: Vec<&mut ConfiguredPath> = match &mut assignment.value {
        ConfigValue::Paths(paths) => paths.iter_mut().collect(),
        ConfigValue::Agent(agent) => agent.prompt.iter_mut().collect(),
        ConfigValue::Profile(ProfileChoice::File(file)) => vec![file],
        _ => return,
    };
    for path in paths {
        if let Ok(rest) = path.given.strip_prefix("~") {
            path.path = home.join(rest);
        }
    }
}

/// Returns the assignment of an override; `None` if the key is unknown.
fn assignment(input: &ConfigInput, overridden: &ConfigOverride) -> Result<Option<Assignment>, ConfigError> {
    if let Some(hint) = hint_about_gone(&overridden.key) {
        let message = format!("the key `{}` of {} is gone", overridden.key, overridden.origin);
        return Err(ConfigError::new(message).hint(hint));
    }
    let Some(key) = find_key(&overridden.key) else { return Ok(None) };
    let value = match &overridden.value {
        OverrideValue::Word(word) => {
            parse_word(key.value_kind(), word, &input.working_directory).map_err(|expected| {
                ConfigError::new(format!("bad value `{word}` for {}", overridden.origin))
                    .hint(format!("it takes {}", expected.replace('`', "")))
            })?
        }
        OverrideValue::Paths(paths) => {
            ConfigValue::Paths(paths.iter().map(|path| configured(input, path)).collect())
        }
    };
    Ok(Some(Assignment { key, value: key.value(&overridden.key, value) }))
}

fn configured(input: &ConfigInput, given: &PathBuf) -> ConfiguredPath {
    ConfiguredPath { path: input.working_directory.join(given), given: given.clone() }
}

/// Returns the trust in the profile that `assignments` choose: within `boundary` if the choice is one of the
/// first `of_project`, which are the project's.
fn trust_in_profile(assignments: &[Assignment], of_project: usize, boundary: PathBuf) -> FileTrust {
    let position = assignments.iter().rposition(|assignment| assignment.key.name == "profile");
    if position.is_some_and(|position| position < of_project) {
        FileTrust::Within(boundary)
    } else {
        FileTrust::Whole
    }
}

/// Returns the settings after `assignments`, later ones winning, on top of a profile with `keys`, which may
/// change what a file with `trust` may.
fn settle(assignments: &[Assignment], keys: &ProfileKeys, trust: &FileTrust) -> Settings {
    let mut settings = keys.settings(trust);
    for Assignment { key, value } in assignments {
        (key.set)(&mut settings, value);
    }
    let is_set = |name: &str| assignments.iter().any(|assignment| assignment.key.name == name);
    if is_set("scan.max_depth") || keys.sets("scan.max_depth") {
        settings.given_depth = settings.scan.max_depth;
    }
    settings.profile_left_out.retain(|name| !is_set(name));
    let offers_proposals = settings.session.tools.propose_tools;
    if let OfferedTools::Preset(tools) = &mut settings.session.tools.offered {
        let is_asked = |key: &str| is_set(key) && (key != "proposals.offer" || offers_proposals);
        let asked_for = ASKING_KEYS.iter().filter(|(key, _)| is_asked(key));
        tools.extend(asked_for.flat_map(|(_, tools)| *tools).map(|tool| (*tool).to_owned()));
    }
    settings
}

#[cfg(test)]
mod tests {
    use repertoire_model::answer::Render;
    use repertoire_model::ledger::Reload;

    use super::*;

    #[test]
    fn lists_of_disabled_skills_add_up_and_keep_their_files() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        let user = home.path().join(".config/repertoire/config.toml");
        std::fs::create_dir_all(user.parent().unwrap()).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(&user, "disabled = [\"pdf\", \"git-*\"]\n").unwrap();
        std::fs::write(project.join("repertoire.toml"), "disabled = [\"user:*:pdf\"]\n").unwrap();
        let settings = Settings::load(&ConfigInput::new(&project).home(home.path())).unwrap();
        let files = |source: &str, name: &str| -> Vec<PathBuf> {
            settings.disabled_by(source, name).map(|it| it.file.clone()).collect()
        };
        assert_eq!(settings.policy.disabled.len(), 3);
        assert_eq!(files("project:skills", "pdf"), std::slice::from_ref(&user));
        assert_eq!(files("user:skills", "pdf"), [user.clone(), project.join("repertoire.toml")]);
        assert_eq!(files("user:skills", "git-x"), [user]);
        assert!(!settings.policy.disables("user:skills", "gi"));
    }

    #[test]
    fn a_skill_that_the_user_disables_too_is_not_disabled_by_the_project_alone() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        std::fs::create_dir_all(home.path().join(".config/repertoire")).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        let user = home.path().join(".config/repertoire/config.toml");
        std::fs::write(user, "disabled = [\"pdf\", \"user:*:git\"]\n").unwrap();
        let file = project.join("repertoire.toml");
        std::fs::write(file, "disabled = [\"user:*:pdf\", \"user:*:git\", \"user:*:deploy\"]\n").unwrap();
        let policy = Settings::load(&ConfigInput::new(&project).home(home.path())).unwrap().policy;
        let is_alone = |name: &str| policy.is_disabled_by_project_alone("user:skills", name);
        assert_eq!(["pdf", "git", "deploy", "other"].map(is_alone), [false, false, true, false]);
    }

    #[test]
    fn an_explicit_depth_counts_for_given_directories_too() {
        let depth = |text: &str| {
            let (assignments, faults) = parse(text, Path::new(""), &FileTrust::Whole);
            assert_eq!(faults, []);
            let keys = ProfileKeys::read(&ProfileChoice::default(), &ConfigInput::default()).unwrap();
            let settings = settle(&assignments, &keys, &FileTrust::Whole);
            (settings.scan.max_depth, settings.given_depth)
        };
        assert_eq!(depth(""), (3, 5));
        assert_eq!(depth("scan.max_depth = 3"), (3, 3));
    }

    #[test]
    fn a_profile_that_only_the_project_chose_does_not_weaken_a_session() {
        let check = |text: &str, of_project: usize, expect: Reload, render: Render| {
            let (assignments, faults) = parse(text, Path::new(""), &FileTrust::Whole);
            assert_eq!(faults, []);
            let keys = ProfileKeys::read(&chosen(&assignments), &ConfigInput::default()).unwrap();
            let trust = trust_in_profile(&assignments, of_project, PathBuf::new());
            let settings = settle(&assignments, &keys, &trust);
            assert!(text.contains(&settings.profile), "{text}");
            assert_eq!(settings.session.loading.reload, expect, "{text}");
            assert_eq!(settings.session.render, render);
            assert_eq!(settings.mcp_result == Render::Text, render == Render::Text);
        };
        check("profile = \"harness\"", 0, Reload::ShortAck, Render::Text);
        check("profile = \"harness\"", 1, Reload::Auto, Render::Xml);
        check("profile = \"bernstein\"", 1, Reload::AlwaysBody, Render::Json);
        check("profile = \"yodoca\"", 1, Reload::Auto, Render::Markdown);
        check("profile = \"pattern\"", 1, Reload::AlwaysBody, Render::Xml);
        check("profile = \"harness\"\nload.reload = \"short_ack\"", 1, Reload::ShortAck, Render::Text);
    }
}
