//! The words of an answer that a host chooses: its names for tools and arguments.

crate::options! {
    /// The names of tools and arguments in advice to the model.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Wording {
        /// The tool that loads a skill.
        pub load: String = "load_skill".to_owned(),
        /// Its argument for the name of the skill.
        pub name: String = "name".to_owned(),
        /// The tool that reads a file, where there is one.
        pub read_file: Option<String> = Some("read_skill_file".to_owned()),
        /// Its argument for the skill.
        pub skill: String = "skill".to_owned(),
        /// Its argument for the path.
        pub path: String = "path".to_owned(),
        /// Its argument for the first line.
        pub start_line: String = "start_line".to_owned(),
        /// Its argument for the last line.
        pub end_line: String = "end_line".to_owned(),
        /// The tool that lists the files of a skill, where there is one.
        pub list_files: Option<String> = Some("list_skill_files".to_owned()),
        /// True if the tool that reads a file lists the files of a directory.
        pub reads_directories: bool,
        /// The tool that lists skills, where there is one.
        pub list: Option<String> = Some("list_skills".to_owned()),
        /// The tool that calls the tools of skills, where there is one.
        pub call: Option<String>,
        /// The tool that runs scripts of skills, where there is one.
        pub run_script: Option<String>,
        /// The command by which a person approves a skill, before its name, where there is one.
        pub approve: Option<String>,
        /// The sentences that say why tools and scripts of skills are not run and what to do about it, where
        /// the host has its own.
        pub running_off: Option<String>,
        /// The style of errors about unknown skills.
        pub errors: ErrorStyle,
    }
}

impl Wording {
    /// Returns the sentence that says why tools of skills are not run, and what a person can do about it.
    pub fn running_is_off(&self) -> String {
        let usual = || "Running tools and scripts of skills is off. Go on without them.".to_owned();
        self.running_off.clone().unwrap_or_else(usual)
    }
}

crate::words! {
    /// The style of errors about unknown skills.
    #[derive(Default)]
    ErrorStyle {
        /// With the nearest names, and all of them where they are few; the default.
        #[default]
        Names "names",
        /// With a pointer at the menu, as short as can be.
        Menu "menu",
    }
}
