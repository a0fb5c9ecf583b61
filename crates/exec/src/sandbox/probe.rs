//! Finds the sandboxes that work on this machine.

use std::sync::Arc;

use crate::{Launcher, Sandbox};

/// The sandboxes of this machine, the best one first.
#[derive(Debug, Clone)]
pub struct Probe {
    rows: Vec<ProbedSandbox>,
}

/// A sandbox, and whether it works on this machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProbedSandbox {
    /// Its name.
    pub name: &'static str,
    /// The sandbox, if it works.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// One line: the means and limits of the sandbox, or the reason why it does not work.
    pub detail: String,
}

impl Probe {
    /// Returns the sandboxes in order of preference.
    pub fn rows(&self) -> &[ProbedSandbox] {
        &self.rows
    }

    /// Returns the best sandbox that works on this machine, never `none`.
    pub fn best(&self) -> Option<Arc<dyn Sandbox>> {
        self.rows.iter().find_map(|row| row.sandbox.clone())
    }

    /// Returns the sandbox of this name, if it works on this machine.
    pub fn named(&self, name: &str) -> Option<Arc<dyn Sandbox>> {
        self.rows.iter().find(|row| row.name == name).and_then(|row| row.sandbox.clone())
    }
}

/// Finds the sandboxes that work on this machine, by running a command in each.
///
/// This starts a few processes, so call it once and keep the result.
pub fn probe(launcher: &Launcher) -> Probe {
    Probe { rows: rows(launcher) }
}

#[cfg(target_os = "linux")]
fn rows(launcher: &Launcher) -> Vec<ProbedSandbox> {
    use crate::sandbox::bubblewrap::Bubblewrap;
    use crate::sandbox::landlock::Landlock;

    let mut rows = Vec::new();
    let bubblewrap = Bubblewrap::find(launcher.clone());
    rows.push(match bubblewrap {
        Some(sandbox) => tried("bubblewrap", "namespaces, seccomp", sandbox),
        None => missing("bubblewrap", "bwrap is not installed; most systems package it as bubblewrap"),
    });
    let landlock = Landlock::new(launcher.clone());
    let found =
        landlock.run_reported(&trial()).map_err(|error| reason(&error)).and_then(|(outcome, detail)| {
            if outcome.ending.is_success() { Ok(detail) } else { Err(failure(&outcome)) }
        });
    rows.push(match found {
        Ok(detail) => ProbedSandbox { name: "landlock", sandbox: Some(Arc::new(landlock)), detail },
        Err(detail) => ProbedSandbox { name: "landlock", sandbox: None, detail },
    });
    rows
}

#[cfg(target_os = "macos")]
fn rows(launcher: &Launcher) -> Vec<ProbedSandbox> {
    use crate::sandbox::seatbelt::{PROGRAM, Seatbelt};

    if !std::path::Path::new(PROGRAM).is_file() {
        return vec![missing("seatbelt", "sandbox-exec is not installed")];
    }
    vec![tried("seatbelt", "sandbox-exec", Seatbelt::new(launcher.clone()))]
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rows(_launcher: &Launcher) -> Vec<ProbedSandbox> {
    Vec::new()
}

#[cfg(unix)]
fn missing(name: &'static str, detail: &str) -> ProbedSandbox {
    ProbedSandbox { name, sandbox: None, detail: detail.to_owned() }
}

#[cfg(unix)]
fn tried(name: &'static str, detail: &str, sandbox: impl Sandbox + 'static) -> ProbedSandbox {
    let failed = match sandbox.run(&trial()) {
        Ok(outcome) if outcome.ending.is_success() => None,
        Ok(outcome) => Some(failure(&outcome)),
        Err(error) => Some(reason(&error)),
    };
    match failed {
        None => ProbedSandbox { name, sandbox: Some(Arc::new(sandbox)), detail: detail.to_owned() },
        Some(detail) => ProbedSandbox { name, sandbox: None, detail },
    }
}

#[cfg(unix)]
fn trial() -> crate::Job {
    let mut job = crate::Job::new(["/bin/sh", "-c", "exit 0"], "/usr");
    // A busy machine takes its time, and only a sandbox that hangs takes this long.
    job.limits.timeout = std::time::Duration::from_secs(30);
    job
}

#[cfg(unix)]
fn failure(outcome: &crate::RunOutcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
    let line = stderr.lines().next().unwrap_or_default().trim();
    format!("a trial command ended with {:?} {line}", outcome.ending).trim().to_owned()
}

#[cfg(unix)]
fn reason(error: &crate::ExecError) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default()).replace(['\n', '\r'], " ")
}
