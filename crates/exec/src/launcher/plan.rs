//! The protocol between host and launcher: a plan and reports.
//!
//! Both go over one socket, the launcher's standard input. The host sends a line of JSON and the command's
//! standard input, the launcher a line of JSON for each report. A further byte, or closing the socket,
//! cancels the job. Both ends are usually one program; if not, the launcher's `Hello` has the version.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::os_text::{os_path, os_words};
use crate::verified_path::VerifiedPath;
use crate::{ExecErrorKind, JobLimits, RunEnding};

/// The version of this protocol.
const VERSION: u64 = 4;

/// The longest plan without the input, in bytes. The system limits arguments to less.
pub(crate) const MAX_PLAN: usize = 16 << 20;

/// The task of a launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchPlan {
    /// The program, absolute, and its arguments.
    #[serde(with = "os_words")]
    pub(crate) command: Vec<OsString>,
    /// All variables of the command.
    pub(crate) environment: Vec<(String, String)>,
    /// Its working directory.
    #[serde(with = "os_path")]
    pub(crate) directory: PathBuf,
    /// The scratch directory, whose size is limited.
    #[serde(with = "os_path")]
    pub(crate) scratch: PathBuf,
    /// Length of the input that follows, in bytes; `None` means no input.
    pub(crate) input: Option<u64>,
    pub(crate) network: bool,
    /// The tag of all its processes.
    pub(crate) tag: u64,
    pub(crate) confinement: Confinement,
    pub(crate) limits: JobLimits,
}

/// The way a command is confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Confinement {
    /// Only resource limits.
    None,
    /// Landlock and a seccomp filter, applied by the launcher.
    Landlock(Vec<AccessRule>),
    /// A program started with these arguments and the command; on Linux with a seccomp filter if it takes
    /// one. The launcher opens each path in `pinned`, and the descriptor replaces the argument at that index.
    Wrapper {
        #[serde(with = "os_words")]
        arguments: Vec<OsString>,
        pinned: Vec<(usize, VerifiedPath)>,
        takes_filter: bool,
    },
}

/// Access to everything below one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct AccessRule {
    pub(crate) place: RulePath,
    pub(crate) access: Access,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum RulePath {
    /// A path of the system, symbolic links followed. It need not exist.
    Path(#[serde(with = "os_path")] PathBuf),
    /// The file or directory that was there at the check. The job fails if it has been removed or replaced.
    VerifiedPath(VerifiedPath),
}

/// A kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Access {
    /// Reading, listing and executing.
    Read,
    /// Reading and writing existing files, without creating or removing any.
    Modify,
    /// All access to files and directories.
    Write,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LauncherMessage {
    /// The launcher has this version and is ready for a plan.
    Hello(u64),
    /// The command was started as this process.
    Started { process: i32, detail: String },
    /// The command ended, and all its processes are gone.
    Ended(RunEnding),
    /// The command was not started.
    Failed { kind: ExecErrorKind, detail: String },
}

impl LaunchPlan {
    /// Returns the number of file descriptors that the wrapper inherits for pinned paths.
    pub(crate) fn descriptors(&self) -> u64 {
        match &self.confinement {
            Confinement::Wrapper { pinned, .. } => pinned.len() as u64,
            Confinement::None | Confinement::Landlock(_) => 0,
        }
    }
}

impl LauncherMessage {
    /// The greeting of a launcher of this version.
    pub(crate) const HELLO: Self = Self::Hello(VERSION);

    /// Returns the report as a line of JSON.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Parses a line of JSON.
    pub(crate) fn of_line(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::ExceededLimit;

    #[test]
    fn every_plan_survives_json() {
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let pinned = VerifiedPath { path: odd.clone().into(), device: 1, inode: u64::MAX };
        let places = [
            RulePath::Path("/x".into()),
            RulePath::Path("/y".into()),
            RulePath::VerifiedPath(pinned.clone()),
        ];
        let all = [Access::Read, Access::Modify, Access::Write];
        let rules = all.into_iter().zip(places).map(|(access, place)| AccessRule { place, access });
        let rules = rules.collect();
        let wrapper = Confinement::Wrapper {
            arguments: vec![odd.clone()],
            pinned: vec![(0, pinned)],
            takes_filter: true,
        };
        for confinement in [Confinement::None, Confinement::Landlock(rules), wrapper] {
            let plan = LaunchPlan {
                command: vec!["/bin/sh".into(), odd.clone()],
                environment: vec![("A".into(), "ü".into())],
                directory: "/a".into(),
                scratch: "/b".into(),
                input: Some(3),
                network: true,
                tag: u64::MAX / 3,
                confinement,
                limits: JobLimits::default(),
            };
            let line = serde_json::to_vec(&plan).unwrap();
            assert_eq!(serde_json::from_slice::<LaunchPlan>(&line).unwrap(), plan);
        }
    }

    #[test]
    fn every_report_survives_json() {
        let endings = [
            RunEnding::Exited(3),
            RunEnding::Signalled(9),
            RunEnding::TimedOut,
            RunEnding::Cancelled,
            RunEnding::Exceeded(ExceededLimit::Memory),
            RunEnding::Exceeded(ExceededLimit::Processes),
            RunEnding::Exceeded(ExceededLimit::Disk),
        ];
        let kinds = [ExecErrorKind::CommandFailed, ExecErrorKind::GrantRefused, ExecErrorKind::Unavailable];
        let failed = kinds.map(|kind| LauncherMessage::Failed { kind, detail: "x".into() });
        let started = LauncherMessage::Started { process: 7, detail: "abi 7".into() };
        for report in endings
            .map(LauncherMessage::Ended)
            .into_iter()
            .chain(failed)
            .chain([started, LauncherMessage::HELLO])
        {
            assert_eq!(LauncherMessage::of_line(report.to_line().as_bytes()), Some(report));
        }
    }
}
