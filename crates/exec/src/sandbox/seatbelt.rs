//! The sandbox with Seatbelt, on macOS.
//!
//! The profile text has no granted paths: they are parameters. It is compiled and tested on every Unix.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::launcher::plan::Confinement;
use crate::protect::names::{PROTECTED, PROTECTED_ENDINGS, PROTECTED_IN};
use crate::resolved_grants::ResolvedGrants;
use crate::sandbox::host;
use crate::sandbox::host::ProtectionMeans;
use crate::scratch::Scratch;
use crate::{ExecError, Job, Launcher, RunOutcome, Sandbox};

/// The absolute path of `sandbox-exec`. `PATH` is not searched.
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The rules for every command.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read* (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library/Frameworks") (subpath "/Library/Developer/CommandLineTools") (subpath "/opt/homebrew") (subpath "/private/etc/ssl") (subpath "/private/var/db/timezone") (subpath "/private/var/db/dyld"))
(allow file-read* (literal "/private/etc/passwd") (literal "/private/etc/group") (literal "/private/etc/localtime") (literal "/private/etc/protocols") (literal "/private/etc/services"))
(allow file-read* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.logger"))
"#;

/// Additional rules if the network is granted.
const NETWORK: &str = r#"(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow system-socket (require-all (socket-domain AF_INET)) (require-all (socket-domain AF_INET6)))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow file-read* (literal "/private/etc/hosts") (literal "/private/etc/resolv.conf") (literal "/private/var/run/resolv.conf"))
(allow mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.trustd.agent") (global-name "com.apple.networkd"))
"#;

#[derive(Debug)]
pub(crate) struct Seatbelt {
    launcher: Launcher,
}

impl Seatbelt {
    pub(crate) fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }
}

impl Sandbox for Seatbelt {
    fn name(&self) -> &'static str {
        "seatbelt"
    }

    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError> {
        let confine = |grants: &ResolvedGrants, scratch: &Scratch| {
            Ok(Confinement::Wrapper {
                arguments: arguments(grants, scratch),
                pinned: Vec::new(),
                takes_filter: false,
            })
        };
        host::run(&self.launcher, job, ProtectionMeans::ExceptFiles, confine).map(|(outcome, _)| outcome)
    }
}

fn arguments(grants: &ResolvedGrants, scratch: &Scratch) -> Vec<OsString> {
    let mut read: Vec<&Path> = vec![&grants.skill];
    read.extend(grants.directories.iter().map(|directory| directory.path.as_path()));
    read.extend(grants.program.needs.iter().map(PathBuf::as_path));
    let write: Vec<&Path> = grants.writable.iter().map(|writable| writable.pinned.path.as_path()).collect();
    let keep = grants.writable.iter().flat_map(|writable| writable.protected.keys());
    let keep: Vec<&Path> = keep.map(PathBuf::as_path).chain([grants.skill.as_path()]).collect();
    let (profile, parameters) = profile(&read, &write, &keep, scratch.path(), grants.network);
    let mut arguments: Vec<OsString> = vec![PROGRAM.into(), "-p".into(), profile.into()];
    for (name, path) in parameters {
        let mut parameter = OsString::from(format!("-D{name}="));
        parameter.push(path);
        arguments.push(parameter);
    }
    arguments.push("--".into());
    arguments
}

/// Returns a profile and its parameters. Later rules win: `keep` over `write`, scratch directory over both.
fn profile(
    read: &[&Path],
    write: &[&Path],
    keep: &[&Path],
    scratch: &Path,
    network: bool,
) -> (String, Vec<(String, PathBuf)>) {
    let mut text = BASE.to_owned();
    let mut parameters = Vec::new();
    if network {
        text.push_str(NETWORK);
    }
    let mut rule = |text: &mut String, verdict: &str, kind: &str, path: &Path| {
        let name = format!("P{}", parameters.len());
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "({verdict} {kind} (subpath (param \"{name}\")))");
        parameters.push((name, path.to_owned()));
    };
    read.iter().for_each(|path| rule(&mut text, "allow", "file-read*", path));
    write.iter().for_each(|path| rule(&mut text, "allow", "file-write*", path));
    keep.iter().for_each(|path| rule(&mut text, "deny", "file-write*", path));
    let endings = PROTECTED_ENDINGS.iter().map(|(stem, endings)| {
        format!(
            "{}\\.({})",
            literal(stem),
            endings.iter().map(|one| literal(one)).collect::<Vec<_>>().join("|")
        )
    });
    let inner = PROTECTED_IN.iter().map(|(parent, name)| format!("{}/{}", literal(parent), literal(name)));
    for pattern in PROTECTED.iter().map(|name| literal(name)).chain(endings).chain(inner) {
        let _ = writeln!(text, "(deny file-write* (regex #\"(?i)/{pattern}(/|$)\"))");
    }
    rule(&mut text, "allow", "file-read*", scratch);
    rule(&mut text, "allow", "file-write*", scratch);
    (text, parameters)
}

/// Escapes a name for a regular expression.
fn literal(name: &str) -> String {
    name.replace('.', "\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_parameters_and_no_paths() {
        let odd = Path::new("/odd\") (allow default) (\"");
        let (text, parameters) = profile(
            &[Path::new("/skill"), odd],
            &[Path::new("/p/out")],
            &[Path::new("/p/out/.git/hooks")],
            Path::new("/scratch"),
            false,
        );
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
        assert!(!text.contains("odd") && !text.contains("allow default") && !text.contains("/scratch"));
        assert!(!text.contains("network-outbound"));
        let names: Vec<&str> = parameters.iter().map(|(_, path)| path.to_str().unwrap()).collect();
        assert_eq!(
            names,
            ["/skill", odd.to_str().unwrap(), "/p/out", "/p/out/.git/hooks", "/scratch", "/scratch"]
        );
        let expect = [
            "(allow file-read* (subpath (param \"P0\")))",
            "(allow file-write* (subpath (param \"P2\")))",
            "(deny file-write* (subpath (param \"P3\")))",
            "(deny file-write* (regex #\"(?i)/AGENTS\\.md(/|$)\"))",
            "(deny file-write* (regex #\"(?i)/\\.git(/|$)\"))",
            "(deny file-write* (regex #\"(?i)/\\.huskyrc\\.(cjs|js|json|mjs|ts|yaml|yml)(/|$)\"))",
            "(deny file-write* (regex #\"(?i)/\\.github/skills(/|$)\"))",
            "(allow file-write* (subpath (param \"P5\")))",
        ];
        let mut at = 0;
        for line in expect {
            at += text[at..].find(line).unwrap_or_else(|| panic!("{line} is not in its place:\n{text}"));
        }
    }

    #[test]
    fn the_network_needs_a_grant() {
        let (text, _) = profile(&[], &[], &[], Path::new("/scratch"), true);
        assert!(text.contains("(allow network-outbound (remote ip))"));
    }

    #[test]
    fn parentheses_are_balanced() {
        let (text, _) = profile(&[Path::new("/a")], &[], &[], Path::new("/scratch"), true);
        for line in text.lines() {
            assert_eq!(line.matches('(').count(), line.matches(')').count(), "{line}");
        }
    }
}
