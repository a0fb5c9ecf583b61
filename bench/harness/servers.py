"""A PostgreSQL server and servers of `rep` for measurements and tries, each in a directory of its own and on loopback addresses."""

import contextlib
import glob
import http.client
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

# PostgreSQL refuses to be run by root.
NOBODY = 65_534
START_SECONDS = 120


class ServerError(Exception):
    """A server cannot be started, or has ended."""


class Postgres:
    """A PostgreSQL server on a Unix socket, for as long as the block lasts."""

    def __init__(self, directory, options=""):
        self.directory, self.options = Path(directory), options
        self.binaries = postgres_binaries()

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        if os.getuid() == 0:
            os.chown(self.directory, NOBODY, NOBODY)
        self.run("initdb", "-D", self.data(), "-U", "rep", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        options = f"-c listen_addresses='' -k {self.directory} {self.options}"
        self.run("pg_ctl", "-D", self.data(), "-w", "-l", str(self.directory / "log"), "-o", options, "start")
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", self.data(), "-w", "-m", "fast", "stop")

    def data(self):
        return str(self.directory / "data")

    def url(self, database="postgres"):
        return f"postgres://rep@{str(self.directory).replace('/', '%2F')}/{database}"

    def run(self, program, *arguments):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        command = [self.binaries / program, *arguments]
        # A server that goes on must not keep a pipe open.
        log = self.directory / "commands"
        with open(log, "ab") as output:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.directory, **user)
        if done.returncode != 0:
            raise ServerError(f"{program} failed: {log.read_text()[-2000:]}")

    def query(self, *statements):
        """Runs SQL statements, and returns the last result as text."""
        command = [self.binaries / "psql", "-Atq", *(part for statement in statements for part in ("-c", statement)), self.url()]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    @contextlib.contextmanager
    def stopped(self):
        """Stops all its processes with SIGSTOP for as long as the block lasts: it keeps its connections, and says nothing."""
        main = int((self.directory / "data" / "postmaster.pid").read_text().split()[0])
        # It makes no more processes from here on.
        os.kill(main, signal.SIGSTOP)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(main)], capture_output=True, text=True).stdout
        processes = [main, *map(int, children.split())]
        try:
            for process in processes:
                os.kill(process, signal.SIGSTOP)
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def set(self, name, value):
        """Changes a setting of the running server."""
        self.query(f"ALTER SYSTEM SET {name} = {value}", "SELECT pg_reload_conf()")

    def database_mb(self):
        return int(self.query("SELECT pg_database_size('postgres')")) / 1e6


def postgres_binaries():
    """Returns the directory with the programs of PostgreSQL, which Debian keeps off the path."""
    found = shutil.which("initdb")
    directories = [Path(found).resolve().parent] if found else []
    directories += [Path(path).parent for path in sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    for directory in directories:
        if (directory / "pg_ctl").is_file():
            return directory
    raise ServerError("PostgreSQL (initdb, pg_ctl) is not installed")


class Replica:
    """A server `rep serve --http`."""

    def __init__(self, rep, directory, store, port=None, arguments=(), configuration=""):
        self.rep, self.port = Path(rep).resolve(), port or free_port()
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.configuration = self.directory / "config.toml"
        self.configuration.write_text(configuration)
        self.environment = environment(self.directory, store)
        self.arguments, self.process = list(arguments), None

    def start(self):
        """Starts it, and returns the seconds until it is ready."""
        begin = time.monotonic()
        command = [self.rep, "--config", self.configuration, "serve", "--http", f"127.0.0.1:{self.port}", *self.arguments]
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, cwd=self.directory
            )
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > begin + START_SECONDS:
                raise ServerError(f"rep does not serve: {(self.directory / 'log').read_text()[-2000:]}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def is_ready(self):
        return self.status("/readyz") == 200

    def status(self, path):
        """Returns the status of the answer to a GET, or None without an answer."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None

    def stop(self):
        """Asks it to end, and returns the seconds that it took."""
        begin = time.monotonic()
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            if self.process.wait(60) != 0:
                raise ServerError(f"rep ended with {self.process.returncode}")
        return time.monotonic() - begin

    def memory_mb(self):
        """Returns the resident memory and the part of it that is no file."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return tuple(int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "RssAnon"))

    def processor_seconds(self):
        """Returns the processor time that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def environment(directory, store):
    """Returns the variables of a `rep` with an empty home and this store."""
    home = Path(directory) / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "REPERTOIRE_STORE_URL": store}


def free_port():
    """Returns a port that nobody listens on, and that no outgoing connection gets while a server is replaced."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
