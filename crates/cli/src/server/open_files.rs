//! The limit of open files: each connection is one, and the default limit is low.

/// The number of open files of a server beside its connections, with a reserve.
#[cfg(unix)]
const OTHERS: u64 = 512;

/// Asks the system for as many open files as `connections` take, or as many as it gives.
#[cfg(unix)]
pub(super) fn make_room(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = OTHERS + connections as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let given = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if current.is_some_and(|current| current < given) {
        // If it is refused, connections beyond the limit wait.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(given), maximum });
    }
}

/// Elsewhere there is room.
#[cfg(not(unix))]
pub(super) fn make_room(_: usize) {}
