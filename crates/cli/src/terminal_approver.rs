//! Asks on the terminal whether a tool or script of a skill may run.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use repertoire::BoxFuture;
use repertoire_exec::approval::{ApprovalRequest, ApprovalVerdict, Approver};

use crate::ui::{confirm, escape, escape_lines};

/// `true` while a question is on the terminal; nothing runs then, and Ctrl-C ends the program.
static IS_ASKING: AtomicBool = AtomicBool::new(false);

/// Returns whether a question is on the terminal.
pub(crate) fn is_asking() -> bool {
    IS_ASKING.load(Ordering::Relaxed)
}

/// Asks on the terminal.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    /// `true` if it also asks about skills that are not approved.
    of_skills: bool,
}

impl TerminalApprover {
    /// Returns one that asks only about the calls that need the consent of a person each time.
    pub(crate) fn of_calls() -> Self {
        Self { of_skills: false }
    }

    /// Returns one that asks about skills that are not approved, too.
    pub(crate) fn of_skills() -> Self {
        Self { of_skills: true }
    }
}

impl Approver for TerminalApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
        Box::pin(async move {
            if request.call.is_none() && !self.of_skills {
                return ApprovalVerdict::Unasked;
            }
            IS_ASKING.store(true, Ordering::Relaxed);
            let verdict = match &request.call {
                Some(call) => asked_about_call(request, call),
                None => asked_about_skill(request),
            };
            IS_ASKING.store(false, Ordering::Relaxed);
            verdict.unwrap_or(ApprovalVerdict::Unasked)
        })
    }
}

fn asked_about_call(
    request: &ApprovalRequest,
    (tool, given): &(String, String),
) -> io::Result<ApprovalVerdict> {
    let tool = escape(tool);
    let skill = escape(&request.approval.name);
    let question = if request.is_on_host {
        let given = escape_lines(given).replace('\n', "\n  ");
        format!(
            "{tool} of {skill} runs outside of the sandbox, with your settings and credentials:\n\n  {given}\n\nRun it?"
        )
    } else {
        format!("{tool} of {skill} asks before every call. Run it with {}?", escape(given))
    };
    Ok(if confirm(io::stderr(), &question)? { ApprovalVerdict::Once } else { ApprovalVerdict::Refused })
}

fn asked_about_skill(request: &ApprovalRequest) -> io::Result<ApprovalVerdict> {
    let approval = &request.approval;
    let mut terminal = io::stderr().lock();
    let (name, directory) = (escape(&approval.name), escape(&approval.directory));
    let state =
        if request.difference.is_some() { "has changed since it was approved" } else { "is not approved" };
    writeln!(
        terminal,
        "\nThe skill {name} in {directory} {state}. Its tools, each in a sandbox unless the line says otherwise:"
    )?;
    for line in approval.capabilities.lines() {
        writeln!(terminal, "  {}", escape(&line))?;
    }
    if let Some(difference) = &request.difference {
        let files = [
            ("new", &difference.new_files),
            ("changed", &difference.changed_files),
            ("gone", &difference.gone_files),
        ];
        for (word, file) in files.iter().flat_map(|(word, files)| files.iter().map(move |file| (word, file)))
        {
            writeln!(terminal, "  {word} file: {}", escape(file))?;
        }
    }
    Ok(if confirm(terminal, "Approve it?")? { ApprovalVerdict::Always } else { ApprovalVerdict::Refused })
}
