//! The exit codes of `rep`: a public table.

use std::process::ExitCode;

/// An exit code of `rep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Success,
    /// The answer is no: a finding of severity error, a missing skill or file, a library that is refused.
    No,
    /// The command line or the configuration is wrong; nothing was done.
    Usage,
    /// Input or output failed.
    Failure,
    /// Ended by this signal, after ending everything it ran.
    Interrupted(u8),
}

/// Every fixed exit code with its meaning, as documented in `docs/reference/exit-codes.md`.
#[cfg(test)]
pub(crate) const TABLE: &[(Exit, &str, &str)] = &[
    (
        Exit::Success,
        "success",
        "Everything asked for was done. Warnings may have been printed. A closed pipe counts.",
    ),
    (
        Exit::No,
        "no",
        "The answer is no: `check` found an error, or more warnings than `--max-warnings` permits, `eval` missed a rate, no skill or file has that name, the skill is quarantined, the \
         policy in force refuses the library, `doctor` found something broken, `new` and `init` would overwrite, \
         `run` ran nothing or what it ran failed, `approve` was not consented to, `migrate` or `link` left something alone, `connect` could not be done for a client, a skill is still disabled after `enable`, `disable` or `enable` could not change the file of a client, `sync` found a difference, `update` left something to do, or the source of `add` has no such skill.",
    ),
    (
        Exit::Usage,
        "usage",
        "The command line, an environment variable or a configuration file is wrong. Nothing was done.",
    ),
    (Exit::Failure, "failure", "Input or output failed, or something happened that should not."),
];

impl Exit {
    /// Returns the number the process ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Failure => 3,
            // As in shells.
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
