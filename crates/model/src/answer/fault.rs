//! Calls that could not be answered. They are answers too: models that read the fault do better next time.

/// The reason why a call could not be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The tool that was called, by the name it is known under to the model.
    pub tool: String,
    /// The requested skill, as it was given and shortened.
    pub skill: Option<String>,
    /// The source of the skill, where the skill was found.
    pub source: Option<String>,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The files of the skill, where the skill was found and its file was not.
    pub available: Option<Box<AvailableFiles>>,
}

impl Fault {
    /// Returns the fault `kind` of a call of `tool`.
    pub fn new(tool: impl Into<String>, skill: Option<String>, kind: FaultKind) -> Self {
        Self { tool: tool.into(), skill, source: None, kind, available: None }
    }
}

/// The files that a skill is reported to have, by kind, each relative to the directory of its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AvailableFiles {
    /// Those below `references/`.
    pub references: Vec<String>,
    /// Those below `scripts/`.
    pub scripts: Vec<String>,
    /// Those below `assets/`.
    pub assets: Vec<String>,
}

/// The reason why a skill may not run something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunRefusal {
    /// The skill is not approved.
    Unknown,
    /// It changed since it was approved.
    Changed,
    /// Skills of its source may not run anything.
    Source,
    /// Each call needs the consent of a person, and no person can be asked.
    Asks,
    /// Each call needs the approval of a person, which cannot be kept, and no person can be asked.
    EachCall,
    /// A person was asked and refused.
    Refused,
    /// A skill that is active allows no more than some other tools.
    Ceiling,
    /// Tools and scripts of skills are not run at all.
    Off,
}

/// The kinds of faults of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// No skill has that name, or none that this agent may know of.
    UnknownSkill {
        /// Names near to it, best first.
        near: Vec<String>,
        /// The number of skills.
        total: usize,
        /// All their names, where they are few.
        all: Vec<String>,
    },
    /// The skill exists, and the policy says so, but this agent may not use it.
    NotPermitted,
    /// The skill was there when the catalog was written and is no longer.
    Gone,
    /// The skill is set aside because of an error in it.
    Broken {
        /// The problem.
        reason: String,
    },
    /// No tool has that name.
    UnknownTool {
        /// The tools there are.
        tools: Vec<String>,
        /// The skill with the nearest name, where one is near.
        near: Option<String>,
    },
    /// A skill was called as if it were a tool.
    SkillAsTool,
    /// An argument that is needed is not there.
    MissingArgument {
        /// The argument.
        name: String,
    },
    /// An argument is not what the tool takes.
    BadArgument {
        /// The argument.
        name: String,
        /// The expected value, as `a string`; or a sentence of its own, which begins with a capital letter.
        expected: String,
    },
    /// The tool takes no such argument.
    UnknownArgument {
        /// The argument, as it was given and shortened.
        name: String,
        /// The arguments that the tool takes.
        takes: Vec<String>,
    },
    /// The path is not one that a file of a skill can have.
    BadPath {
        /// The path, as it was given and shortened.
        path: String,
        /// The problem.
        reason: String,
    },
    /// The skill has no such file.
    NoFile {
        /// The path.
        path: String,
        /// Files whose names are near, best first.
        near: Vec<String>,
    },
    /// The skill has no such directory.
    NoDirectory {
        /// The path.
        path: String,
    },
    /// The path leads to a directory where a file was requested.
    IsDirectory {
        /// The path.
        path: String,
    },
    /// The path leads to a file where a directory was requested.
    NotDirectory {
        /// The path.
        path: String,
    },
    /// The file is never read: it is hidden, a link or a device.
    Forbidden {
        /// The path.
        path: String,
    },
    /// The file is not text.
    Binary {
        /// The path.
        path: String,
        /// Its media type.
        media_type: String,
        /// Its size in bytes.
        size: u64,
    },
    /// The file is larger than the limit of reading.
    TooLarge {
        /// The path.
        path: String,
    },
    /// The skill of the tool is not loaded.
    NotLoaded {
        /// The tool.
        tool: String,
    },
    /// The skill has no such tool.
    NoSkillTool {
        /// The tool, as it was given and shortened.
        tool: String,
        /// The tools that it has.
        tools: Vec<String>,
    },
    /// The arguments do not match the schema of the tool.
    BadArguments {
        /// The tool.
        tool: String,
        /// The problems, a clause each: `` `message` is missing ``.
        problems: Vec<String>,
    },
    /// The skill may not run anything, or not this.
    NotApproved {
        /// The tool or script.
        tool: String,
        /// The reason.
        why: RunRefusal,
    },
    /// Nothing runs the tool or script.
    NoHandler {
        /// The tool or script.
        tool: String,
    },
    /// A proposal, or a decision about one, is refused.
    Refused {
        /// The reason.
        reason: String,
    },
    /// The operating system failed.
    Failed {
        /// Its text.
        reason: String,
    },
}
