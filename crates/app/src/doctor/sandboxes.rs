//! Checks the sandboxes for tools and scripts of skills, and the approvals.

use repertoire::config::SandboxChoice;
use repertoire_exec::{Launcher, probe};
use repertoire_model::text::count;

use super::checks::Checks;
use crate::error::is_denied;
use crate::view::CheckStatus as Status;
use crate::workspace::Workspace;

impl Checks {
    /// Reports the sandboxes that work here; it matters if something is to run.
    pub(super) fn sandboxes(&mut self, workspace: &Workspace) {
        let exec = &workspace.settings.exec;
        let found = probe(&Launcher::CurrentExe);
        for row in found.rows() {
            if row.sandbox.is_some() {
                self.ok("sandbox", format!("{} works: {}", row.name, row.detail));
            } else {
                self.info("sandbox", format!("{} does not work: {}", row.name, row.detail));
            }
        }
        let is_named = !matches!(exec.sandbox, SandboxChoice::Auto | SandboxChoice::None);
        if is_named && found.named(exec.sandbox.as_str()).is_none() {
            let status = if exec.enabled { Status::Error } else { Status::Warn };
            let message = format!(
                "`exec.sandbox = \"{}\"` does not work here, so skills run nothing",
                exec.sandbox.as_str()
            );
            let hint = "set it to a sandbox that works here, or to \"auto\", in your user configuration";
            self.add(status, "sandbox", message, Some(hint));
        } else if exec.enabled && exec.sandbox == SandboxChoice::None {
            let hint = Some("set `exec.sandbox = \"auto\"` in your user configuration");
            self.add(Status::Warn, "sandbox", "nothing confines what approved skills run", hint);
        } else if found.best().is_none() {
            let status = if exec.enabled { Status::Warn } else { Status::Info };
            self.add(status, "sandbox", "none works, so skills run nothing", None);
        }
        match workspace.approvals().map(|approvals| approvals.list()) {
            Ok(Ok(approvals)) => {
                self.ok("approvals", format!("{} may run something", count(approvals.len(), "skill")))
            }
            Ok(Err(error)) => {
                let hint = Some("repair the file, or remove it and approve skills again")
                    .filter(|_| !is_denied(&error));
                self.add(Status::Warn, "approvals", error.chain(), hint);
            }
            Err(_) => {}
        }
    }
}
