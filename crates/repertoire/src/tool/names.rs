//! Names of built-in tools and their arguments.

use std::collections::BTreeSet;

/// Returns references to all fields of a [`ToolNames`], in a fixed order.
macro_rules! tool_fields {
    ($names:expr) => {{
        let ToolNames {
            load,
            unload,
            read_file,
            list_files,
            list,
            search,
            call,
            run_script,
            propose_update,
            propose,
            review,
        } = $names;
        [load, unload, read_file, list_files, list, search, call, run_script, propose_update, propose, review]
    }};
}

/// Returns references to all fields of an [`ArgumentNames`], in a fixed order.
macro_rules! argument_fields {
    ($names:expr) => {{
        let ArgumentNames { name, skill, path, start_line, end_line } = $names;
        [name, skill, path, start_line, end_line]
    }};
}

/// Returns the names that no skill and no tool of a host may have where the built-in tools are called
/// `names`: these and the usual ones.
pub fn reserved_names(names: &ToolNames) -> BTreeSet<String> {
    let usual = ToolNames::default();
    usual.all().into_iter().chain(names.all()).map(str::to_owned).collect()
}

/// The names of the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolNames {
    /// Loads a skill.
    pub load: String,
    /// Unloads one.
    pub unload: String,
    /// Reads a file of a skill.
    pub read_file: String,
    /// Lists the files of a skill.
    pub list_files: String,
    /// Lists skills.
    pub list: String,
    /// Searches skills.
    pub search: String,
    /// Calls a tool that a skill brings along.
    pub call: String,
    /// Runs a script of a skill.
    pub run_script: String,
    /// Proposes a change of a skill.
    pub propose_update: String,
    /// Proposes a new skill.
    pub propose: String,
    /// Reviews proposals.
    pub review: String,
}

impl Default for ToolNames {
    fn default() -> Self {
        Self {
            load: "load_skill".to_owned(),
            unload: "unload_skill".to_owned(),
            read_file: "read_skill_file".to_owned(),
            list_files: "list_skill_files".to_owned(),
            list: "list_skills".to_owned(),
            search: "search_skills".to_owned(),
            call: "call_skill_tool".to_owned(),
            run_script: "run_skill_script".to_owned(),
            propose_update: "propose_skill_update".to_owned(),
            propose: "propose_skill".to_owned(),
            review: "review_skill_proposals".to_owned(),
        }
    }
}

impl ToolNames {
    /// Returns the configured name of the built-in tool whose default name is `canonical`; another tool is
    /// called what it is called.
    pub(crate) fn configured<'a>(&'a self, canonical: &'a str) -> &'a str {
        let index = Self::default().all().iter().position(|name| *name == canonical);
        index.map_or(canonical, |index| self.all()[index])
    }

    /// Returns all names, in a fixed order.
    pub(crate) fn all(&self) -> [&str; 11] {
        tool_fields!(self).map(String::as_str)
    }

    /// Returns all names in the same order, to be changed.
    pub(crate) fn all_mut(&mut self) -> [&mut String; 11] {
        tool_fields!(self)
    }
}

/// The names of arguments as models see them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentNames {
    /// The skill to load or unload.
    pub name: String,
    /// The skill whose file is meant.
    pub skill: String,
    /// The file.
    pub path: String,
    /// The first line.
    pub start_line: String,
    /// The last line.
    pub end_line: String,
}

impl Default for ArgumentNames {
    fn default() -> Self {
        Self {
            name: "name".to_owned(),
            skill: "skill".to_owned(),
            path: "path".to_owned(),
            start_line: "start_line".to_owned(),
            end_line: "end_line".to_owned(),
        }
    }
}

impl ArgumentNames {
    /// Returns all names, in a fixed order.
    pub(crate) fn all(&self) -> [&str; 5] {
        argument_fields!(self).map(String::as_str)
    }

    /// Returns all names in the same order, to be changed.
    pub(crate) fn all_mut(&mut self) -> [&mut String; 5] {
        argument_fields!(self)
    }
}

/// Other names that models and other systems use for an argument.
pub(crate) const SKILL_ALIASES: &[&str] = &["name", "skill", "skill_name", "skill_id", "skillName"];
/// As above.
pub(crate) const PATH_ALIASES: &[&str] = &["path", "file_path", "file", "filePath"];
/// As above.
pub(crate) const START_ALIASES: &[&str] = &["start_line", "startLine"];
/// As above.
pub(crate) const END_ALIASES: &[&str] = &["end_line", "endLine"];
/// As above.
pub(crate) const DIRECTORY_ALIASES: &[&str] = &["directory", "dir"];
