//! The access that one tool of a skill requests.

/// The access that a tool requests beyond its own files and a scratch directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Needs {
    /// True if it uses the network.
    pub network: bool,
    /// True if it reads the working directory.
    pub directory: bool,
    /// The paths in the working directory that it writes: `.` is all of it, `out/` a directory, and `out` an
    /// existing file or directory, or else a new file.
    pub write: Vec<String>,
    /// True if it reads the git repository around the working directory: its checkout, and the git directory wherever that is.
    pub repository: bool,
    /// The environment variables that it reads.
    pub env: Vec<String>,
    /// True if a person is to be asked before every call, unless they approved this tool by name.
    pub ask: bool,
    /// The command outside of the sandbox that the tool stands for; then nothing of the skill runs, and a person approves every call.
    pub host: Option<HostCommand>,
}

/// A command of git that runs outside of the sandbox, with the user's settings and credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostCommand {
    /// Commits the paths or the index, with the message of the call; the only one that takes arguments.
    GitCommit,
    /// Pushes the current branch, and nothing else, to the branch of the same name on its remote.
    GitPush,
    /// Rebases the current branch onto its upstream on a remote; a rebase with conflicts is aborted.
    GitRebase,
    /// Stashes all changes of the checkout.
    GitStash,
    /// Applies the newest stash and drops it.
    GitStashPop,
}

impl HostCommand {
    const ALL: [Self; 5] =
        [Self::GitCommit, Self::GitPush, Self::GitRebase, Self::GitStash, Self::GitStashPop];

    /// Returns the word for it in `schema.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitCommit => "git commit",
            Self::GitPush => "git push",
            Self::GitRebase => "git rebase",
            Self::GitStash => "git stash",
            Self::GitStashPop => "git stash pop",
        }
    }

    /// Returns what `word` means.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|command| command.as_str() == word)
    }
}

impl Needs {
    /// Returns the capabilities of the tool, a clause each.
    pub fn clauses(&self) -> Vec<String> {
        let mut clauses = Vec::new();
        if self.directory {
            clauses.push("reads the working directory".to_owned());
        }
        clauses.extend(self.write.iter().map(|path| match path.as_str() {
            "." => "writes anywhere in the working directory".to_owned(),
            path => format!("writes {path} in the working directory"),
        }));
        if self.repository {
            clauses.push("reads the git repository around the working directory".to_owned());
        }
        if self.network {
            clauses.push("uses the network".to_owned());
        }
        clauses.extend(self.env.iter().map(|name| format!("reads the environment variable {name}")));
        clauses.extend(self.host.map(|command| {
            format!(
                "runs `{}` outside of the sandbox, with the user's settings and credentials",
                command.as_str()
            )
        }));
        if self.ask {
            clauses.push("asks a person before every call".to_owned());
        }
        clauses
    }
}
