//! The filter of system calls that every command of a skill runs under on Linux.
//!
//! It refuses what no tool needs and an attacker does: reaching into other processes, making namespaces and mounts, the many ways to the kernel that were
//! its holes before, and sockets. It is written here instruction by instruction because one program must have several verdicts, and must refuse the second set of
//! numbers that x86-64 has for the same calls.

use std::collections::BTreeMap;

use seccompiler::sock_filter;

/// The purpose of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// `true` if internet sockets are allowed.
    pub(crate) network: bool,
    /// `true` if other means, such as namespaces, confine files and processes.
    pub(crate) has_namespaces: bool,
    /// `true` if other means refuse signals to processes outside.
    pub(crate) has_signal_scope: bool,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER: u16 = 0x25;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const REFUSED: u32 = ERRNO | libc::EPERM as u32;
const UNKNOWN: u32 = ERRNO | libc::ENOSYS as u32;
const UNSUPPORTED: u32 = ERRNO | libc::ENOTSUP as u32;
const PRETENDED: u32 = ERRNO;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The last call this filter was written for; later ones are unknown to it, and to whoever asks.
const LAST: u32 = 462;

/// Calls of the second set of numbers of x86-64 begin here.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const LSM_SET_SELF_ATTR: i64 = 460;

/// Flags of `clone` that make namespaces.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
/// The type of a socket without its flags.
const SOCKET_TYPE: u32 = 0xf;

/// The verdict on a system call.
#[derive(Debug, Clone)]
enum CallVerdict {
    /// That of `ioctl`: refused for these requests and for all of one kind.
    Requests { refused: Vec<u32> },
    /// Always this.
    Always(u32),
    /// Refused unless, of the argument, the bits of the mask are one of these values.
    Unless { argument: u32, mask: u32, values: Vec<u32> },
    /// Refused if the argument is one of these values.
    When { argument: u32, values: Vec<u32> },
    /// Refused unless the pair of arguments is one of these; no value of the second stands for any.
    UnlessPair { first: u32, second: u32, mask: u32, values: Vec<(u32, Option<u32>)> },
}

/// Calls that are refused whatever the purpose.
const REFUSED_CALLS: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    STATMOUNT,
    LISTMOUNT,
    // The kernel.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    LSM_SET_SELF_ATTR,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // Files by their numbers, past all directories; and everything that happens to files.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Memory and messages that outlive a process, and are shared with strangers.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_CALLS_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_CALLS_HERE: &[i64] = &[];

/// Calls that do not exist here, so that programs do without: new threads and processes are made in the old way, whose flags can be seen, and memory
/// without a name or a place would be counted nowhere.
const UNKNOWN_CALLS: &[i64] = &[libc::SYS_clone3, libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// Calls that change modes, owners and times. Nothing but a namespace confines them to files that may be written, so without one they change nothing; they say that they did,
/// because copying a file would otherwise be an error to most programs.
const PRETENDED_CALLS: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
const PRETENDED_CALLS_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(target_arch = "aarch64")]
const PRETENDED_CALLS_HERE: &[i64] = &[];

/// The same for attributes; programs know file systems that have none.
const ATTRIBUTE_CALLS: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls by which one is told what happens in directories that one cannot list.
const NOTICE_CALLS: &[i64] = &[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch];
#[cfg(target_arch = "x86_64")]
const NOTICE_CALLS_HERE: &[i64] = &[libc::SYS_inotify_init];
#[cfg(target_arch = "aarch64")]
const NOTICE_CALLS_HERE: &[i64] = &[];

/// Calls that set how another process is scheduled, which the first argument says. Zero is oneself.
const CALLS_ON_OTHERS: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// The same for those that first say of what kind the number is, with the kind that is a process: of a group or a user zero is oneself too, and with it all the others.
const CALLS_ON_KINDS: &[(i64, u32)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// The limit by which the host knows what came of a run; nobody changes it. See [`mark`](crate::launcher::run_tag).
const MARK: u32 = libc::RLIMIT_RTTIME;

/// Requests of `ioctl` that are refused: typing into a terminal, taking one over, and flags of files.
const REFUSED_REQUESTS: &[u32] = &[
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
    0x540e,      // TIOCSCTTY
    0x5423,      // TIOCSETD
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
];

/// The kind of requests that are for one file system, which can do much to what one only reads.
const BTRFS: u32 = 0x9400;
const KIND_OF_REQUEST: u32 = 0xff00;
/// Those of that kind that are for all file systems: copying without copying.
const CLONES: &[u32] = &[0x4004_9409, 0x4020_940d];
/// Requests of `ioctl` by which signals are sent to whomever one names.
const SIGNAL_REQUESTS: &[u32] = &[0x8901, 0x8902];

/// Requests of `fcntl` that are refused: leases, which keep others from opening a file, and notices about directories.
const REFUSED_CONTROLS: &[u32] = &[1024, 1026];
/// Those by which signals are sent to whomever one names.
const SIGNAL_CONTROLS: &[u32] = &[8, 15];

/// Personalities that a program may have: none that turns off protections.
const PERSONALITIES: &[u32] = &[0, 8, 0x0002_0000, 0x0002_0008, 0xffff_ffff];

fn verdicts(purpose: Purpose) -> BTreeMap<i64, CallVerdict> {
    let mut verdicts = BTreeMap::new();
    let mut always = |calls: &[i64], verdict| {
        verdicts.extend(calls.iter().map(|call| (*call, CallVerdict::Always(verdict))));
    };
    always(REFUSED_CALLS, REFUSED);
    always(REFUSED_CALLS_HERE, REFUSED);
    always(UNKNOWN_CALLS, UNKNOWN);
    if !purpose.has_namespaces {
        always(PRETENDED_CALLS, PRETENDED);
        always(PRETENDED_CALLS_HERE, PRETENDED);
        always(ATTRIBUTE_CALLS, UNSUPPORTED);
        always(NOTICE_CALLS, REFUSED);
        always(NOTICE_CALLS_HERE, REFUSED);
    }
    if !purpose.network {
        let calls = [
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_accept,
            libc::SYS_accept4,
        ];
        always(&calls, REFUSED);
    }
    if !purpose.has_signal_scope {
        let calls = [
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
            libc::SYS_pidfd_send_signal,
        ];
        always(&calls, REFUSED);
        verdicts.insert(libc::SYS_kill, oneself());
    }
    if purpose.network {
        // The kernel's own messages only as far as programs ask it for addresses, and only to read: changing takes rights that nobody has here.
        // The sockets of this machine's programs are not the network: some of them give away the machine.
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
    // Pairs that are connected for good. Datagrams could be sent elsewhere.
    let values = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let values = values.iter().map(|kind| (libc::AF_UNIX as u32, Some(*kind as u32))).collect();
    verdicts.insert(
        libc::SYS_socketpair,
        CallVerdict::UnlessPair { first: 0, second: 1, mask: SOCKET_TYPE, values },
    );
    let no_namespaces = CallVerdict::Unless { argument: 0, mask: NEW_NAMESPACES, values: vec![0] };
    verdicts.insert(libc::SYS_clone, no_namespaces);
    let mut controls = REFUSED_CONTROLS.to_vec();
    let mut requests = REFUSED_REQUESTS.to_vec();
    if !purpose.has_signal_scope {
        controls.extend(SIGNAL_CONTROLS);
        requests.extend(SIGNAL_REQUESTS);
    }
    verdicts.insert(libc::SYS_ioctl, CallVerdict::Requests { refused: requests });
    verdicts.insert(libc::SYS_fcntl, CallVerdict::When { argument: 1, values: controls });
    let known = CallVerdict::Unless { argument: 0, mask: u32::MAX, values: PERSONALITIES.to_vec() };
    verdicts.insert(libc::SYS_personality, known);
    verdicts.insert(libc::SYS_setrlimit, CallVerdict::When { argument: 0, values: vec![MARK] });
    let pair = |values| CallVerdict::UnlessPair { first: 0, second: 1, mask: u32::MAX, values };
    verdicts.insert(libc::SYS_prlimit64, pair((0..MARK).map(|limit| (0, Some(limit))).collect()));
    for (call, kind) in CALLS_ON_KINDS {
        verdicts.insert(*call, pair(vec![(*kind, Some(0))]));
    }
    verdicts.extend(CALLS_ON_OTHERS.iter().map(|call| (*call, oneself())));
    verdicts
}

/// Returns the verdict on calls whose first argument says which process they are about.
fn oneself() -> CallVerdict {
    CallVerdict::Unless { argument: 0, mask: u32::MAX, values: vec![0] }
}

/// Returns the filter as the kernel wants it.
pub(crate) fn program(purpose: Purpose) -> Vec<sock_filter> {
    let mut program = vec![
        statement(LOAD, 4),
        jump(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        statement(RETURN, KILL_PROCESS),
        statement(LOAD, 0),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(JUMP_GREATER_OR_EQUAL, X32, 0, 1), statement(RETURN, UNKNOWN)]);
    program.extend([jump(JUMP_GREATER, LAST, 0, 1), statement(RETURN, UNKNOWN)]);
    for (call, verdict) in verdicts(purpose) {
        let block = block(&verdict);
        program.push(jump(JUMP_EQUAL, call as u32, 0, block.len() as u8));
        program.extend(block);
    }
    program.push(statement(RETURN, ALLOW));
    program
}

/// Returns the filter as bytes, for programs that are handed one.
pub(crate) fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let one = |instruction: &sock_filter| {
        let [c0, c1] = instruction.code.to_ne_bytes();
        let [k0, k1, k2, k3] = instruction.k.to_ne_bytes();
        [c0, c1, instruction.jt, instruction.jf, k0, k1, k2, k3]
    };
    program.iter().flat_map(one).collect()
}

/// Returns what is done about one call. It always ends with a verdict, because the number of the call is no longer at hand then.
fn block(verdict: &CallVerdict) -> Vec<sock_filter> {
    match verdict {
        CallVerdict::Always(verdict) => vec![statement(RETURN, *verdict)],
        CallVerdict::Unless { argument, mask, values } => choice(*argument, *mask, values, ALLOW, REFUSED),
        CallVerdict::When { argument, values } => choice(*argument, u32::MAX, values, REFUSED, ALLOW),
        CallVerdict::Requests { refused } => {
            let mut block = vec![load(1)];
            for request in CLONES {
                block.extend([jump(JUMP_EQUAL, *request, 0, 1), statement(RETURN, ALLOW)]);
            }
            for request in refused {
                block.extend([jump(JUMP_EQUAL, *request, 0, 1), statement(RETURN, REFUSED)]);
            }
            block.extend(choice(1, KIND_OF_REQUEST, &[BTRFS], REFUSED, ALLOW));
            block
        }
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
            block.push(statement(RETURN, REFUSED));
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

/// Loads the lower half of an argument; none that is looked at has more.
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

    /// Runs a filter as the kernel would.
    fn judge(purpose: Purpose, architecture: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let program = program(purpose);
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
                RETURN => return instruction.k,
                code => panic!("{code:#x}"),
            }
        }
    }

    const INSIDE: Purpose = Purpose { network: false, has_namespaces: true, has_signal_scope: true };
    const ALONE: Purpose = Purpose { network: false, has_namespaces: false, has_signal_scope: true };

    #[track_caller]
    fn check(purpose: Purpose, call: i64, arguments: &[u32], expect: u32) {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        assert_eq!(judge(purpose, ARCHITECTURE, call as u32, all), expect, "{call} {arguments:x?}");
    }

    #[test]
    fn other_numberings_are_refused() {
        assert_eq!(judge(INSIDE, 0x4000_0003, 1, [0; 6]), KILL_PROCESS);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(judge(INSIDE, ARCHITECTURE, X32 | libc::SYS_getpid as u32, [0; 6]), UNKNOWN);
        assert_eq!(judge(INSIDE, ARCHITECTURE, LAST + 1, [0; 6]), UNKNOWN);
    }

    #[test]
    fn ordinary_calls_pass() {
        for call in
            [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_futex, libc::SYS_exit_group]
        {
            check(ALONE, call, &[], ALLOW);
        }
        check(ALONE, libc::SYS_clone, &[libc::SIGCHLD as u32], ALLOW);
        check(ALONE, libc::SYS_ioctl, &[0, 0x5401], ALLOW);
        check(ALONE, libc::SYS_prlimit64, &[0, 7], ALLOW);
    }

    #[test]
    fn nobody_is_told_of_what_cannot_be_listed() {
        for call in NOTICE_CALLS.iter().chain(NOTICE_CALLS_HERE) {
            check(ALONE, *call, &[], REFUSED);
            check(INSIDE, *call, &[], ALLOW);
        }
    }

    #[test]
    fn sockets_are_a_matter_of_the_network() {
        let network = Purpose { network: true, ..INSIDE };
        for family in 0..46 {
            check(INSIDE, libc::SYS_socket, &[family, 1, 0], REFUSED);
            let is_internet = family == 2 || family == 10 || family == 16;
            check(network, libc::SYS_socket, &[family, 1, 0], if is_internet { ALLOW } else { REFUSED });
        }
        check(network, libc::SYS_socket, &[16, 3, 15], REFUSED);
        check(network, libc::SYS_socket, &[2, 2, 17], ALLOW);
        check(INSIDE, libc::SYS_socketpair, &[1, 0o2_000_001], ALLOW);
        check(INSIDE, libc::SYS_socketpair, &[1, 5], ALLOW);
        check(INSIDE, libc::SYS_socketpair, &[1, 2], REFUSED);
        check(INSIDE, libc::SYS_socketpair, &[16, 1], REFUSED);
    }

    #[test]
    fn namespaces_other_processes_and_terminals_are_refused() {
        for flag in
            [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]
        {
            check(INSIDE, libc::SYS_clone, &[flag | libc::SIGCHLD as u32], REFUSED);
        }
        check(INSIDE, libc::SYS_clone3, &[], UNKNOWN);
        check(INSIDE, libc::SYS_ioctl, &[0, 0x5412], REFUSED);
        check(INSIDE, libc::SYS_prlimit64, &[1, 7], REFUSED);
        check(INSIDE, libc::SYS_setpriority, &[0, 1, 19], REFUSED);
        check(INSIDE, libc::SYS_setpriority, &[2, 0, 19], REFUSED);
        check(INSIDE, libc::SYS_setpriority, &[1, 0, 19], REFUSED);
        check(INSIDE, libc::SYS_setpriority, &[0, 0, 19], ALLOW);
        check(INSIDE, libc::SYS_ioprio_set, &[3, 0, 0], REFUSED);
        check(INSIDE, libc::SYS_ioprio_set, &[1, 0, 0], ALLOW);
        check(INSIDE, libc::SYS_prlimit64, &[0, MARK], REFUSED);
        check(INSIDE, libc::SYS_setrlimit, &[MARK], REFUSED);
        check(INSIDE, libc::SYS_setrlimit, &[7], ALLOW);
    }

    #[test]
    fn requests_to_one_file_system_are_refused_and_those_to_all_are_not() {
        check(INSIDE, libc::SYS_ioctl, &[0, 0x5000_9401], REFUSED);
        check(INSIDE, libc::SYS_ioctl, &[0, 0x4004_9409], ALLOW);
        check(INSIDE, libc::SYS_ioctl, &[0, 0x4020_940d], ALLOW);
    }

    #[test]
    fn without_namespaces_nothing_changes_modes_and_owners() {
        check(ALONE, libc::SYS_fchmodat, &[], PRETENDED);
        check(INSIDE, libc::SYS_fchmodat, &[], ALLOW);
        check(ALONE, libc::SYS_setxattr, &[], UNSUPPORTED);
    }

    #[test]
    fn without_a_scope_signals_go_to_the_own_group_alone() {
        let old = Purpose { has_signal_scope: false, ..ALONE };
        check(old, libc::SYS_kill, &[0, 15], ALLOW);
        check(old, libc::SYS_kill, &[u32::MAX, 9], REFUSED);
        check(old, libc::SYS_kill, &[1, 9], REFUSED);
        check(old, libc::SYS_tgkill, &[1, 1, 9], REFUSED);
        check(old, libc::SYS_fcntl, &[0, 8, 1], REFUSED);
        check(old, libc::SYS_ioctl, &[0, 0x8901], REFUSED);
        check(old, libc::SYS_ioctl, &[0, 0x8902], REFUSED);
        check(ALONE, libc::SYS_kill, &[1, 9], ALLOW);
    }
}
