//! The system calls, and the values of their arguments, that the filter treats in a special way.

const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const LSM_SET_SELF_ATTR: i64 = 460;

/// Flags of `clone` that create namespaces.
pub(super) const NAMESPACE_FLAGS: u32 = 0x7e02_0000;
/// The type of a socket without its flags.
pub(super) const SOCKET_TYPE_MASK: u32 = 0xf;

/// Calls that are refused whatever the options are.
pub(super) const REFUSED_CALLS: &[i64] = &[
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
pub(super) const REFUSED_CALLS_OF_ARCHITECTURE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
pub(super) const REFUSED_CALLS_OF_ARCHITECTURE: &[i64] = &[];

/// Calls that return `ENOSYS`, so that programs fall back to others. The flags of `clone3` and the mode of
/// `openat2` are in memory, where a filter cannot read them; those of `clone` and `openat` are arguments.
/// Files in memory would not count towards any limit.
pub(super) const HIDDEN_CALLS: &[i64] =
    &[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// The bits of a mode that make a program run as the owner or group of its file: such a file would outlive
/// the sandbox in a granted directory.
pub(super) const SET_ID_BITS: u32 = 0o6000;
/// The flags of `open` that create a file: `O_CREAT`, and the own bit of `O_TMPFILE`.
pub(super) const CREATION_FLAGS: u32 = 0o100 | 0o20_000_000;
/// Calls that set a mode, each with the argument that has it.
pub(super) const MODE_CALLS: &[(i64, u32)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2)];
#[cfg(target_arch = "x86_64")]
pub(super) const MODE_CALLS_OF_ARCHITECTURE: &[(i64, u32)] = &[(libc::SYS_chmod, 1)];
#[cfg(target_arch = "aarch64")]
pub(super) const MODE_CALLS_OF_ARCHITECTURE: &[(i64, u32)] = &[];
/// Calls that create files and directories, each with the argument that has the mode.
pub(super) const CREATION_CALLS: &[(i64, u32)] = &[(libc::SYS_mkdirat, 2), (libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
pub(super) const CREATION_CALLS_OF_ARCHITECTURE: &[(i64, u32)] =
    &[(libc::SYS_creat, 1), (libc::SYS_mkdir, 1), (libc::SYS_mknod, 1)];
#[cfg(target_arch = "aarch64")]
pub(super) const CREATION_CALLS_OF_ARCHITECTURE: &[(i64, u32)] = &[];

/// Calls that change modes, owners and times of files. Landlock does not restrict them to writable files, so
/// without namespaces they only report success, as most programs would otherwise fail to copy a file.
pub(super) const METADATA_CALLS: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
pub(super) const METADATA_CALLS_OF_ARCHITECTURE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(target_arch = "aarch64")]
pub(super) const METADATA_CALLS_OF_ARCHITECTURE: &[i64] = &[];

/// Calls that change extended attributes, or read them by path, which Landlock does not restrict. Without
/// namespaces they return `ENOTSUP`: programs expect file systems that have no extended attributes.
pub(super) const XATTR_CALLS: &[i64] = &[
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
pub(super) const INOTIFY_CALLS: &[i64] = &[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch];
#[cfg(target_arch = "x86_64")]
pub(super) const INOTIFY_CALLS_OF_ARCHITECTURE: &[i64] = &[libc::SYS_inotify_init];
#[cfg(target_arch = "aarch64")]
pub(super) const INOTIFY_CALLS_OF_ARCHITECTURE: &[i64] = &[];

/// Calls that change the scheduling of the process in the first argument; zero is the calling process.
pub(super) const SCHEDULING_CALLS: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Calls that change a priority, with the first argument (`PRIO_PROCESS`, `IOPRIO_WHO_PROCESS`) that makes
/// the second a process ID. Other values would change a whole process group or all processes of the user.
pub(super) const PRIORITY_CALLS: &[(i64, u32)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// The resource limit that holds the [tag of the run](crate::launcher::run_tag); no command may change it.
pub(super) const RUN_TAG: u32 = libc::RLIMIT_RTTIME;

/// Options of sockets that set the size of their buffers, which no limit of memory counts: `SO_SNDBUF`,
/// `SO_RCVBUF` and the privileged forms. The default size stays.
pub(super) const BUFFER_OPTIONS: &[u32] = &[7, 8, 32, 33];

/// Refused requests of `ioctl`: injecting input into a terminal, acquiring one, and changing flags of files.
pub(super) const REFUSED_IOCTLS: &[u32] = &[
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
pub(super) const BTRFS_IOCTL_TYPE: u32 = 0x9400;
pub(super) const IOCTL_TYPE_MASK: u32 = 0xff00;
/// Requests of that type that all file systems share: `FICLONE` and `FICLONERANGE`.
pub(super) const CLONE_IOCTLS: &[u32] = &[0x4004_9409, 0x4020_940d];
/// Requests of `ioctl` that choose which process a descriptor sends signals to: `FIOSETOWN` and `SIOCSPGRP`.
pub(super) const SIGNAL_IOCTLS: &[u32] = &[0x8901, 0x8902];

/// Refused requests of `fcntl`: `F_SETLEASE`, which delays others that open the file, and `F_NOTIFY`.
pub(super) const REFUSED_FCNTLS: &[u32] = &[1024, 1026];
/// Requests of `fcntl` that choose which process a descriptor sends signals to: `F_SETOWN` and `F_SETOWN_EX`.
pub(super) const SIGNAL_FCNTLS: &[u32] = &[8, 15];

/// Personalities that a program may choose; none of them turns off protections.
pub(super) const PERSONALITIES: &[u32] = &[0, 8, 0x0002_0000, 0x0002_0008, 0xffff_ffff];
