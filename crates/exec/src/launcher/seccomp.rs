//! The seccomp filter that every command of a skill runs under on Linux.
//!
//! It refuses system calls that attackers need and tools do not: access to other processes, namespaces and mounts,
//! kernel interfaces with a history of vulnerabilities, and sockets. The BPF program is assembled here, and not by
//! seccompiler, because it returns several different errors and must refuse the x32 numbers of x86-64.

use std::collections::BTreeMap;

use seccompiler::sock_filter;

/// The options of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterOptions {
    /// `true` if internet sockets are allowed.
    pub(crate) network: bool,
    /// `true` if the command runs in namespaces, which confine files and processes.
    pub(crate) has_namespaces: bool,
    /// `true` if signals to processes outside the sandbox are refused already, by Landlock's signal scope or a PID namespace.
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

const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const LSM_SET_SELF_ATTR: i64 = 460;

/// Flags of `clone` that create namespaces.
const NAMESPACE_FLAGS: u32 = 0x7e02_0000;
/// The type of a socket without its flags.
const SOCKET_TYPE_MASK: u32 = 0xf;

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
    /// Pretends success if the first argument has this value and the second one is one of these; allows others.
    PretendPair { first: (u32, u32), second: (u32, Vec<u32>) },
    /// Refuses if the argument has one of these bits.
    WithBits { argument: u32, bits: u32 },
    /// Refuses a call that creates a file, by its flags, with a mode that has one of [`SET_ID_BITS`].
    Creation { flags: u32, mode: u32 },
    /// Refuses unless the pair of arguments, the second one masked, is one of these; `None` matches any second argument.
    UnlessPair { first: u32, second: u32, mask: u32, values: Vec<(u32, Option<u32>)> },
}

/// Calls that are refused whatever the options are.
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
    // Opening files by handle, which bypasses the checks of directories; watching whole file systems.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // System V and POSIX IPC: it outlives a process and is shared with unrelated processes.
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
const REFUSED_CALLS_OF_ARCHITECTURE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_CALLS_OF_ARCHITECTURE: &[i64] = &[];

/// Calls that return `ENOSYS`, so that programs fall back to others. The flags of `clone3` and the mode of `openat2` are in
/// memory, where a filter cannot read them; those of `clone` and `openat` are arguments. Files in memory would not count
/// towards any limit.
const HIDDEN_CALLS: &[i64] =
    &[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// The bits of a mode that make a program run as the owner or group of its file: such a file would outlive the sandbox in a
/// granted directory.
const SET_ID_BITS: u32 = 0o6000;
/// The flags of `open` that create a file: `O_CREAT`, and the own bit of `O_TMPFILE`.
const CREATION_FLAGS: u32 = 0o100 | 0o20_000_000;
/// Calls that set a mode, each with the argument that has it.
const MODE_CALLS: &[(i64, u32)] = &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2)];
#[cfg(target_arch = "x86_64")]
const MODE_CALLS_OF_ARCHITECTURE: &[(i64, u32)] = &[(libc::SYS_chmod, 1)];
#[cfg(target_arch = "aarch64")]
const MODE_CALLS_OF_ARCHITECTURE: &[(i64, u32)] = &[];
/// Calls that create files and directories, each with the argument that has the mode.
const CREATION_CALLS: &[(i64, u32)] = &[(libc::SYS_mkdirat, 2), (libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
const CREATION_CALLS_OF_ARCHITECTURE: &[(i64, u32)] =
    &[(libc::SYS_creat, 1), (libc::SYS_mkdir, 1), (libc::SYS_mknod, 1)];
#[cfg(target_arch = "aarch64")]
const CREATION_CALLS_OF_ARCHITECTURE: &[(i64, u32)] = &[];

/// Calls that change modes, owners and times of files. Landlock does not restrict them to writable files, so without
/// namespaces they have no effect. They report success, because most programs would otherwise fail to copy a file.
const METADATA_CALLS: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
const METADATA_CALLS_OF_ARCHITECTURE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(target_arch = "aarch64")]
const METADATA_CALLS_OF_ARCHITECTURE: &[i64] = &[];

/// Calls that change extended attributes, or read them by path, which Landlock does not restrict. Without namespaces they
/// return `ENOTSUP`: programs expect file systems that have no extended attributes.
const XATTR_CALLS: &[i64] = &[
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls of inotify, which would report changes in directories that the command cannot list.
const INOTIFY_CALLS: &[i64] = &[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch];
#[cfg(target_arch = "x86_64")]
const INOTIFY_CALLS_OF_ARCHITECTURE: &[i64] = &[libc::SYS_inotify_init];
#[cfg(target_arch = "aarch64")]
const INOTIFY_CALLS_OF_ARCHITECTURE: &[i64] = &[];

/// Calls that change the scheduling of the process in the first argument; zero is the calling process.
const SCHEDULING_CALLS: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Calls that change a priority, each with the value of its first argument (`PRIO_PROCESS`, `IOPRIO_WHO_PROCESS`) that makes
/// the second one a process ID. The other values would change a whole process group or all processes of the user.
const PRIORITY_CALLS: &[(i64, u32)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// The resource limit that holds the [tag of the run](crate::launcher::run_tag); no command may change it.
const RUN_TAG: u32 = libc::RLIMIT_RTTIME;

/// Options of sockets that set the size of their buffers, which no limit of memory counts: `SO_SNDBUF`, `SO_RCVBUF` and the
/// privileged forms. The default size stays.
const BUFFER_OPTIONS: &[u32] = &[7, 8, 32, 33];

/// Requests of `ioctl` that are refused: injecting input into a terminal, acquiring one, and changing flags of files.
const REFUSED_IOCTLS: &[u32] = &[
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
    0x540e,      // TIOCSCTTY
    0x5423,      // TIOCSETD
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4004_7602, // FS_IOC32_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
];

/// The type of `ioctl` requests of Btrfs, some of which change files that are open for reading only.
const BTRFS_IOCTL_TYPE: u32 = 0x9400;
const IOCTL_TYPE_MASK: u32 = 0xff00;
/// Requests of that type that all file systems share: `FICLONE` and `FICLONERANGE`.
const CLONE_IOCTLS: &[u32] = &[0x4004_9409, 0x4020_940d];
/// Requests of `ioctl` that choose which process gets signals about a file descriptor: `FIOSETOWN` and `SIOCSPGRP`.
const SIGNAL_IOCTLS: &[u32] = &[0x8901, 0x8902];

/// Requests of `fcntl` that are refused: `F_SETLEASE`, which delays others that open the file, and `F_NOTIFY`.
const REFUSED_FCNTLS: &[u32] = &[1024, 1026];
/// Requests of `fcntl` that choose which process gets signals about a file descriptor: `F_SETOWN` and `F_SETOWN_EX`.
const SIGNAL_FCNTLS: &[u32] = &[8, 15];

/// Personalities that a program may choose; none of them turns off protections.
const PERSONALITIES: &[u32] = &[0, 8, 0x0002_0000, 0x0002_0008, 0xffff_ffff];

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
        // A handle of any process tells its parent, its user and its end. Programs fall back to waiting for their children.
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
            // Only these can send open files to another process. Files and sockets on their way count towards no limit.
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
        // Of netlink only NETLINK_ROUTE, which programs use to list network addresses; changing them takes privileges that
        // no command has. Unix sockets are not the network: those of some services give full control of the machine.
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

/// Returns the filter as a BPF program.
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

/// Returns the instructions for one call. They always end with a return, because they overwrite the register that held
/// the call number.
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
