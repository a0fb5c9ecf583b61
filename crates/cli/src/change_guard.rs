//! Keeps Ctrl-C and other requests to end from leaving a change of files half done.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{CliError, report};
use crate::exit::Exit;
use crate::interrupt::{Interrupt, on_interrupt};
use crate::ui::{Ui, say};

/// The state of a command that changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is changed yet, so that the program can end at any moment.
    Before,
    /// The change has begun, and is completed also if this was asked of the program.
    Begun(Option<Interrupt>),
}

/// Tells when the change of a command begins.
pub(crate) struct ChangeGuard {
    phase: Arc<Mutex<Phase>>,
}

impl ChangeGuard {
    /// Notes that files are changed from now on. A later request to end waits until the command is done.
    pub(crate) fn begin(&self) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if *phase == Phase::Before {
            *phase = Phase::Begun(None);
        }
    }

    fn interrupt(&self) -> Option<Interrupt> {
        match *self.phase.lock().unwrap_or_else(PoisonError::into_inner) {
            Phase::Before => None,
            Phase::Begun(interrupt) => interrupt,
        }
    }
}

/// Runs a command that changes files. Asked to end before the change begins, it ends at once; later, once the
/// change is completed. A second request ends it at once; the next command then completes the change.
pub(crate) fn guarded(
    ui: &mut Ui,
    command: impl FnOnce(&mut Ui, &ChangeGuard) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    let guard = ChangeGuard { phase: Arc::new(Mutex::new(Phase::Before)) };
    let phase = Arc::clone(&guard.phase);
    on_interrupt(move |interrupt| {
        // Kept until the end, so that no change begins meanwhile.
        let mut phase = phase.lock().unwrap_or_else(PoisonError::into_inner);
        match *phase {
            Phase::Before => {
                say("interrupted; everything is as it was");
                interrupt.exit_now();
            }
            Phase::Begun(None) => *phase = Phase::Begun(Some(interrupt)),
            Phase::Begun(Some(_)) => interrupt.end_now(),
        }
    })?;
    let outcome = command(ui, &guard);
    let Some(interrupt) = guard.interrupt() else { return outcome };
    match outcome {
        Ok(_) => ui.warn("interrupted; the change had begun, and was completed")?,
        Err(error) => {
            report(&error, ui);
        }
    }
    Ok(interrupt.exit())
}
