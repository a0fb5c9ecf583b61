//! The process tree of a command on Linux, from `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::scratch::FileSizes;

/// The most that is read of a file in `/proc`, in bytes.
const MAX_TEXT: u64 = 64 << 10;
/// The most that is read of a list of children, in bytes.
const MAX_CHILDREN: u64 = 4 << 20;

/// The most that is read of a list of mappings, in bytes. A longer one counts as all memory there is.
const MAX_MAPS: u64 = 16 << 20;

/// The name of shared memory without a file.
const SHARED_MEMORY: &str = "/dev/zero (deleted)";

/// The kernel's flag of a process that is ending (`PF_EXITING`).
const EXITING: u32 = 0x4;

/// The memory that a socket counts, in bytes: more than its buffers by default.
const SOCKET_MEMORY: u64 = 256 << 10;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceUsage {
    /// Processes and their threads.
    pub(crate) processes: u64,
    /// Bytes of memory, swapped or not.
    pub(crate) memory: u64,
}

fn text(path: &str) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MAX_TEXT).read_to_string(&mut text).ok()?;
    Some(text)
}

fn threads(process: i32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the children of a process, or `None` if the kernel does not list them.
pub(crate) fn children(process: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in threads(process) {
        // A fork bomb has a long list.
        let mut text = String::new();
        let file = fs::File::open(format!("/proc/{process}/task/{thread}/children")).ok()?;
        file.take(MAX_CHILDREN).read_to_string(&mut text).ok()?;
        found.extend(text.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
    }
    Some(found)
}

/// Returns the descendants of `root`, parents first; the search stops once there are more than `enough`.
pub(crate) fn descendants(root: i32, enough: usize) -> Vec<i32> {
    if children(root).is_none() {
        return descendants_of_all(root);
    }
    let mut found = Vec::new();
    let mut known = HashSet::from([root]);
    let mut pending = vec![root];
    while let Some(process) = pending.pop() {
        for child in children(process).unwrap_or_default() {
            if known.insert(child) {
                found.push(child);
                pending.push(child);
            }
        }
        if found.len() > enough {
            break;
        }
    }
    found
}

/// Returns the descendants of `root` by reading every process, for kernels that do not list children.
fn descendants_of_all(root: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in all() {
        if let Some((parent, _)) = parent_and_session(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found: Vec<i32> = Vec::new();
    let mut pending = vec![root];
    while let Some(process) = pending.pop() {
        let own = children.remove(&process).unwrap_or_default();
        found.extend(&own);
        pending.extend(own);
    }
    found
}

fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent_and_session(process: i32) -> Option<(i32, i32)> {
    let text = text(&format!("/proc/{process}/stat"))?;
    // The process name may contain anything, so the fields are counted from the last parenthesis.
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    let parent = words.nth(1)?.parse().ok()?;
    let session = words.nth(1)?.parse().ok()?;
    Some((parent, session))
}

/// Returns the directory in `/proc` that shows the memory and the files of `process`, if it has any left:
/// that of a process whose first thread ended is the one of another thread.
fn living(process: i32) -> Option<String> {
    let own = format!("/proc/{process}");
    if is_alive(&own)? {
        return Some(own);
    }
    let mut of_threads = threads(process).into_iter().map(|thread| format!("{own}/task/{thread}"));
    of_threads.find(|directory| is_alive(directory) == Some(true))
}

/// Returns whether the process or thread at `directory` has not begun to end; `None` if it is gone.
fn is_alive(directory: &str) -> Option<bool> {
    has_not_begun_to_end(&text(&format!("{directory}/stat"))?)
}

/// Returns whether a process or thread has not begun to end, by the text of its `stat`. One that ends gives
/// its memory back, which takes long if it is much, and shows its open files to root alone meanwhile.
fn has_not_begun_to_end(stat: &str) -> Option<bool> {
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?;
    let flags: u32 = words.nth(5)?.parse().ok()?;
    Some(!["Z", "X"].contains(&state) && flags & EXITING == 0)
}

/// The largest size of each piece of shared memory, by device and inode.
pub(crate) type SharedSizes = HashMap<(u64, u64), u64>;

/// Returns the total resource usage of processes. Shared memory counts by its size, because what was written
/// to it stays also if no process has it in its page tables; by the largest one that is in `known`, as most
/// of it may be unmapped since. `known` then has the sizes of what is still mapped.
pub(crate) fn usage(processes: &[i32], known: &mut SharedSizes) -> ResourceUsage {
    let mut total = ResourceUsage::default();
    let (mut resident, mut shared) = (0, SharedSizes::new());
    for process in processes {
        let Some(directory) = living(*process) else {
            total.processes += 1;
            continue;
        };
        let Some(status) = text(&format!("{directory}/status")) else { continue };
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next())
                .and_then(|word| word.parse().ok())
                .unwrap_or(0)
        };
        total.processes += number("Threads:").max(1);
        total.memory += (number("RssAnon:") + number("VmSwap:") + number("VmPTE:")) * 1024;
        resident += number("RssShmem:") * 1024;
        match mappings(&directory) {
            Some(mappings) => count_shared(&mappings, &mut shared),
            None => total.memory = u64::MAX / 2,
        }
    }
    for (memory, size) in &mut shared {
        *size = known.get(memory).copied().unwrap_or(0).max(*size);
    }
    total.memory = total.memory.saturating_add(resident.max(shared.values().sum()));
    *known = shared;
    total
}

/// A mapping of a file that has no name any more, or of shared memory.
struct Mapping {
    device: u64,
    inode: u64,
    size: u64,
    is_shared_memory: bool,
}

/// Returns the mappings without a named file of the process at `directory`; `None` if there are too many.
fn mappings(directory: &str) -> Option<Vec<Mapping>> {
    let mut text = Vec::new();
    let Ok(file) = fs::File::open(format!("{directory}/maps")) else { return Some(Vec::new()) };
    // Fails if the process has ended.
    let _ = file.take(MAX_MAPS).read_to_end(&mut text);
    if text.len() as u64 >= MAX_MAPS {
        return None;
    }
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().filter(|line| line.ends_with(" (deleted)")).filter_map(mapping).collect())
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let size = u64::from_str_radix(end, 16).ok()?.saturating_sub(u64::from_str_radix(start, 16).ok()?);
    let device = words.nth(2).and_then(device_of)?;
    let inode = words.next()?.parse().ok()?;
    Some(Mapping { device, inode, size, is_shared_memory: line.ends_with(SHARED_MEMORY) })
}

/// Adds the largest mapped size of each piece of shared memory to `shared`.
fn count_shared(mappings: &[Mapping], shared: &mut SharedSizes) {
    let mut own = SharedSizes::new();
    for mapping in mappings.iter().filter(|mapping| mapping.is_shared_memory) {
        *own.entry((mapping.device, mapping.inode)).or_default() += mapping.size;
    }
    for (memory, size) in own {
        let largest = shared.entry(memory).or_default();
        *largest = size.max(*largest);
    }
}

/// Returns the size of a process's private data (`VmData`) in bytes, used or not.
pub(crate) fn reserved(process: i32) -> u64 {
    let status = text(&format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok());
    kilobytes.unwrap_or(0_u64) * 1024
}

/// Open files of processes that no directory shows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFiles {
    /// Bytes of deleted files.
    pub(crate) disk: u64,
    /// Bytes of memory that sockets may take.
    pub(crate) sockets: u64,
    /// `true` if a process does not show its open files.
    pub(crate) is_hidden: bool,
}

/// Returns the sockets of processes, and the deleted files on `device` that they hold open or mapped. `sizes`
/// has the files that are counted already, with their sizes; the others are added to it. A mapped file that
/// was never seen open counts as `largest`.
pub(crate) fn open_files(processes: &[i32], device: u64, sizes: &mut FileSizes, largest: u64) -> OpenFiles {
    let mut found = OpenFiles::default();
    let mut sockets = HashSet::new();
    let directories: Vec<String> = processes.iter().filter_map(|process| living(*process)).collect();
    for directory in &directories {
        let entries = match fs::read_dir(format!("{directory}/fd")) {
            Ok(entries) => entries,
            Err(error) => {
                // That of a process that has just ended belongs to root.
                let is_denied = error.kind() == std::io::ErrorKind::PermissionDenied;
                found.is_hidden |= is_denied && is_alive(directory) == Some(true);
                continue;
            }
        };
        for entry in entries.flatten() {
            let Ok(metadata) = fs::metadata(entry.path()) else { continue };
            let id = (metadata.dev(), metadata.ino());
            if metadata.file_type().is_socket() {
                sockets.insert(id);
            }
            // Named files count in the scratch directory; files written elsewhere by grant do not count.
            if metadata.is_file() && metadata.nlink() == 0 && metadata.dev() == device {
                found.disk += sizes.count(id, metadata.blocks() * 512, metadata.len());
            }
        }
    }
    let mut mapped: HashMap<(u64, u64), u64> = HashMap::new();
    for mapping in directories.iter().filter_map(|directory| mappings(directory)).flatten() {
        if mapping.device == device && !mapping.is_shared_memory {
            let size = mapped.entry((mapping.device, mapping.inode)).or_default();
            *size = mapping.size.max(*size);
        }
    }
    found.disk += mapped.into_iter().map(|(id, size)| sizes.count_mapped(id, size, largest)).sum::<u64>();
    found.sockets = sockets.len() as u64 * SOCKET_MEMORY;
    found
}

/// Parses a device number of the form `MAJOR:MINOR`, in hexadecimal.
fn device_of(word: &str) -> Option<u64> {
    let (major, minor) = word.split_once(':')?;
    let number = |word| u32::from_str_radix(word, 16).ok();
    Some(rustix::fs::makedev(number(major)?, number(minor)?))
}

/// Kills the command's process group and all processes in the session of a launcher that was killed.
pub(crate) fn kill_session(launcher: u32, process: Option<i32>) {
    if let Some(group) = process.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let Ok(launcher) = i32::try_from(launcher) else { return };
    for process in all() {
        if parent_and_session(process).is_some_and(|(_, session)| session == launcher)
            && let Some(process) = Pid::from_raw(process)
        {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "processes to be found")]
    fn finds_and_measures_descendants() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 30 & wait"]).spawn().unwrap();
        let id = child.id() as i32;
        let own = std::process::id() as i32;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while descendants(id, 9).is_empty() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let inner = descendants(id, 9);
        assert_eq!(inner.len(), 1);
        // The kernel's list may miss children while siblings exit, such as those of other tests.
        let are_found = || {
            let found = descendants(own, usize::MAX);
            found.contains(&id) && found.contains(&inner[0])
        };
        while !are_found() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert!(descendants_of_all(own).contains(&inner[0]));
        let used = usage(&[id, inner[0]], &mut SharedSizes::new());
        assert_eq!(used.processes, 2);
        assert!(used.memory > 0);
        for process in [inner[0], id] {
            kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_gives_its_memory_back_has_begun_to_end() {
        let check =
            |stat: &str, expect: Option<bool>| assert_eq!(has_not_begun_to_end(stat), expect, "{stat}");
        check("7 (a) Z) R 1 7 7 0 -1 4194560 0 0", Some(true));
        check("7 (a) Z) R 1 7 7 0 -1 4194564 0 0", Some(false));
        check("7 (a) Z 1 7 7 0 -1 4194560 0 0", Some(false));
        check("7 (a", None);
        assert_eq!(is_alive("/proc/self"), Some(true));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a process that ends")]
    fn a_process_that_ended_hides_nothing() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = child.id() as i32;
        while living(id).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(open_files(&[id], 0, &mut FileSizes::default(), 0), OpenFiles::default());
        assert_eq!(usage(&[id], &mut SharedSizes::new()), ResourceUsage { processes: 1, memory: 0 });
        child.wait().unwrap();
    }
}
