//! The seccomp filter that every command of a skill runs under on Linux.
//!
//! It refuses system calls that attackers need and tools do not: access to other processes, namespaces and
//! mounts, kernel interfaces with a history of vulnerabilities, and sockets. The BPF program is assembled
//! here, not by seccompiler: it returns several errors and must refuse the x32 numbers of x86-64.

mod calls;

use std::collections::BTreeMap;

use seccompiler::sock_filter;

use self::calls::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterOptions {
    /// `true` if internet sockets are allowed.
    pub(crate) network: bool,
    /// `true` if the command runs in namespaces, which confine files and processes.
    pub(crate) has_namespaces: bool,
    /// `true` if signals out of the sandbox are refused already, by Landlock or a PID namespace.
    pub(crate) has_signal_scope: bool,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER: u16 = 0x25;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const NOT_PERMITTED: u32 = ERRNO | libc::EPERM as u32;
const NOT_IMPLEMENTED: u32 = ERRNO | libc::ENOSYS as u32;
const NOT_SUPPORTED: u32 = ERRNO | libc::ENOTSUP as u32;
const SUCCESS_WITHOUT_EFFECT: u32 = ERRNO;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The highest system call number that this filter knows; higher ones return `ENOSYS`.
const LAST_CALL: u32 = 462;

/// The bit that marks system calls of the x32 ABI.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// The verdict on a system call.
#[derive(Debug, Clone)]
enum CallVerdict {
    /// Verdict on `ioctl`: refuses these requests and those of Btrfs, except [`CLONE_IOCTLS`].
    Ioctl { refused: Vec<u32> },
    /// Always returns this value.
    Always(u32),
    /// Refuses unless the masked argument is one of these values.
    Unless { argument: u32, mask: u32, values: Vec<u32> },
    /// Refuses if the argument is one of these values.
    When { argument: u32, values: Vec<u32> },
    /// Pretends success if the first argument has this value and the second is one of these; allows others.
    PretendPair { first: (u32, u32), second: (u32, Vec<u32>) },
    /// Refuses if the argument has one of these bits.
    WithBits { argument: u32, bits: u32 },
    /// Refuses a call that creates a file, by its flags, with a mode that has one of [`SET_ID_BITS`].
    Creation { flags: u32, mode: u32 },
    /// Refuses unless the pair of arguments, the second masked, is one of these; `None` matches any second.
    UnlessPair { first: u32, second: u32, mask: u32, values: Vec<(u32, Option<u32>)> },
}

fn verdicts(options: FilterOptions) -> BTreeMap<i64, CallVerdict> {
    let mut verdicts = BTreeMap::new();
    let mut always = |calls: &[i64], verdict| {
        verdicts.extend(calls.iter().map(|call| (*call, CallVerdict::Always(verdict))));
    };
    always(REFUSED_CALLS, NOT_PERMITTED);
    always(REFUSED_CALLS_OF_ARCHITECTURE, NOT_PERMITTED);
    always(HIDDEN_CALLS, NOT_IMPLEMENTED);
    if !options.has_namespaces {
        always(METADATA_CALLS, SUCCESS_WITHOUT_EFFECT);
        always(METADATA_CALLS_OF_ARCHITECTURE, SUCCESS_WITHOUT_EFFECT);
        always(XATTR_CALLS, NOT_SUPPORTED);
        // A handle of any process tells its parent, user and end. Programs fall back to waiting for children.
        always(&[libc::SYS_pidfd_open], NOT_IMPLEMENTED);
        always(INOTIFY_CALLS, NOT_PERMITTED);
        always(INOTIFY_CALLS_OF_ARCHITECTURE, NOT_PERMITTED);
    }
    if !options.network {
        let calls = [
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_accept,
            libc::SYS_accept4,
            // Only these send open files to other processes. Files on their way count towards no limit.
            libc::SYS_sendmsg,
            libc::SYS_sendmmsg,
        ];
        always(&calls, NOT_PERMITTED);
    }
    if !options.has_signal_scope {
        let calls = [
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
            libc::SYS_pidfd_send_signal,
        ];
        always(&calls, NOT_PERMITTED);
        verdicts.insert(libc::SYS_kill, zero_only());
    }
    if options.network {
        // Of netlink only NETLINK_ROUTE, with which programs list network addresses; commands lack privileges
        // to change them. Unix sockets are not the network: the sockets of some services control the machine.
        let values = vec![
            (libc::AF_INET as u32, None),
            (libc::AF_INET6 as u32, None),
            (libc::AF_NETLINK as u32, Some(0)),
        ];
        verdicts.insert(
            libc::SYS_socket,
            CallVerdict::UnlessPair { first: 0, second: 2, mask: u32::MAX, values },
        );
    }
    // Stream pairs stay connected to each other; a datagram socket could send to other addresses.
    let values = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let values = values.iter().map(|kind| (libc::AF_UNIX as u32, Some(*kind as u32))).collect();
    verdicts.insert(
        libc::SYS_socketpair,
        CallVerdict::UnlessPair { first: 0, second: 1, mask: SOCKET_TYPE_MASK, values },
    );
    let buffers = CallVerdict::PretendPair {
        first: (1, libc::SOL_SOCKET as u32),
        second: (2, BUFFER_OPTIONS.to_vec()),
    };
    verdicts.insert(libc::SYS_setsockopt, buffers);
    let no_namespaces = CallVerdict::Unless { argument: 0, mask: NAMESPACE_FLAGS, values: vec![0] };
    verdicts.insert(libc::SYS_clone, no_namespaces);
    let mut controls = REFUSED_FCNTLS.to_vec();
    let mut requests = REFUSED_IOCTLS.to_vec();
    if !options.has_signal_scope {
        controls.extend(SIGNAL_FCNTLS);
        requests.extend(SIGNAL_IOCTLS);
    }
    verdicts.insert(libc::SYS_ioctl, CallVerdict::Ioctl { refused: requests });
    verdicts.insert(libc::SYS_fcntl, CallVerdict::When { argument: 1, values: controls });
    let known = CallVerdict::Unless { argument: 0, mask: u32::MAX, values: PERSONALITIES.to_vec() };
    verdicts.insert(libc::SYS_personality, known);
    verdicts.insert(libc::SYS_setrlimit, CallVerdict::When { argument: 0, values: vec![RUN_TAG] });
    let pair = |values| CallVerdict::UnlessPair { first: 0, second: 1, mask: u32::MAX, values };
    verdicts.insert(libc::SYS_prlimit64, pair((0..RUN_TAG).map(|limit| (0, Some(limit))).collect()));
    for (call, kind) in PRIORITY_CALLS {
        verdicts.insert(*call, pair(vec![(*kind, Some(0))]));
    }
    verdicts.extend(SCHEDULING_CALLS.iter().map(|call| (*call, zero_only())));
    // Without namespaces the calls in `MODE_CALLS` have no effect.
    let modes = MODE_CALLS.iter().chain(MODE_CALLS_OF_ARCHITECTURE).filter(|_| options.has_namespaces);
    for (call, argument) in modes.chain(CREATION_CALLS).chain(CREATION_CALLS_OF_ARCHITECTURE) {
        verdicts.insert(*call, CallVerdict::WithBits { argument: *argument, bits: SET_ID_BITS });
    }
    verdicts.insert(libc::SYS_openat, CallVerdict::Creation { flags: 2, mode: 3 });
    #[cfg(target_arch = "x86_64")]
    verdicts.insert(libc::SYS_open, CallVerdict::Creation { flags: 1, mode: 2 });
    verdicts
}

/// Returns the verdict on calls whose first argument is a process ID: only zero is allowed.
fn zero_only() -> CallVerdict {
    CallVerdict::Unless { argument: 0, mask: u32::MAX, values: vec![0] }
}

pub(crate) fn program(options: FilterOptions) -> Vec<sock_filter> {
    let mut program = vec![
        statement(LOAD, 4),
        jump(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        statement(RETURN, KILL_PROCESS),
        statement(LOAD, 0),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(JUMP_GREATER_OR_EQUAL, X32_BIT, 0, 1), statement(RETURN, NOT_IMPLEMENTED)]);
    program.extend([jump(JUMP_GREATER, LAST_CALL, 0, 1), statement(RETURN, NOT_IMPLEMENTED)]);
    for (call, verdict) in verdicts(options) {
        let block = block(&verdict);
        program.push(jump(JUMP_EQUAL, call as u32, 0, block.len() as u8));
        program.extend(block);
    }
    program.push(statement(RETURN, ALLOW));
    program
}

/// Returns the filter as bytes, as bubblewrap reads it.
pub(crate) fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let one = |instruction: &sock_filter| {
        let [c0, c1] = instruction.code.to_ne_bytes();
        let [k0, k1, k2, k3] = instruction.k.to_ne_bytes();
        [c0, c1, instruction.jt, instruction.jf, k0, k1, k2, k3]
    };
    program.iter().flat_map(one).collect()
}

/// Returns the instructions for one call. They always end with a return, because they overwrite the register
/// that held the call number.
fn block(verdict: &CallVerdict) -> Vec<sock_filter> {
    match verdict {
        CallVerdict::Always(verdict) => vec![statement(RETURN, *verdict)],
        CallVerdict::Unless { argument, mask, values } => {
            choice(*argument, *mask, values, ALLOW, NOT_PERMITTED)
        }
        CallVerdict::When { argument, values } => choice(*argument, u32::MAX, values, NOT_PERMITTED, ALLOW),
        CallVerdict::PretendPair { first: (argument, value), second: (other, values) } => {
            let mut block = vec![load(*argument), jump(JUMP_EQUAL, *value, 1, 0), statement(RETURN, ALLOW)];
            block.extend(choice(*other, u32::MAX, values, SUCCESS_WITHOUT_EFFECT, ALLOW));
            block
        }
        CallVerdict::Ioctl { refused } => {
            let mut block = vec![load(1)];
            for request in CLONE_IOCTLS {
                block.extend([jump(JUMP_EQUAL, *request, 0, 1), statement(RETURN, ALLOW)]);
            }
            for request in refused {
                block.extend([jump(JUMP_EQUAL, *request, 0, 1), statement(RETURN, NOT_PERMITTED)]);
            }
            block.extend(choice(1, IOCTL_TYPE_MASK, &[BTRFS_IOCTL_TYPE], NOT_PERMITTED, ALLOW));
            block
        }
        CallVerdict::WithBits { argument, bits } => vec![
            load(*argument),
            jump(JUMP_ANY_BIT, *bits, 0, 1),
            statement(RETURN, NOT_PERMITTED),
            statement(RETURN, ALLOW),
        ],
        // The mode of a call that creates nothing is any number.
        CallVerdict::Creation { flags, mode } => vec![
            load(*flags),
            jump(JUMP_ANY_BIT, CREATION_FLAGS, 0, 3),
            load(*mode),
            jump(JUMP_ANY_BIT, SET_ID_BITS, 0, 1),
            statement(RETURN, NOT_PERMITTED),
            statement(RETURN, ALLOW),
        ],
        CallVerdict::UnlessPair { first, second, mask, values } => {
            let mut block = Vec::new();
            for (one, other) in values {
                block.extend([load(*first)]);
                match other {
                    None => block.extend([jump(JUMP_EQUAL, *one, 0, 1), statement(RETURN, ALLOW)]),
                    Some(other) => block.extend([
                        jump(JUMP_EQUAL, *one, 0, 4),
                        load(*second),
                        statement(AND, *mask),
                        jump(JUMP_EQUAL, *other, 0, 1),
                        statement(RETURN, ALLOW),
                    ]),
                }
            }
            block.push(statement(RETURN, NOT_PERMITTED));
            block
        }
    }
}

fn choice(argument: u32, mask: u32, values: &[u32], then: u32, otherwise: u32) -> Vec<sock_filter> {
    let mut block = vec![load(argument), statement(AND, mask)];
    for value in values {
        block.extend([jump(JUMP_EQUAL, *value, 0, 1), statement(RETURN, then)]);
    }
    block.push(statement(RETURN, otherwise));
    block
}

/// Loads the lower 32 bits of an argument; all arguments that are checked are 32 bits wide.
fn load(argument: u32) -> sock_filter {
    statement(LOAD, 16 + 8 * argument)
}

fn statement(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets a filter as the kernel would, and returns its verdict.
    fn verdict_of(options: FilterOptions, architecture: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let program = program(options);
        let word = |offset: u32| match offset {
            0 => call,
            4 => architecture,
            _ => arguments[(offset as usize - 16) / 8],
        };
        let (mut at, mut a) = (0, 0_u32);
        loop {
            let instruction = &program[at];
            at += 1;
            let jumped = |is_true: bool| usize::from(if is_true { instruction.jt } else { instruction.jf });
            match instruction.code {
                LOAD => a = word(instruction.k),
                AND => a &= instruction.k,
                JUMP_EQUAL => at += jumped(a == instruction.k),
                JUMP_GREATER => at += jumped(a > instruction.k),
                JUMP_GREATER_OR_EQUAL => at += jumped(a >= instruction.k),
                JUMP_ANY_BIT => at += jumped(a & instruction.k != 0),
                RETURN => return instruction.k,
                code => panic!("{code:#x}"),
            }
        }
    }

    const WITH_NAMESPACES: FilterOptions =
        FilterOptions { network: false, has_namespaces: true, has_signal_scope: true };
    const WITHOUT_NAMESPACES: FilterOptions =
        FilterOptions { network: false, has_namespaces: false, has_signal_scope: true };

    #[track_caller]
    fn check(options: FilterOptions, call: i64, arguments: &[u32], expect: u32) {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        assert_eq!(verdict_of(options, ARCHITECTURE, call as u32, all), expect, "{call} {arguments:x?}");
    }

    #[test]
    fn other_architectures_and_unknown_call_numbers_are_refused() {
        assert_eq!(verdict_of(WITH_NAMESPACES, 0x4000_0003, 1, [0; 6]), KILL_PROCESS);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            verdict_of(WITH_NAMESPACES, ARCHITECTURE, X32_BIT | libc::SYS_getpid as u32, [0; 6]),
            NOT_IMPLEMENTED
        );
        assert_eq!(verdict_of(WITH_NAMESPACES, ARCHITECTURE, LAST_CALL + 1, [0; 6]), NOT_IMPLEMENTED);
    }

    #[test]
    fn ordinary_calls_are_allowed() {
        for call in
            [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_futex, libc::SYS_exit_group]
        {
            check(WITHOUT_NAMESPACES, call, &[], ALLOW);
        }
        check(WITHOUT_NAMESPACES, libc::SYS_clone, &[libc::SIGCHLD as u32], ALLOW);
        check(WITHOUT_NAMESPACES, libc::SYS_ioctl, &[0, 0x5401], ALLOW);
        check(WITHOUT_NAMESPACES, libc::SYS_prlimit64, &[0, 7], ALLOW);
    }

    #[test]
    fn without_namespaces_inotify_is_refused() {
        for call in INOTIFY_CALLS.iter().chain(INOTIFY_CALLS_OF_ARCHITECTURE) {
            check(WITHOUT_NAMESPACES, *call, &[], NOT_PERMITTED);
            check(WITH_NAMESPACES, *call, &[], ALLOW);
        }
    }

    #[test]
    fn sockets_need_the_network_grant() {
        let network = FilterOptions { network: true, ..WITH_NAMESPACES };
        for family in 0..46 {
            check(WITH_NAMESPACES, libc::SYS_socket, &[family, 1, 0], NOT_PERMITTED);
            let is_internet = family == 2 || family == 10 || family == 16;
            check(
                network,
                libc::SYS_socket,
                &[family, 1, 0],
                if is_internet { ALLOW } else { NOT_PERMITTED },
            );
        }
        check(network, libc::SYS_socket, &[16, 3, 15], NOT_PERMITTED);
        check(network, libc::SYS_socket, &[2, 2, 17], ALLOW);
        check(WITH_NAMESPACES, libc::SYS_socketpair, &[1, 0o2_000_001], ALLOW);
        check(WITH_NAMESPACES, libc::SYS_socketpair, &[1, 5], ALLOW);
        check(WITH_NAMESPACES, libc::SYS_socketpair, &[1, 2], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_socketpair, &[16, 1], NOT_PERMITTED);
    }

    #[test]
    fn buffers_of_sockets_keep_their_size_and_files_are_not_sent() {
        let network = FilterOptions { network: true, ..WITH_NAMESPACES };
        for options in [WITH_NAMESPACES, WITHOUT_NAMESPACES, network] {
            for option in BUFFER_OPTIONS {
                check(options, libc::SYS_setsockopt, &[0, 1, *option], SUCCESS_WITHOUT_EFFECT);
            }
            check(options, libc::SYS_setsockopt, &[0, 1, 2], ALLOW);
            check(options, libc::SYS_setsockopt, &[0, 6, 7], ALLOW);
        }
        check(WITH_NAMESPACES, libc::SYS_sendmsg, &[], NOT_PERMITTED);
        check(network, libc::SYS_sendmsg, &[], ALLOW);
    }

    #[test]
    fn namespaces_other_processes_and_terminals_are_refused() {
        for flag in
            [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]
        {
            check(WITH_NAMESPACES, libc::SYS_clone, &[flag | libc::SIGCHLD as u32], NOT_PERMITTED);
        }
        check(WITH_NAMESPACES, libc::SYS_clone3, &[], NOT_IMPLEMENTED);
        check(WITH_NAMESPACES, libc::SYS_ioctl, &[0, 0x5412], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_prlimit64, &[1, 7], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_setpriority, &[0, 1, 19], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_setpriority, &[2, 0, 19], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_setpriority, &[1, 0, 19], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_setpriority, &[0, 0, 19], ALLOW);
        check(WITH_NAMESPACES, libc::SYS_ioprio_set, &[3, 0, 0], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_ioprio_set, &[1, 0, 0], ALLOW);
        check(WITH_NAMESPACES, libc::SYS_prlimit64, &[0, RUN_TAG], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_setrlimit, &[RUN_TAG], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_setrlimit, &[7], ALLOW);
    }

    #[test]
    fn btrfs_ioctls_are_refused_except_clones() {
        check(WITH_NAMESPACES, libc::SYS_ioctl, &[0, 0x5000_9401], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_ioctl, &[0, 0x4004_9409], ALLOW);
        check(WITH_NAMESPACES, libc::SYS_ioctl, &[0, 0x4020_940d], ALLOW);
    }

    #[test]
    fn without_namespaces_modes_and_owners_do_not_change() {
        check(WITHOUT_NAMESPACES, libc::SYS_fchmodat, &[], SUCCESS_WITHOUT_EFFECT);
        check(WITH_NAMESPACES, libc::SYS_fchmodat, &[], ALLOW);
        check(WITHOUT_NAMESPACES, libc::SYS_setxattr, &[], NOT_SUPPORTED);
        check(WITHOUT_NAMESPACES, libc::SYS_lgetxattr, &[], NOT_SUPPORTED);
        check(WITHOUT_NAMESPACES, libc::SYS_pidfd_open, &[], NOT_IMPLEMENTED);
        check(WITH_NAMESPACES, libc::SYS_pidfd_open, &[], ALLOW);
    }

    #[test]
    fn set_id_bits_are_refused() {
        let (create, temporary) = (libc::O_CREAT as u32, libc::O_TMPFILE as u32);
        for options in [WITH_NAMESPACES, WITHOUT_NAMESPACES] {
            check(options, libc::SYS_openat, &[0, 0, create, 0o4755], NOT_PERMITTED);
            check(options, libc::SYS_openat, &[0, 0, create, 0o2755], NOT_PERMITTED);
            check(options, libc::SYS_openat, &[0, 0, temporary | 1, 0o6755], NOT_PERMITTED);
            check(options, libc::SYS_openat, &[0, 0, create, 0o1755], ALLOW);
            // Without a flag that creates a file, the mode is not one.
            check(options, libc::SYS_openat, &[0, 0, libc::O_DIRECTORY as u32, u32::MAX], ALLOW);
            check(options, libc::SYS_openat2, &[], NOT_IMPLEMENTED);
            check(options, libc::SYS_mkdirat, &[0, 0, 0o2755], NOT_PERMITTED);
            check(options, libc::SYS_mknodat, &[0, 0, 0o104_755], NOT_PERMITTED);
            check(options, libc::SYS_mknodat, &[0, 0, 0o100_755], ALLOW);
        }
        check(WITH_NAMESPACES, libc::SYS_fchmod, &[0, 0o4755], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_fchmodat, &[0, 0, 0o2755], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_fchmodat2, &[0, 0, 0o4755], NOT_PERMITTED);
        check(WITH_NAMESPACES, libc::SYS_fchmodat, &[0, 0, 0o755], ALLOW);
        check(WITHOUT_NAMESPACES, libc::SYS_fchmodat, &[0, 0, 0o4755], SUCCESS_WITHOUT_EFFECT);
    }

    #[test]
    fn without_a_signal_scope_only_the_own_group_can_be_signalled() {
        let old = FilterOptions { has_signal_scope: false, ..WITHOUT_NAMESPACES };
        check(old, libc::SYS_kill, &[0, 15], ALLOW);
        check(old, libc::SYS_kill, &[u32::MAX, 9], NOT_PERMITTED);
        check(old, libc::SYS_kill, &[1, 9], NOT_PERMITTED);
        check(old, libc::SYS_tgkill, &[1, 1, 9], NOT_PERMITTED);
        check(old, libc::SYS_fcntl, &[0, 8, 1], NOT_PERMITTED);
        check(old, libc::SYS_ioctl, &[0, 0x8901], NOT_PERMITTED);
        check(old, libc::SYS_ioctl, &[0, 0x8902], NOT_PERMITTED);
        check(WITHOUT_NAMESPACES, libc::SYS_kill, &[1, 9], ALLOW);
    }
}
