//! The protocol between host and launcher: the plan, and reports.
//!
//! Both go over one socket, which is the launcher's standard input: a line of JSON and the bytes of the command's input one way, a line of JSON the other. As long
//! as the socket is open the job is wanted; one byte cancels it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::verified_path::VerifiedPath;
use crate::{Ending, Exceeded, ExecErrorKind, Limits};

/// The version of this wire. Both ends are usually one program; where they are not, they have to be of one make.
const VERSION: u64 = 2;

/// The longest plan, without the input, in bytes.
pub(crate) const MAX_PLAN: usize = 4 << 20;

/// The task of a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The program, absolute, and its arguments.
    pub(crate) command: Vec<OsString>,
    /// All variables of the command.
    pub(crate) environment: Vec<(String, String)>,
    /// Its working directory.
    pub(crate) directory: PathBuf,
    /// The scratch directory, whose size is limited.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// By nothing but limits.
    None,
    /// By the launcher, with Landlock and a filter.
    Landlock(Vec<Rule>),
    /// By a program that the launcher starts with these arguments before the command, and hands a filter where it has one to load.
    /// Each of the pinned is opened by the launcher, and the number of its descriptor takes the place of the argument it is listed with.
    Wrapper { arguments: Vec<OsString>, pinned: Vec<(usize, VerifiedPath)>, takes_filter: bool },
}

/// Access to everything below one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    pub(crate) place: Place,
    pub(crate) access: Access,
}

/// The path of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Whatever is there, links followed, if anything is: a part of the system.
    Path(PathBuf),
    /// The file or directory that was there when the job was checked. If it is gone the job fails.
    VerifiedPath(VerifiedPath),
}

/// A kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Reading, listing and running.
    Read,
    /// Reading and writing what is there, without making or removing anything.
    Modify,
    /// Everything that files and directories need.
    Write,
}

impl Access {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Read, "read"), (Self::Modify, "modify"), (Self::Write, "write")];
}

/// A message of a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// There is a launcher, and it can be told what to do.
    Hello,
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

    pub(crate) fn to_json(&self) -> Value {
        let limits = &self.limits;
        json!({
            "version": VERSION,
            "command": self.command.iter().map(|word| text(word)).collect::<Vec<_>>(),
            "environment": self.environment,
            "directory": text(self.directory.as_os_str()),
            "scratch": text(self.scratch.as_os_str()),
            "input": self.input,
            "network": self.network,
            "mark": self.mark,
            "confinement": match &self.confinement {
                Confinement::None => json!("none"),
                Confinement::Landlock(rules) => json!({ "landlock": rules.iter().map(rule).collect::<Vec<_>>() }),
                Confinement::Wrapper { arguments, pinned, takes_filter } => json!({
                    "wrapper": arguments.iter().map(|word| text(word)).collect::<Vec<_>>(),
                    "pinned": pinned.iter().map(|(place, one)| json!([place, pin(one)])).collect::<Vec<_>>(),
                    "takes_filter": takes_filter,
                }),
            },
            "limits": {
                "timeout_ms": millis(limits.timeout),
                "memory": limits.memory,
                "cpu_ms": millis(limits.cpu),
                "file_size": limits.file_size,
                "disk": limits.disk,
                "processes": limits.processes,
                "open_files": limits.open_files,
                "output": limits.output as u64,
            },
        })
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        if value["version"].as_u64() != Some(VERSION) {
            return None;
        }
        let confinement = match &value["confinement"] {
            Value::String(name) if name == "none" => Confinement::None,
            other if other["landlock"].is_array() => Confinement::Landlock(
                other["landlock"].as_array()?.iter().map(rule_of).collect::<Option<_>>()?,
            ),
            other => Confinement::Wrapper {
                arguments: words(&other["wrapper"])?,
                pinned: other["pinned"].as_array()?.iter().map(placed).collect::<Option<_>>()?,
                takes_filter: other["takes_filter"].as_bool()?,
            },
        };
        let limits = &value["limits"];
        let number = |name: &str| limits[name].as_u64();
        Some(Self {
            command: words(&value["command"])?,
            environment: serde_json::from_value(value["environment"].clone()).ok()?,
            directory: word(&value["directory"])?.into(),
            scratch: word(&value["scratch"])?.into(),
            input: value["input"].as_u64(),
            network: value["network"].as_bool()?,
            mark: value["mark"].as_u64()?,
            confinement,
            limits: Limits {
                timeout: Duration::from_millis(number("timeout_ms")?),
                memory: number("memory")?,
                cpu: Duration::from_millis(number("cpu_ms")?),
                file_size: number("file_size")?,
                disk: number("disk")?,
                processes: number("processes")?,
                open_files: number("open_files")?,
                output: usize::try_from(number("output")?).ok()?,
            },
        })
    }
}

impl Report {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Hello => json!({ "hello": VERSION }),
            Self::Started { process, detail } => json!({ "started": process, "detail": detail }),
            Self::Ended(ending) => match ending {
                Ending::Exited(status) => json!({ "exited": status }),
                Ending::Signalled(signal) => json!({ "signalled": signal }),
                Ending::TimedOut => json!({ "ended": "timed-out" }),
                Ending::Cancelled => json!({ "ended": "cancelled" }),
                Ending::Exceeded(Exceeded::Memory) => json!({ "ended": "memory" }),
                Ending::Exceeded(Exceeded::Processes) => json!({ "ended": "processes" }),
                Ending::Exceeded(Exceeded::Disk) => json!({ "ended": "disk" }),
            },
            Self::Failed { kind, detail } => {
                let kind = KINDS.iter().find(|(own, _)| own == kind).map_or("launcher", |(_, name)| name);
                json!({ "failed": kind, "detail": detail })
            }
        }
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = |name: &str| value[name].as_i64().and_then(|number| i32::try_from(number).ok());
        let detail = || value["detail"].as_str().unwrap_or_default().to_owned();
        if value["hello"].as_u64() == Some(VERSION) {
            return Some(Self::Hello);
        }
        if let Some(process) = number("started") {
            return Some(Self::Started { process, detail: detail() });
        }
        if let Some(name) = value["failed"].as_str() {
            let kind =
                KINDS.iter().find(|(_, own)| *own == name).map_or(ExecErrorKind::Launcher, |(kind, _)| *kind);
            return Some(Self::Failed { kind, detail: detail() });
        }
        if let Some(status) = number("exited") {
            return Some(Self::Ended(Ending::Exited(status)));
        }
        if let Some(signal) = number("signalled") {
            return Some(Self::Ended(Ending::Signalled(signal)));
        }
        Some(Self::Ended(match value["ended"].as_str()? {
            "timed-out" => Ending::TimedOut,
            "cancelled" => Ending::Cancelled,
            "memory" => Ending::Exceeded(Exceeded::Memory),
            "processes" => Ending::Exceeded(Exceeded::Processes),
            "disk" => Ending::Exceeded(Exceeded::Disk),
            _ => return None,
        }))
    }
}

/// The kinds of errors that a launcher tells of.
const KINDS: &[(ExecErrorKind, &str)] = &[
    (ExecErrorKind::CommandFailed, "command"),
    (ExecErrorKind::GrantRefused, "grant"),
    (ExecErrorKind::Unavailable, "unavailable"),
    (ExecErrorKind::Launcher, "launcher"),
];

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a word that need not be UTF-8: as text where it is, else as bytes.
fn text(word: &OsStr) -> Value {
    word.to_str().map_or_else(|| json!(word.as_bytes()), |word| json!(word))
}

fn word(value: &Value) -> Option<OsString> {
    if let Some(text) = value.as_str() {
        return Some(text.into());
    }
    let bytes = value.as_array()?.iter().map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok()));
    Some(OsString::from_vec(bytes.collect::<Option<_>>()?))
}

fn words(value: &Value) -> Option<Vec<OsString>> {
    value.as_array()?.iter().map(word).collect()
}

fn rule(rule: &Rule) -> Value {
    let access = Access::ALL.iter().find(|(access, _)| *access == rule.access).map(|(_, name)| name);
    match &rule.place {
        Place::Path(path) => json!([access, text(path.as_os_str())]),
        Place::VerifiedPath(pinned) => json!([access, null, pin(pinned)]),
    }
}

fn rule_of(value: &Value) -> Option<Rule> {
    let access =
        Access::ALL.iter().find(|(_, name)| value[0].as_str() == Some(name)).map(|(access, _)| *access)?;
    let place = match &value[1] {
        Value::Null => Place::VerifiedPath(pinned(&value[2])?),
        path => Place::Path(word(path)?.into()),
    };
    Some(Rule { place, access })
}

fn pin(pinned: &VerifiedPath) -> Value {
    json!([text(pinned.path.as_os_str()), pinned.device, pinned.inode])
}

fn pinned(value: &Value) -> Option<VerifiedPath> {
    Some(VerifiedPath {
        path: word(&value[0])?.into(),
        device: value[1].as_u64()?,
        inode: value[2].as_u64()?,
    })
}

fn placed(value: &Value) -> Option<(usize, VerifiedPath)> {
    Some((usize::try_from(value[0].as_u64()?).ok()?, pinned(&value[1])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let pinned = VerifiedPath { path: odd.clone().into(), device: 1, inode: u64::MAX };
        let places =
            [Place::Path("/x".into()), Place::Path("/y".into()), Place::VerifiedPath(pinned.clone())];
        let rules =
            Access::ALL.iter().zip(places).map(|((access, _), place)| Rule { place, access: *access });
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
            assert_eq!(Plan::from_json(&plan.to_json()), Some(plan));
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
        let failed = KINDS.iter().map(|(kind, _)| Report::Failed { kind: *kind, detail: "x".into() });
        let started = Report::Started { process: 7, detail: "abi 7".into() };
        for report in endings.map(Report::Ended).into_iter().chain(failed).chain([started, Report::Hello]) {
            assert_eq!(Report::from_json(&report.to_json()), Some(report));
        }
    }
}
