//! Handlers of the signals that ask the program to end: Ctrl-C, termination, a closed terminal.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::error::CliError;
use crate::exit::Exit;

/// The signals that ask a program to end.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// One of the signals that ask a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupt(i32);

impl Interrupt {
    /// Returns `true` if a person typed Ctrl-C.
    pub(crate) fn is_typed(self) -> bool {
        self.0 == SIGINT
    }

    /// Returns `true` if the terminal closed, or a program without one is to read its configuration again.
    pub(crate) fn is_hangup(self) -> bool {
        self.0 == SIGHUP
    }

    /// Returns the exit code for it.
    pub(crate) fn exit(self) -> Exit {
        Exit::Interrupted(u8::try_from(self.0).unwrap_or_default())
    }

    /// Ends the program at once with the exit code for it.
    #[allow(clippy::disallowed_methods, reason = "`main` may be waiting for an answer or for a server")]
    pub(crate) fn exit_now(self) {
        std::process::exit(self.exit().code().into());
    }

    /// Ends the program at once, as the signal would have done.
    pub(crate) fn end_now(self) {
        // If that fails, the sender can send another.
        let _ = emulate_default_handler(self.0);
    }
}

/// Calls `act`, on a thread of its own, when the program is asked to end. It no longer ends by itself.
///
/// Signals that were ignored at the start, as `nohup` does, stay ignored.
pub(crate) fn on_interrupt(mut act: impl FnMut(Interrupt) + Send + 'static) -> Result<(), CliError> {
    let ignored = ignored();
    let heeded = SIGNALS.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(heeded)
        .map_err(|error| CliError::usage("cannot install signal handlers").because(error))?;
    std::thread::spawn(move || signals.forever().for_each(|signal| act(Interrupt(signal))));
    Ok(())
}

/// Returns the signals that are ignored, one bit for each, if the system reports them.
fn ignored() -> u64 {
    #[cfg(target_os = "linux")]
    {
        /// Far more than the status of a process.
        const MAX_STATUS: u64 = 1 << 20;

        let status =
            repertoire::regular_file::read("/proc/self/status".as_ref(), MAX_STATUS).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    0
}
