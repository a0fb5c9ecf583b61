#!/usr/bin/env python3
"""Runs a program and says which of its functions ran: tracer.py FILE PROGRAM ARGUMENT...

There is a breakpoint on every function that the program has a symbol for, and the first to get there takes it away, so the program
is hardly slower for it. FILE gets the addresses. For Linux on x86-64; input, output and signals are the program's own.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

from symbols import functions

TRACE_ME, CONTINUE, GET_REGISTERS, SET_REGISTERS, SET_OPTIONS = 0, 7, 12, 13, 0x4200
# Forks, threads and new programs are traced too.
FOLLOW = 0x2 | 0x4 | 0x8 | 0x10
ALL_THREADS = 0x40000000
BREAKPOINT = b"\xcc"

NAMES = """
    r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs
""".split()


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in NAMES]


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread, address=None, data=None):
    if libc.ptrace(request, thread, address, data) == -1:
        # A thread that was ended meanwhile is waited for like any other.
        error = ctypes.get_errno()
        if error != 3:
            raise OSError(error, os.strerror(error))


def start(command):
    """Starts a program that waits before its first instruction, and returns its number."""
    process = os.fork()
    if process == 0:
        libc.ptrace(TRACE_ME, 0, None, None)
        os.execv(command[0], command)
    os.waitpid(process, 0)
    ptrace(SET_OPTIONS, process, None, FOLLOW)
    return process


def places(process, program):
    """Returns where the program begins in memory, and where there is code."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    own = [line.split() for line in lines if line.endswith(os.path.realpath(program))]
    spans = [(tuple(int(end, 16) for end in span.split("-")), rights) for span, rights, *_ in own]
    return spans[0][0][0], [range(*span) for span, rights in spans if "x" in rights]


def trace(command):
    """Runs a program to its end and returns the addresses of the functions that ran."""
    process = start(command)
    base, code = places(process, command[0])
    memory = open(f"/proc/{process}/mem", "r+b", buffering=0)

    def put(place, byte):
        memory.seek(place)
        memory.write(byte)

    replaced = {}
    for place in (base + address for address in functions(command[0])):
        if any(place in span for span in code):
            memory.seek(place)
            replaced[place] = memory.read(1)
            put(place, BREAKPOINT)
    ran = set()
    registers = Registers()
    ptrace(CONTINUE, process)
    while True:
        thread, status = os.waitpid(-1, ALL_THREADS)
        if not os.WIFSTOPPED(status):
            if thread == process:
                return {place - base for place in ran}
            continue
        stopped_by, told = os.WSTOPSIG(status), None
        if stopped_by == signal.SIGTRAP and status >> 16 == 0:
            ptrace(GET_REGISTERS, thread, None, ctypes.byref(registers))
            place = registers.rip - 1
            if place in replaced:
                if place not in ran:
                    ran.add(place)
                    put(place, replaced[place])
                # Another thread may have got there before the breakpoint was gone.
                registers.rip = place
                ptrace(SET_REGISTERS, thread, None, ctypes.byref(registers))
        elif stopped_by not in (signal.SIGTRAP, signal.SIGSTOP):
            told = stopped_by
        ptrace(CONTINUE, thread, None, told)


if __name__ == "__main__":
    addresses = trace(sys.argv[2:])
    Path(sys.argv[1]).write_text("".join(f"{address:x}\n" for address in sorted(addresses)))
