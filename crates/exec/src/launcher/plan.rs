//! The protocol between host and launcher: the plan, and reports.
//!
//! Both go over one socket, which is the launcher's standard input: a line of JSON and the bytes of the command's input one way, a line of JSON the other. As long
//! as the socket is open the job is wanted; one byte cancels it. Both ends are usually one program; where they are not, the launcher's hello tells its version.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::os_text::{os_path, os_words};
use crate::verified_path::VerifiedPath;
use crate::{Ending, ExecErrorKind, Limits};

/// The version of this protocol.
const VERSION: u64 = 3;

/// The longest plan, without the input, in bytes: more than the system takes as arguments.
pub(crate) const MAX_PLAN: usize = 16 << 20;

/// The task of a launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
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
    pub(crate) mark: u64,
    pub(crate) confinement: Confinement,
    pub(crate) limits: Limits,
}

/// By what a command is confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Confinement {
    /// By nothing but limits.
    None,
    /// By the launcher, with Landlock and a filter.
    Landlock(Vec<Rule>),
    /// By a program that the launcher starts with these arguments before the command, and hands a filter where it has one to load.
    /// Each of the pinned is opened by the launcher, and the number of its descriptor takes the place of the argument it is listed with.
    Wrapper {
        #[serde(with = "os_words")]
        arguments: Vec<OsString>,
        pinned: Vec<(usize, VerifiedPath)>,
        takes_filter: bool,
    },
}

/// Access to everything below one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) place: Place,
    pub(crate) access: Access,
}

/// The path of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Place {
    /// Whatever is there, links followed, if anything is: a part of the system.
    Path(#[serde(with = "os_path")] PathBuf),
    /// The file or directory that was there when the job was checked. If it is gone the job fails.
    VerifiedPath(VerifiedPath),
}

/// A kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Access {
    /// Reading, listing and running.
    Read,
    /// Reading and writing what is there, without making or removing anything.
    Modify,
    /// Everything that files and directories need.
    Write,
}

/// A message of a launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// There is a launcher of this version, and it can be told what to do.
    Hello(u64),
    /// The command was started, as this process.
    Started { process: i32, detail: String },
    /// It ended, and nothing of it is left.
    Ended(Ending),
    /// It was not started.
    Failed { kind: ExecErrorKind, detail: String },
}

impl Plan {
    /// Returns how many descriptors are handed to whoever confines the command.
    pub(crate) fn descriptors(&self) -> u64 {
        match &self.confinement {
            Confinement::Wrapper { pinned, .. } => pinned.len() as u64,
            Confinement::None | Confinement::Landlock(_) => 0,
        }
    }
}

impl Report {
    /// The greeting of a launcher of this version.
    pub(crate) const HELLO: Self = Self::Hello(VERSION);

    /// Returns the report as a line.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Returns the report that a line holds.
    pub(crate) fn of_line(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::Exceeded;

    #[test]
    fn what_is_told_is_understood() {
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let pinned = VerifiedPath { path: odd.clone().into(), device: 1, inode: u64::MAX };
        let places =
            [Place::Path("/x".into()), Place::Path("/y".into()), Place::VerifiedPath(pinned.clone())];
        let all = [Access::Read, Access::Modify, Access::Write];
        let rules = all.into_iter().zip(places).map(|(access, place)| Rule { place, access });
        let rules = rules.collect();
        let wrapper = Confinement::Wrapper {
            arguments: vec![odd.clone()],
            pinned: vec![(0, pinned)],
            takes_filter: true,
        };
        for confinement in [Confinement::None, Confinement::Landlock(rules), wrapper] {
            let plan = Plan {
                command: vec!["/bin/sh".into(), odd.clone()],
                environment: vec![("A".into(), "ü".into())],
                directory: "/a".into(),
                scratch: "/b".into(),
                input: Some(3),
                network: true,
                mark: u64::MAX / 3,
                confinement,
                limits: Limits::default(),
            };
            let line = serde_json::to_vec(&plan).unwrap();
            assert_eq!(serde_json::from_slice::<Plan>(&line).unwrap(), plan);
        }
    }

    #[test]
    fn every_report_is_understood() {
        let endings = [
            Ending::Exited(3),
            Ending::Signalled(9),
            Ending::TimedOut,
            Ending::Cancelled,
            Ending::Exceeded(Exceeded::Memory),
            Ending::Exceeded(Exceeded::Processes),
            Ending::Exceeded(Exceeded::Disk),
        ];
        let kinds = [ExecErrorKind::CommandFailed, ExecErrorKind::GrantRefused, ExecErrorKind::Unavailable];
        let failed = kinds.map(|kind| Report::Failed { kind, detail: "x".into() });
        let started = Report::Started { process: 7, detail: "abi 7".into() };
        for report in endings.map(Report::Ended).into_iter().chain(failed).chain([started, Report::HELLO]) {
            assert_eq!(Report::of_line(report.to_line().as_bytes()), Some(report));
        }
    }
}
