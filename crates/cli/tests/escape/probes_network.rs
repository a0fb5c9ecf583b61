//! Probes at the network, and at the sockets of other programs.

use crate::probe::{Probe, probe, root};

pub(crate) const PROBES: &[Probe] = &[
    probe("connect by TCP", "socket.create_connection(('127.0.0.1', TCP), 5) is not None"),
    probe("listen by TCP", "(lambda s: (s.bind(('127.0.0.1', 0)), s.listen(), True)[-1])(socket.socket())"),
    probe(
        "send by UDP",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP)) == 1",
    ),
    probe("make a socket of IPv6", "socket.socket(socket.AF_INET6, socket.SOCK_STREAM) is not None"),
    probe(
        "send without asking for a connection",
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM).sendto(b'x', 0x20000000, ('127.0.0.1', TCP)) == 1",
    ),
    probe(
        "connect to a program's socket",
        "socket.socket(socket.AF_UNIX).connect(HOME + '/agent.sock') is None",
    ),
    probe(
        "connect to a socket without a file",
        "socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT) is None",
    ),
    probe(
        "send to a program's socket",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', HOME + '/log.sock') == 1",
    ),
    probe(
        "send to a program's socket from a pair",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', HOME + '/log.sock') == 1",
    ),
    probe(
        "send to a socket without a file from a pair",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '\\0' + ABSTRACT + '-log') == 1",
    ),
    probe("ask the kernel about the network", "socket.socket(16, socket.SOCK_RAW, 0) is not None"),
    probe(
        "listen to the kernel's notices about devices",
        "socket.socket(16, socket.SOCK_RAW, 15) is not None",
    ),
    root("read all packets", "socket.socket(17, socket.SOCK_RAW, 0x300) is not None"),
    root("make packets", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) is not None"),
    probe("use the kernel's cryptography", "socket.socket(38, socket.SOCK_SEQPACKET, 0) is not None"),
    probe("reach the host of a virtual machine", "socket.socket(40, socket.SOCK_STREAM, 0) is not None"),
    probe(
        "make a socket of any family",
        "any(works(family, kind) for family in range(46) for kind in (1, 2, 3, 5))",
    ),
    probe(
        "make a server that others find",
        "(lambda s: (s.bind('\\0' + ABSTRACT + '-own'), s.listen(), True)[-1])(socket.socket(socket.AF_UNIX))",
    ),
    probe("queue calls past the filter", "reaches(425, 8, pointer(256))"),
    probe("enter a queue of calls", "reaches(426, -1, 0, 0, 0, None, 0)"),
    probe("register with a queue of calls", "reaches(427, -1, 0, None, 0)"),
    probe(
        "share memory with strangers",
        "(lambda i: call('shmctl', i, 0, None) == 0)(call('shmget', 0, 4096, 0o1600))",
    ),
    probe(
        "queue messages for strangers",
        "(lambda i: call('msgctl', i, 0, None) == 0)(call('msgget', 0, 0o1600))",
    ),
    probe(
        "share counters with strangers",
        "(lambda i: call('semctl', i, 0, 0, 0) == 0)(call('semget', 0, 1, 0o1600))",
    ),
    probe("open a queue of messages", "reaches('mq_open', ctypes.c_char_p(b'none'), 0, 0, None)"),
];
