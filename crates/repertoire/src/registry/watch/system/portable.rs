//! Events by way of the crate `notify`, for systems other than Linux; its tests run there too.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, CreateKind, MetadataKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::super::notice::{EntryKind, Happening, Notice, WatchId};
use super::refusal::Refusal;

/// The most messages that wait to be heard. What comes then is lost, as with the system's own queues, so that everything is looked at.
const QUEUE: usize = 4_096;
/// How long a wait is where none is given.
const LONG: Duration = Duration::from_secs(3_600);

/// What comes to whoever waits.
enum Message {
    Rung,
    Happened(Event),
    Lost,
}

/// Events of the file system.
pub(in super::super) struct Events {
    watcher: Option<RecommendedWatcher>,
    messages: Receiver<Message>,
    /// Whether there was no room for a message.
    is_full: Arc<AtomicBool>,
    numbers: HashMap<PathBuf, WatchId>,
    directories: HashMap<WatchId, PathBuf>,
    last: WatchId,
}

/// Wakes whoever waits for events.
#[derive(Debug, Clone)]
pub(in super::super) struct Doorbell(SyncSender<Message>);

impl Doorbell {
    /// Wakes whoever waits.
    pub(in super::super) fn ring(&self) {
        // Where there is no room for it there is enough to wake for.
        let _ = self.0.try_send(Message::Rung);
    }
}

impl Events {
    /// Returns a source of events with nothing to watch yet, or of none at all where the system refuses.
    pub(in super::super) fn new() -> io::Result<(Self, Doorbell, Option<Refusal>)> {
        Self::queued(QUEUE)
    }

    /// Returns a source of events of which at most `queue` wait.
    fn queued(queue: usize) -> io::Result<(Self, Doorbell, Option<Refusal>)> {
        let (mut events, bell) = Self::silent(queue);
        let (sender, is_full) = (bell.0.clone(), Arc::clone(&events.is_full));
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let message = match event {
                Ok(event) if event.need_rescan() => Message::Lost,
                Ok(event) if happening(&event.kind).is_some() => Message::Happened(event),
                Ok(_) => return,
                Err(_) => Message::Lost,
            };
            if let Err(TrySendError::Full(_)) = sender.try_send(message) {
                is_full.store(true, Ordering::SeqCst);
                // There may be room by now; if not, what waits is still to be heard, and then this is seen too.
                let _ = sender.try_send(Message::Rung);
            }
        });
        match watcher {
            Ok(watcher) => {
                events.watcher = Some(watcher);
                Ok((events, bell, None))
            }
            Err(error) => Ok((events, bell, Some(Refusal::Full(error.to_string())))),
        }
    }

    /// Returns a source of no events, to wait with.
    #[cfg_attr(target_os = "linux", allow(dead_code, reason = "only its tests run there"))]
    pub(in super::super) fn none() -> io::Result<(Self, Doorbell)> {
        Ok(Self::silent(1))
    }

    fn silent(queue: usize) -> (Self, Doorbell) {
        let (sender, messages) = mpsc::sync_channel(queue);
        let (numbers, directories, is_full) = (HashMap::new(), HashMap::new(), Arc::default());
        (Self { watcher: None, messages, is_full, numbers, directories, last: 0 }, Doorbell(sender))
    }

    /// Watches `directory`; the same directory has the same number.
    pub(in super::super) fn add(&mut self, directory: &Path) -> Result<WatchId, Refusal> {
        let Some(watcher) = &mut self.watcher else {
            return Err(Refusal::Full("there are no events".to_owned()));
        };
        if let Some(number) = self.numbers.get(directory) {
            return Ok(*number);
        }
        watcher.watch(directory, RecursiveMode::NonRecursive).map_err(|error| match error.kind {
            notify::ErrorKind::PathNotFound => Refusal::Absent,
            notify::ErrorKind::Io(error) => Refusal::of(&error),
            kind => Refusal::Full(notify::Error::new(kind).to_string()),
        })?;
        self.last += 1;
        self.numbers.insert(directory.to_owned(), self.last);
        self.directories.insert(self.last, directory.to_owned());
        Ok(self.last)
    }

    /// Watches no longer.
    pub(in super::super) fn remove(&mut self, watch: WatchId) {
        if let Some(directory) = self.directories.remove(&watch) {
            self.numbers.remove(&directory);
            if let Some(watcher) = &mut self.watcher {
                // It may have ended by itself.
                let _ = watcher.unwatch(&directory);
            }
        }
    }

    /// Does not wait: what is heard here is already sorted.
    #[cfg_attr(target_os = "linux", allow(dead_code, reason = "only its tests run there"))]
    pub(in super::super) fn rest(&self, _duration: Duration) {}

    /// Waits until something happens, the bell rings or `timeout` has passed, and tells of what happened, of `None` where
    /// something was lost. Returns whether all there was is told.
    pub(in super::super) fn wait(
        &mut self,
        timeout: Option<Duration>,
        mut tell: impl FnMut(Option<Notice<'_>>),
    ) -> bool {
        let deadline = Instant::now() + timeout.unwrap_or(LONG);
        let mut next = loop {
            match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(message) => break Some(message),
                Err(RecvTimeoutError::Timeout) if timeout.is_none() => {}
                Err(_) => return true,
            }
        };
        while let Some(message) = next {
            match message {
                Message::Rung => {}
                Message::Lost => tell(None),
                Message::Happened(event) => self.pass_on(&event, &mut tell),
            }
            next = self.messages.try_recv().ok();
        }
        if self.is_full.swap(false, Ordering::SeqCst) {
            tell(None);
        }
        true
    }

    fn pass_on(&mut self, event: &Event, tell: &mut impl FnMut(Option<Notice<'_>>)) {
        let Some(happening) = happening(&event.kind) else { return };
        for path in &event.paths {
            let parent = path.parent().and_then(|parent| self.numbers.get(parent));
            if let (Some(watch), Some(name)) = (parent, path.file_name()) {
                let kind = kind(&event.kind, path);
                tell(Some(Notice { watch: *watch, happening, name: Some(name), kind }));
            }
            let Some(watch) = self.numbers.get(path).copied() else { continue };
            let happening = match happening {
                Happening::Vanished => Happening::Ended,
                Happening::Appeared if matches!(event.kind, EventKind::Modify(ModifyKind::Name(_))) => {
                    Happening::Moved
                }
                _ => Happening::Touched,
            };
            if happening == Happening::Ended {
                self.remove(watch);
            }
            tell(Some(Notice { watch, happening, name: None, kind: EntryKind::Directory }));
        }
    }
}

fn happening(kind: &EventKind) -> Option<Happening> {
    match kind {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) => Some(Happening::Appeared),
        EventKind::Remove(_) => Some(Happening::Vanished),
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Happening::Written),
        EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) | EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Happening::Touched),
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => Some(Happening::Written),
    }
}

fn kind(event: &EventKind, path: &Path) -> EntryKind {
    let is_directory = match event {
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => true,
        EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File) => false,
        // What is gone can only be guessed at: files have an ending, directories of skills have none.
        _ => {
            path.symlink_metadata().map_or_else(|_| path.extension().is_none(), |metadata| metadata.is_dir())
        }
    };
    if is_directory { EntryKind::Directory } else { EntryKind::Other }
}

/// Returns how many directories may be watched at most, where `asked` are wanted.
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "only its tests run there"))]
pub(in super::super) fn budget(asked: usize) -> usize {
    asked
}

/// Returns the kind of file system that `directory` lies in, where its changes may be made elsewhere and nobody tells.
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "only its tests run there"))]
pub(in super::super) fn remote(_directory: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests change what is watched")]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_told_to_be_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let (mut events, bell, _) = Events::queued(1).unwrap();
        events.add(&path).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut is_lost = false;
        while !is_lost {
            assert!(Instant::now() < deadline);
            for number in 0..100 {
                std::fs::write(path.join(number.to_string()), "x").unwrap();
                // A bell that finds no room keeps nobody waiting.
                bell.ring();
            }
            events.wait(Some(Duration::from_millis(50)), |notice| is_lost |= notice.is_none());
        }
        // It goes on all the same.
        let mut is_heard = false;
        while !is_heard {
            assert!(Instant::now() < deadline);
            std::fs::write(path.join("more"), "x").unwrap();
            events.wait(Some(Duration::from_millis(50)), |notice| {
                is_heard |= notice.is_some_and(|notice| notice.name.is_some_and(|name| name == "more"));
            });
        }
    }
}
