//! How much of what a command made in its repository is looked at and carried over, and how long that may take.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use crate::exec::Cancel;

/// The most that all objects may be, unpacked, in bytes.
const MAX_OBJECTS: u64 = 1 << 30;
/// The most that is added to all logs, in bytes.
const MAX_LOGS: u64 = 16 << 20;
/// How long is gone on once somebody wants it ended: most is done in less, and what is not begun would be lost.
const CANCELLED_TIME: Duration = Duration::from_secs(3);

/// What is left of the time and of everything else that looking at what a command made may take.
#[derive(Debug)]
pub(crate) struct Allowance {
    until: Cell<Instant>,
    cancel: Option<Cancel>,
    is_cancelled: Cell<bool>,
    entries: usize,
    objects: u64,
    logs: u64,
}

impl Allowance {
    /// Returns one for this long, or less once `cancel` is set, and this many files and directories.
    pub(crate) fn new(time: Duration, cancel: Option<&Cancel>, entries: usize) -> Self {
        Self {
            until: Cell::new(Instant::now() + time),
            cancel: cancel.cloned(),
            is_cancelled: Cell::new(false),
            entries,
            objects: MAX_OBJECTS,
            logs: MAX_LOGS,
        }
    }

    /// Fails once the time is up.
    pub(crate) fn go_on(&self) -> io::Result<()> {
        let now = Instant::now();
        if !self.is_cancelled.get() && self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            self.is_cancelled.set(true);
            self.until.set(self.until.get().min(now + CANCELLED_TIME));
        }
        if now < self.until.get() {
            return Ok(());
        }
        let text = if self.is_cancelled.get() { "it was cancelled" } else { "it takes too long" };
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }

    /// Returns when the time is up.
    pub(crate) fn until(&self) -> Instant {
        self.until.get()
    }

    /// Takes one file or directory.
    pub(crate) fn take_entry(&mut self) -> io::Result<()> {
        self.go_on()?;
        let left = self.entries.checked_sub(1);
        self.entries =
            left.ok_or_else(|| spent("there are more files and directories than can be looked through"))?;
        Ok(())
    }

    /// Takes bytes of an object.
    pub(crate) fn take_object(&mut self, bytes: usize) -> io::Result<()> {
        self.go_on()?;
        let left = self.objects.checked_sub(bytes as u64);
        self.objects = left.ok_or_else(|| spent("the objects are too large"))?;
        Ok(())
    }

    /// Takes bytes that are to be added to a log, before they are read.
    pub(crate) fn take_log(&mut self, bytes: u64) -> io::Result<()> {
        self.go_on()?;
        self.logs = self.logs.checked_sub(bytes).ok_or_else(|| spent("the logs are too long"))?;
        Ok(())
    }
}

fn spent(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn there_is_so_much_and_no_more() {
        let mut allowance = Allowance::new(LONG, None, 1);
        allowance.take_entry().unwrap();
        allowance.take_entry().unwrap_err();
        allowance.take_log(MAX_LOGS - 1).unwrap();
        allowance.take_log(2).unwrap_err();
        allowance.take_log(1).unwrap();
        allowance.take_object(1 << 29).unwrap();
        allowance.take_object(1 << 29).unwrap();
        allowance.take_object(1).unwrap_err();
    }

    #[test]
    fn time_ends_and_ends_sooner_for_whoever_does_not_want_it() {
        let late = Allowance::new(Duration::ZERO, None, 1);
        assert_eq!(late.go_on().unwrap_err().to_string(), "it takes too long");
        let cancel = Cancel::new();
        let allowance = Allowance::new(LONG, Some(&cancel), 1);
        allowance.go_on().unwrap();
        cancel.cancel();
        allowance.go_on().unwrap();
        assert!(allowance.until.get() <= Instant::now() + CANCELLED_TIME);
        allowance.until.set(Instant::now());
        assert_eq!(allowance.go_on().unwrap_err().to_string(), "it was cancelled");
    }
}
