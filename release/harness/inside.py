"""Runs a command in another root as another user, with a network that reaches nothing but itself. Started by roots.py."""

import fcntl
import os
import socket
import struct
import subprocess
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", answer)[1] | IFF_UP
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags))


def main(root, user, directory, *command):
    loopback_up()
    for name in ("proc", "dev"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    subprocess.run(["mount", "-t", "proc", "proc", f"{root}/proc"], check=True)
    subprocess.run(["mount", "--rbind", "/dev", f"{root}/dev"], check=True)
    os.chroot(root)
    os.chdir(directory)
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
    os.execve(command[0], command, dict(os.environ))


main(*sys.argv[1:])
