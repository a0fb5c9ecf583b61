"""What the tests of the Python package share."""

import os
import subprocess
import sys
import time
import unittest

from repertoire import Library, define_skill, define_tool

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": True}
GREET = define_skill("greet", "Greets people. Use when someone says hello.", "# Greet\n\nBe warm.\n")
LIMIT = 60


def is_running(pid):
    """Returns whether a process runs; one that only waits to be counted does not."""
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TestCase(unittest.TestCase):
    def assert_gone(self, pid):
        """Waits until a process has ended."""
        deadline = time.monotonic() + LIMIT
        while is_running(pid):
            self.assertLess(time.monotonic(), deadline, "the engine is left behind")
            time.sleep(0.01)

    def program(self, text, **options):
        """Starts a program that can use `LIBRARY`, a library with the skill `greet` and the tool `wait`."""
        source = f"import sys; sys.path[:0] = {[os.path.dirname(__file__)]!r}\nfrom support import *\n{text}"
        return subprocess.Popen(
            [sys.executable, "-u", "-c", source],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )

    def run_program(self, text, status=0):
        """Runs a program to its end, and returns the lines that it printed; standard error has to be empty."""
        program = self.program(text)
        output, errors = program.communicate(timeout=LIMIT)
        self.assertEqual((program.returncode, errors), (status, ""))
        return output.splitlines()


def tool(name, function):
    return define_tool(name, "A tool of a test.", SCHEMA, function)
