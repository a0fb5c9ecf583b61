//! Probes at files: reading secrets, and writing outside of the grants.

use crate::probe::{Probe, probe, root};

pub(crate) const PROBES: &[Probe] = &[
    // Reading.
    probe("read a key in the home directory", "text(SECRET) == b'SECRET-KEY'"),
    probe("read the credentials of a cloud", "b'SECRET' in text(HOME + '/.aws/credentials')"),
    probe("list a home directory", "'.ssh' in os.listdir(HOME)"),
    root(
        "list the real home directory",
        "(lambda h: [e for e in os.listdir(h) if not sys.base_prefix.startswith(os.path.join(h, e))])(__import__('pwd').getpwuid(os.getuid()).pw_dir)",
    ),
    root("read the passwords of the system", "len(text('/etc/shadow')) > 0"),
    probe("read another skill", "text(OTHER + '/SKILL.md') == b'SECRET-SKILL'"),
    probe("list the directory of skills", "'other' in os.listdir(WORLD)"),
    probe("read a project that is not granted", "b'SECRET' in text(PROJECT + '/.env')"),
    probe("list the records of the system", "'log' in os.listdir('/var')"),
    probe("read the records of the system", "len(os.listdir('/var/log')) > 0"),
    probe("list the directory of programs that run", "len(os.listdir('/run')) > 0"),
    probe(
        "read through a link in the scratch directory",
        "os.symlink(SECRET, 'link') or text('link') == b'SECRET-KEY'",
    ),
    probe(
        "read through a link to a directory",
        "os.symlink(HOME, 'link') or text('link/.ssh/id_ed25519') == b'SECRET-KEY'",
    ),
    probe("read by way of /proc/self/root", "text('/proc/self/root' + SECRET) == b'SECRET-KEY'"),
    probe(
        "read by way of /proc/self/cwd",
        "text('/proc/self/cwd/../../../home/notes.txt') == b'SECRET-NOTES'",
    ),
    probe("read by going up", "text('../../../home/notes.txt') == b'SECRET-NOTES'"),
    probe(
        "read by going up from a handle",
        "os.open('../../../home/notes.txt', os.O_RDONLY, dir_fd=os.open('.', os.O_RDONLY)) >= 0",
    ),
    probe(
        "link a secret into the scratch directory",
        "os.link(SECRET, 'mine') or text('mine') == b'SECRET-KEY'",
    ),
    probe(
        "move a secret into the scratch directory",
        "os.rename(SECRET, 'mine') or text('mine') == b'SECRET-KEY'",
    ),
    probe(
        "open a directory with O_PATH and read below it",
        "os.open('id_ed25519', os.O_RDONLY, dir_fd=os.open(HOME + '/.ssh', os.O_PATH)) >= 0",
    ),
    probe(
        "read the memory map of a secret",
        "mmap.mmap(os.open(SECRET, os.O_RDONLY), 10, prot=mmap.PROT_READ)[:6] == b'SECRET'",
    ),
    probe(
        "run a program of the home directory",
        "os.system('cp /bin/true %s/run && %s/run' % (HOME, HOME)) == 0",
    ),
    probe(
        "run a file that may not be read",
        "os.chmod(HOME + '/notes.txt', 0o755) or os.spawnl(os.P_WAIT, '/bin/sh', 'sh', HOME + '/notes.txt') == 127",
    ),
    root(
        "read files by their numbers",
        "(lambda b, m: (struct.pack_into('I', b, 0, 128), call('name_to_handle_at', -100, ctypes.c_char_p(SECRET.encode()), b, m, 0), os.read(call('open_by_handle_at', os.open('/var/tmp', os.O_RDONLY), b, 0), 6) == b'SECRET')[-1])(pointer(), pointer())",
    ),
    root("read the messages of the kernel", "os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK) >= 0"),
    root("read the messages of the kernel by a call", "call('syslog', 3, pointer(), 4096) >= 0"),
    root(
        "make a device of the disk and read it",
        "os.mknod('disk', stat.S_IFBLK | 0o600, os.stat(WORLD).st_dev) or len(open('disk', 'rb').read(1)) >= 0",
    ),
    root("open the memory of the machine", "os.open('/proc/kcore', os.O_RDONLY) >= 0"),
    probe(
        "be told what happens in a home directory",
        "call('inotify_add_watch', call('inotify_init1', 0), ctypes.c_char_p(HOME.encode()), 0xfff) >= 0",
    ),
    root("be told what happens to all files", "call('fanotify_init', 0, 0) >= 0"),
    // Writing.
    probe("write into a start-up file", "open(HOME + '/.bashrc', 'a').write('evil') == 4"),
    probe("make a file in the home directory", "open(HOME + '/new', 'w').write('evil') == 4"),
    probe("make a directory in the home directory", "os.mkdir(HOME + '/new') is None"),
    probe("remove a file of the home directory", "os.remove(HOME + '/notes.txt') is None"),
    probe("write a file of the skill", "open(SKILL + '/data.txt', 'w').write('evil') == 4"),
    probe("make a file in the skill", "open(SKILL + '/new.py', 'w').write('evil') == 4"),
    probe("remove a file of the skill", "os.remove(SKILL + '/data.txt') is None"),
    probe("move a file of the skill away", "os.rename(SKILL + '/data.txt', 'mine') is None"),
    probe(
        "put another file in place of one of the skill",
        "open('mine', 'w').write('evil') and os.rename('mine', SKILL + '/data.txt') is None",
    ),
    probe("move the skill away", "os.rename(SKILL, WORLD + '/moved') is None"),
    probe("write another skill", "open(OTHER + '/SKILL.md', 'a').write('evil') == 4"),
    probe("empty a file", "os.truncate(HOME + '/notes.txt', 0) is None"),
    probe("empty a file of the skill", "os.truncate(SKILL + '/data.txt', 0) is None"),
    probe("write a project that is not granted", "open(PROJECT + '/src/main.rs', 'a').write('evil') == 4"),
    probe(
        "write through a link in the scratch directory",
        "os.symlink(HOME, 'link') or open('link/new', 'w').write('evil') == 4",
    ),
    probe("link the scratch directory into the home", "os.symlink(os.getcwd(), HOME + '/link') is None"),
    probe(
        "put a file without a name into the home directory",
        "os.open(HOME, os.O_TMPFILE | os.O_RDWR) >= 0",
    ),
    root("put a file into the system's directories", "os.open('/usr/local', os.O_TMPFILE | os.O_RDWR) >= 0"),
    root("put a file into the system's settings", "os.open('/etc', os.O_TMPFILE | os.O_RDWR) >= 0"),
    probe("make a pipe in the home directory", "os.mkfifo(HOME + '/pipe') is None"),
    probe(
        "open a key to everybody",
        "os.chmod(SECRET, 0o666) or stat.S_IMODE(os.stat(SECRET).st_mode) == 0o666",
    ),
    probe(
        "open a key to everybody by a handle",
        "(lambda f: os.fchmod(f, 0o777) or stat.S_IMODE(os.fstat(f).st_mode) == 0o777)(os.open(SKILL + '/data.txt', os.O_RDONLY))",
    ),
    probe(
        "change the mode of a file of the skill",
        "os.chmod(SKILL + '/data.txt', 0o777) or stat.S_IMODE(os.stat(SKILL + '/data.txt').st_mode) == 0o777",
    ),
    root("give a file away", "os.chown(SECRET, 12345, 12345) or os.stat(SECRET).st_uid == 12345"),
    probe(
        "date a file back",
        "os.utime(SKILL + '/data.txt', (1, 1)) or os.stat(SKILL + '/data.txt').st_mtime == 1",
    ),
    probe(
        "date a file of the home directory back",
        "os.utime(HOME + '/notes.txt', (1, 1)) or os.stat(HOME + '/notes.txt').st_mtime == 1",
    ),
    probe(
        "put an attribute on a file",
        "os.setxattr(SKILL + '/data.txt', 'user.evil', b'x') or os.getxattr(SKILL + '/data.txt', 'user.evil') == b'x'",
    ),
    probe(
        "put a flag on a file",
        "(lambda f, b: (fcntl.ioctl(f, 0x80086601, b), fcntl.ioctl(f, 0x40086602, struct.pack('l', struct.unpack('l', b)[0] | 0x40)) is not None)[-1])(os.open(SKILL + '/data.txt', os.O_RDONLY), bytearray(8))",
    ),
    probe(
        "keep others from a file by a lease",
        "fcntl.fcntl(os.open(SKILL + '/data.txt', os.O_RDONLY), 1024, 0) == 0",
    ),
    root("set what runs when programs crash", "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY) >= 0"),
    root("open the trigger of the kernel", "os.open('/proc/sysrq-trigger', os.O_WRONLY) >= 0"),
    root(
        "set the memory of the kernel",
        "os.open('/sys/kernel/mm/transparent_hugepage/enabled', os.O_WRONLY) >= 0",
    ),
    root(
        "see every process through its own mount of /proc",
        "in_child(lambda: (call('unshare', 0x20000), call('mount', ctypes.c_char_p(b'proc'), ctypes.c_char_p(b'/proc'), ctypes.c_char_p(b'proc'), 0, None), True)[-1])",
    ),
    probe(
        "make a program that runs as its owner",
        "(open('set', 'w').close(), os.chmod('set', 0o4755), os.stat('set').st_mode & 0o4000)[-1] != 0",
    ),
    probe(
        "make a program that runs as its group",
        "(open('set', 'w').close(), os.chmod('set', 0o2755), os.stat('set').st_mode & 0o2000)[-1] != 0",
    ),
    probe(
        "make a program that runs as its owner, by a handle",
        "(lambda f: (os.fchmod(f, 0o4755), os.fstat(f).st_mode & 0o4000)[-1] != 0)(os.open('set', os.O_CREAT | os.O_RDWR))",
    ),
    probe(
        "create a program that runs as its owner",
        "os.fstat(os.open('set', os.O_CREAT | os.O_RDWR, 0o4755)).st_mode & 0o4000 != 0",
    ),
    probe(
        "create a program without a name that runs as its owner",
        "os.fstat(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755)).st_mode & 0o4000 != 0",
    ),
    probe(
        "create a program that runs as its owner, in the new way",
        "os.fstat(call(437, -100, ctypes.c_char_p(b'set'), struct.pack('QQQ', os.O_CREAT | os.O_RDWR, 0o4755, 0), 24)).st_mode & 0o4000 != 0",
    ),
    probe(
        "create a node that runs as its owner",
        "(os.mknod('set', 0o104755), os.stat('set').st_mode & 0o4000)[-1] != 0",
    ),
    probe("read an attribute of a secret", "os.getxattr(SECRET, 'user.note') == b'SECRET-NOTE'"),
    probe("list the attributes of a secret", "os.listxattr(SECRET) != []"),
    probe(
        "read an attribute of a secret behind a link",
        "(os.symlink(SECRET, 'link'), os.getxattr('link', 'user.note') == b'SECRET-NOTE')[-1]",
    ),
    probe(
        "change the version of a file",
        "fcntl.ioctl(os.open(SKILL + '/data.txt', os.O_RDONLY), 0x40087602, struct.pack('l', 77)) is not None",
    ),
];
