//! inotify, asked for nothing but what may change a skill.
//!
//! Two descriptors are held: one for all watches, and one to wake the thread that waits.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::super::notice::{EntryKind, Happening, Notice, WatchId};
use super::refusal::Refusal;

/// What is asked for. Opening and reading are not among it.
const ASKED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

/// How much is read at once.
const BUFFER: usize = 16 * 1024;
/// The most notices that are told of at once, so that whoever rings is heard.
const MAX_AT_ONCE: usize = 32_768;

/// File systems whose changes may be made elsewhere, where nothing tells of them.
const REMOTE: [(u32, &str); 8] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
];

/// Events of the file system.
#[derive(Debug)]
pub(in super::super) struct Events {
    inotify: Option<OwnedFd>,
    bell: Arc<OwnedFd>,
}

/// Wakes whoever waits for events.
#[derive(Debug, Clone)]
pub(in super::super) struct Doorbell(Arc<OwnedFd>);

impl Doorbell {
    /// Wakes whoever waits.
    pub(in super::super) fn ring(&self) {
        // A bell that cannot be rung any more has been rung often enough.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl Events {
    /// Returns a source of events with nothing to watch yet, or of none at all where the system refuses.
    pub(in super::super) fn new() -> io::Result<(Self, Doorbell, Option<Refusal>)> {
        let (mut events, bell) = Self::none()?;
        match inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) {
            Ok(inotify) => {
                events.inotify = Some(inotify);
                Ok((events, bell, None))
            }
            Err(errno) => Ok((events, bell, Some(Refusal::Full(errno.to_string())))),
        }
    }

    /// Returns a source of no events, to wait with.
    pub(in super::super) fn none() -> io::Result<(Self, Doorbell)> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok((Self { inotify: None, bell: Arc::clone(&bell) }, Doorbell(bell)))
    }

    /// Watches `directory`; the same directory has the same number, whatever the way to it.
    pub(in super::super) fn add(&mut self, directory: &Path) -> Result<WatchId, Refusal> {
        let Some(inotify) = &self.inotify else {
            return Err(Refusal::Full("there are no events".to_owned()));
        };
        inotify::add_watch(inotify, directory, ASKED).map_err(|errno| match errno {
            Errno::NOSPC => Refusal::Full("fs.inotify.max_user_watches is reached".to_owned()),
            Errno::NOMEM | Errno::MFILE | Errno::NFILE => Refusal::Full(errno.to_string()),
            _ => Refusal::Absent,
        })
    }

    /// Watches no longer.
    pub(in super::super) fn remove(&mut self, watch: WatchId) {
        if let Some(inotify) = &self.inotify {
            // It may have ended by itself.
            let _ = inotify::remove_watch(inotify, watch);
        }
    }

    /// Waits for `duration`, or until the bell rings, whatever happens.
    pub(in super::super) fn rest(&self, duration: Duration) {
        let _ = poll(&mut [PollFd::new(&self.bell, PollFlags::IN)], Some(&timespec(duration)));
    }

    /// Waits until something happens, the bell rings or `timeout` has passed, and tells of what happened, of `None` where
    /// something was lost. Returns whether all there was is told.
    pub(in super::super) fn wait(
        &mut self,
        timeout: Option<Duration>,
        mut tell: impl FnMut(Option<Notice<'_>>),
    ) -> bool {
        let timeout = timeout.map(timespec);
        let mut polled = vec![PollFd::new(&self.bell, PollFlags::IN)];
        polled.extend(self.inotify.as_ref().map(|inotify| PollFd::new(inotify, PollFlags::IN)));
        // A signal ends the wait early, which does no harm.
        let _ = poll(&mut polled, timeout.as_ref());
        let mut rung = [0; 8];
        let _ = rustix::io::read(&self.bell, &mut rung);
        let Some(inotify) = &self.inotify else { return true };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut told = 0;
        while told < MAX_AT_ONCE || !reader.is_buffer_empty() {
            let Ok(event) = reader.next() else { return true };
            told += 1;
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                tell(None);
            } else if let Some(happening) = happening(event.events()) {
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                let is_directory = event.events().contains(ReadFlags::ISDIR);
                let kind = if is_directory { EntryKind::Directory } else { EntryKind::Other };
                tell(Some(Notice { watch: event.wd(), happening, name, kind }));
            }
        }
        false
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: duration.subsec_nanos().into() }
}

fn happening(events: ReadFlags) -> Option<Happening> {
    const MEANINGS: [(ReadFlags, Happening); 8] = [
        (ReadFlags::CREATE.union(ReadFlags::MOVED_TO), Happening::Appeared),
        (ReadFlags::DELETE.union(ReadFlags::MOVED_FROM), Happening::Vanished),
        (ReadFlags::CLOSE_WRITE, Happening::Written),
        (ReadFlags::MODIFY, Happening::Modified),
        (ReadFlags::ATTRIB, Happening::Touched),
        (ReadFlags::MOVE_SELF, Happening::Moved),
        (ReadFlags::IGNORED, Happening::Ended),
        (ReadFlags::UNMOUNT, Happening::Touched),
    ];
    MEANINGS.iter().find(|(flags, _)| events.intersects(*flags)).map(|(_, happening)| *happening)
}

/// Returns how many directories may be watched at most, where `asked` are wanted: no more than half of what the system
/// gives to all programs of a user together.
#[allow(clippy::disallowed_methods, reason = "it is a file of the system, not of a skill")]
pub(in super::super) fn budget(asked: usize) -> usize {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    let limit = limit.ok().and_then(|limit| limit.trim().parse::<usize>().ok());
    limit.map_or(asked, |limit| asked.min(limit / 2))
}

/// Returns the kind of file system that `directory` lies in, where its changes may be made elsewhere and nobody tells.
pub(in super::super) fn remote(directory: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(directory).ok()?.f_type;
    // The numbers have 32 bits; the field has as many as the machine likes.
    let magic = magic as u32;
    REMOTE.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}
