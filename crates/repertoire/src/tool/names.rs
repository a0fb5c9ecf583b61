//! Names of built-in tools and their arguments.

use std::collections::BTreeSet;

/// Defines a struct of names that can be configured, each with the usual one.
macro_rules! configurable_names {
    ($(#[$doc:meta])* $type:ident [$count:literal] { $($(#[$field_doc:meta])* $field:ident $usual:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $type {
            $($(#[$field_doc])* pub $field: String,)+
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($field: $usual.to_owned(),)+ }
            }
        }

        impl $type {
            /// Returns all names, in a fixed order.
            pub(crate) fn all(&self) -> [&str; $count] {
                [$(&self.$field,)+]
            }

            /// Returns all names in the same order, to be changed.
            pub(crate) fn all_mut(&mut self) -> [&mut String; $count] {
                [$(&mut self.$field,)+]
            }
        }
    };
}

/// Returns the names that no skill and no tool of a host may have where the built-in tools are called
/// `names`: these and the usual ones.
pub fn reserved_names(names: &ToolNames) -> BTreeSet<String> {
    let usual = ToolNames::default();
    usual.all().into_iter().chain(names.all()).map(str::to_owned).collect()
}

configurable_names! {
    /// The names of the tools.
    ToolNames [11] {
        /// Loads a skill.
        load "load_skill",
        /// Unloads one.
        unload "unload_skill",
        /// Reads a file of a skill.
        read_file "read_skill_file",
        /// Lists the files of a skill.
        list_files "list_skill_files",
        /// Lists skills.
        list "list_skills",
        /// Searches skills.
        search "search_skills",
        /// Calls a tool that a skill brings along.
        call "call_skill_tool",
        /// Runs a script of a skill.
        run_script "run_skill_script",
        /// Proposes a change of a skill.
        propose_update "propose_skill_update",
        /// Proposes a new skill.
        propose "propose_skill",
        /// Reviews proposals.
        review "review_skill_proposals",
    }
}

impl ToolNames {
    /// Returns the configured name of the built-in tool whose default name is `canonical`; another tool is
    /// called what it is called.
    pub(crate) fn configured<'a>(&'a self, canonical: &'a str) -> &'a str {
        let index = Self::default().all().iter().position(|name| *name == canonical);
        index.map_or(canonical, |index| self.all()[index])
    }
}

configurable_names! {
    /// The names of arguments as models see them.
    ArgumentNames [5] {
        /// The skill to load or unload.
        name "name",
        /// The skill whose file is meant.
        skill "skill",
        /// The file.
        path "path",
        /// The first line.
        start_line "start_line",
        /// The last line.
        end_line "end_line",
    }
}

// Other names that models and other systems use for arguments.
pub(crate) const SKILL_ALIASES: &[&str] = &["name", "skill", "skill_name", "skill_id", "skillName"];
pub(crate) const PATH_ALIASES: &[&str] = &["path", "file_path", "file", "filePath"];
pub(crate) const START_ALIASES: &[&str] = &["start_line", "startLine"];
pub(crate) const END_ALIASES: &[&str] = &["end_line", "endLine"];
pub(crate) const DIRECTORY_ALIASES: &[&str] = &["directory", "dir"];
