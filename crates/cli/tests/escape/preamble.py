# What every probe has at hand. A probe prints ESCAPED if it came through, and DENIED with the reason if not.
import ctypes, errno, fcntl, mmap, os, platform, resource, signal, socket, stat, struct, sys, threading, time

WORLD, VICTIM, TCP, UDP, ABSTRACT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
HOME, SKILL, OTHER, PROJECT = (WORLD + "/" + name for name in ("home", "skill", "other", "project"))
SECRET = HOME + "/.ssh/id_ed25519"
IS_X86 = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)

# Numbers of system calls: x86-64, and the ones of other machines where they differ.
NUMBERS = dict(
    ptrace=(101, 117), process_vm_readv=(310, 270), process_vm_writev=(311, 271), kcmp=(312, 272),
    mount=(165, 40), umount2=(166, 39), pivot_root=(155, 41), chroot=(161, 51), setns=(308, 268), unshare=(272, 97),
    clone=(56, 220), bpf=(321, 280), perf_event_open=(298, 241), userfaultfd=(323, 282), keyctl=(250, 219),
    add_key=(248, 217), request_key=(249, 218), kexec_load=(246, 104), init_module=(175, 105), finit_module=(313, 273),
    delete_module=(176, 106), reboot=(169, 142), swapon=(167, 224), swapoff=(168, 225), acct=(163, 89),
    settimeofday=(164, 170), clock_settime=(227, 112), clock_adjtime=(305, 266), sethostname=(170, 161),
    setdomainname=(171, 162), quotactl=(179, 60), personality=(135, 92), fanotify_init=(300, 262), memfd_create=(319, 279),
    shmget=(29, 194), shmctl=(31, 195), msgget=(68, 186), msgctl=(71, 187), semget=(64, 190), semctl=(66, 191),
    mq_open=(240, 180), name_to_handle_at=(303, 264), open_by_handle_at=(304, 265), syslog=(103, 116), capget=(125, 90),
    prlimit64=(302, 261), setpriority=(141, 140), sched_setaffinity=(203, 122), sched_setscheduler=(144, 119),
    ioprio_set=(251, 30), inotify_init1=(294, 26), inotify_add_watch=(254, 27), vhangup=(153, 58), kexec_file_load=(320, 294),
    move_pages=(279, 239), migrate_pages=(256, 238), rt_sigqueueinfo=(129, 138), tgkill=(234, 131), tkill=(200, 130),
    lookup_dcookie=(212, 18), setxattr=(188, 5),
)


def number(name):
    return NUMBERS[name][0 if IS_X86 else 1]


def call(name, *arguments):
    """Makes a system call by name or number; returns its result, or raises its error."""
    ctypes.set_errno(0)
    which = number(name) if isinstance(name, str) else name
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(which), *wide)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(name))
    return result


def reaches(name, *arguments):
    """Returns whether a system call is let through to the kernel, which may well find fault with its arguments."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            raise
    return True


def pointer(size=4096):
    return ctypes.create_string_buffer(size)


def in_child(function):
    """Runs something in a child, which it may wreck; returns whether it came through."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        except OSError as error:
            os._exit(100 + error.errno if error.errno < 100 else 99)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else os.WEXITSTATUS(os.waitpid(child, 0)[1])
    if code != 0:
        raise OSError("ended with %d" % code)
    return True


def text(path):
    with open(path, "rb") as file:
        return file.read()


def works(family, kind):
    """Returns whether a socket of a family can be made."""
    try:
        socket.socket(family, kind, 0).close()
        return True
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            return False
        return False


def reaches_request(request):
    """Returns whether a request for a terminal gets to something other than a terminal."""
    try:
        fcntl.ioctl(os.pipe()[0], request, b"x" + bytes(7))
    except OSError as error:
        if error.errno == errno.EPERM:
            raise
    return True


def born(child):
    """Ends a child that a raw call made, and waits for it."""
    if child == 0:
        libc._exit(0)
    os.waitpid(child, 0)
    return True


def call_in_32_bits():
    """Asks for the number of this process by the interrupt of old programs."""
    if not IS_X86:
        raise OSError("Function not implemented")
    # push rbx; mov eax, 20; int 0x80; pop rbx; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def run(probe):
    try:
        came_through = probe()
    except BaseException as error:
        print("DENIED", repr(error), flush=True)
    else:
        print("ESCAPED" if came_through else "DENIED nothing came of it", flush=True)
