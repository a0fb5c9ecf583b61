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
    /// True if it reads the git repository around the working directory: its checkout and its git directory.
    pub repository: bool,
    /// The environment variables that it reads.
    pub env: Vec<String>,
    /// True if a person is to be asked before every call, unless they approved this tool by name.
    pub ask: bool,
    /// The command outside of the sandbox that the tool stands for; then nothing of the skill runs, and a
    /// person approves every call.
    pub host: Option<HostCommand>,
}

crate::words! {
    /// A command of git that runs outside of the sandbox, with the user's settings and credentials.
    #[derive(PartialOrd, Ord)]
    HostCommand {
        /// Commits the paths or the index, with the message of the call; the only one that takes arguments.
        GitCommit "git commit",
        /// Pushes the current branch, and nothing else, to the branch of the same name on its remote.
        GitPush "git push",
        /// Rebases the current branch onto its upstream on a remote; a rebase with conflicts is aborted.
        GitRebase "git rebase",
        /// Stashes all changes of the checkout.
        GitStash "git stash",
        /// Applies the newest stash and drops it.
        GitStashPop "git stash pop",
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
