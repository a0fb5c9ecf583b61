"""The process ``rep session``, and the lines that are exchanged with it."""

from __future__ import annotations

import asyncio
import base64
import inspect
import io
import json
import os
import shutil
import subprocess
import sysconfig
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, is_dataclass
from typing import Any

Json = dict[str, Any]

#: The version of the protocol that this module speaks.
PROTOCOL = 1

#: The seconds that the process has to end by itself.
END_TIMEOUT = 10.0

#: The longest line that the engine reads, in bytes.
MAX_LINE_BYTES = 64 * 1024 * 1024

#: The bytes that a pipe takes at once or not at all, at the least.
PIPE_BYTES = 512

#: The lines of standard error that an exception about the end of the process shows.
KEPT_LINES = 20


class RepertoireError(Exception):
    """A request that was not answered. ``kind`` is a word of the protocol, such as ``bad_request``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class EngineError(RepertoireError):
    """There is no engine: it was not found, it ended, or it was closed."""

    def __init__(self, message: str) -> None:
        super().__init__("engine", message)


class ToolError(RepertoireError):
    """A tool of the session answered with an error, which is the message."""

    def __init__(self, message: str) -> None:
        super().__init__("tool", message)


def find_binary() -> str:
    """Returns the program: ``REPERTOIRE_BIN``, that of the package, or the first on ``PATH``."""
    if chosen := os.environ.get("REPERTOIRE_BIN"):
        return chosen
    name = "rep.exe" if os.name == "nt" else "rep"
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        if os.path.isfile(path := os.path.join(sysconfig.get_path("scripts", scheme), name)):
            return path
    if found := shutil.which("rep"):
        return found
    raise EngineError("there is no program `rep`: install the package `repertoire-cli`, or set REPERTOIRE_BIN")


def given(fields: Mapping[str, Any]) -> Json:
    """Returns the fields that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}


def plain(value: Any) -> Any:
    """Returns ``value``, which JSON has no word for, as something that it has."""
    for name in ("model_dump", "to_dict", "dict"):
        if callable(method := getattr(value, name, None)):
            return method()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (Sequence, set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to the engine")


def line_of(fields: Json) -> bytes:
    """Returns ``fields`` as a line that the engine can read. What is not Unicode becomes ``?``."""
    text = json.dumps(fields, default=plain, ensure_ascii=False, allow_nan=False)
    line = text.encode("utf-8", "replace") + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise RepertoireError("malformed", f"the engine reads at most {MAX_LINE_BYTES} bytes at once, not {len(line)}")
    return line


def answer_of(operation: str, value: Any) -> Json:
    """Returns the fields of the answer to a request of the engine that gave ``value``."""
    if operation == "approve":
        return {"verdict": {True: "once", False: "refused", None: "unasked"}.get(value, str(value))}
    if isinstance(value, (bytes, bytearray)):
        return {"base64": base64.b64encode(value).decode()}
    return {"text": value if isinstance(value, str) else json.dumps(value, default=plain)}


class Engine:
    """One process ``rep session``. Threads share it; a process that was forked off cannot use it."""

    def __init__(
        self, arguments: Sequence[str], hello: Json, host: Callable[[Json], Any],
        cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._host, self._loop = host, loop
        # The end of a library that is collected as garbage may come at any time, also while this thread has the lock.
        self._lock = threading.RLock()
        # Whoever writes may have to wait until the engine reads; whoever reads must never wait for that.
        self._writing = threading.Lock()
        self._pid = os.getpid()
        self._last = 0
        self._pending: dict[int, Future[Json]] = {}
        # The questions that are not answered; a coroutine that answers one is there to be cancelled.
        self._tasks: dict[int, Future[Any] | None] = {}
        self._listeners: list[Callable[[Json | None], None]] = []
        self._failure: EngineError | None = None
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        command = [find_binary(), *arguments]
        try:
            # A session of its own keeps Ctrl-C away from it: this program decides what ends.
            self._process = subprocess.Popen(
                command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=cwd, env=None if env is None else {**os.environ, **env}, start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise EngineError(f"cannot start {command[0]}: {error}") from error
        _engines.add(self)
        self._complaints = threading.Thread(target=self._listen_to_complaints, daemon=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._complaints.start()
        self._reader.start()
        try:
            self.hello = self.request(op="hello", protocol=PROTOCOL, **hello)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process id of the engine."""
        return self._process.pid

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._failure is None

    def request(self, **fields: Any) -> Future[Json]:
        """Sends a request, and returns the future of its answer."""
        future: Future[Json] = Future()
        with self._lock:
            self._last += 1
            number = self._last
        # An argument that cannot be sent fails here and leaves nothing that waits.
        line = line_of({"id": number, **given(fields)})
        with self._lock:
            if self._failure is not None:
                raise EngineError(str(self._failure))
            self._pending[number] = future
        future.add_done_callback(lambda done: self._cancel(number) if done.cancelled() else None)
        self._send(line)
        return future

    def wait(self, future: Future[Json], timeout: float | None = None) -> Json:
        """Waits for an answer. Whatever ends the waiting early, such as Ctrl-C, cancels the request."""
        try:
            return future.result(timeout)
        finally:
            future.cancel()

    def _cancel(self, number: int) -> None:
        try:
            self.request(op="cancel", request=number)
        except EngineError:
            pass

    def _send(self, line: bytes, is_last: bool = False) -> None:
        if len(line) > PIPE_BYTES and threading.current_thread() is threading.main_thread():
            # Ctrl-C would interrupt it in the middle of the line; other threads are never interrupted.
            writer = threading.Thread(target=self._write, args=(line, is_last), daemon=True)
            writer.start()
            writer.join()
        else:
            self._write(line, is_last)

    def _write(self, line: bytes, is_last: bool) -> None:
        rest = memoryview(line)
        stdin = self._process.stdin
        with self._writing:
            try:
                while stdin is not None and rest:
                    rest = rest[stdin.write(rest) or 0 :]
                if stdin is not None and is_last:
                    stdin.close()
            except (OSError, ValueError):
                # It is gone, which the reading thread reports to everyone who waits.
                pass

    def _read(self) -> None:
        assert self._process.stdout is not None
        lines = io.BufferedReader(io.FileIO(self._process.stdout.fileno(), closefd=False))
        try:
            for text in lines:
                self._take(json.loads(text))
        except Exception as error:  # whatever it is, who waits must be told
            self._said.append(f"a line could not be read: {error!r}")
            self._process.kill()
        status = self._process.wait()
        self._complaints.join(1)
        self._fail(EngineError("\n".join([f"the engine has ended, with status {status}", *self._said])))

    def _take(self, line: Json) -> None:
        if "ok" in line:
            with self._lock:
                future = self._pending.pop(line.get("id", 0), None)
            if future is None or not future.set_running_or_notify_cancel():
                return
            if line["ok"]:
                future.set_result(line)
            else:
                future.set_exception(RepertoireError(line["error"]["kind"], line["error"]["message"]))
        elif line.get("notice") == "withdrawn":
            with self._lock:
                task = self._tasks.pop(line["request"], None)
            self._withdraw([task])
        elif "notice" in line:
            self._tell(line)
        elif "request" in line:
            with self._lock:
                self._tasks[line["request"]] = None
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: Json) -> None:
        """Does what the engine asks for, on a thread of its own; coroutines run in the loop of an AsyncLibrary."""
        begin = {"op": "answer", "request": line["request"]}
        try:
            value = self._host(line)
            if inspect.isawaitable(value):
                value = self._awaited(value, line["request"])
            answer = line_of({**begin, **answer_of(line["op"], value)})
        except BaseException as error:  # the engine waits for an answer in any case
            answer = line_of({**begin, "error": {"kind": type(error).__name__, "message": str(error)}})
        with self._lock:
            self._tasks.pop(line["request"], None)
        self._send(answer)

    def _awaited(self, value: Any, number: int) -> Any:
        async def run() -> Any:
            return await value

        if self._loop is None:
            return asyncio.run(run())
        running = run()
        try:
            task = asyncio.run_coroutine_threadsafe(running, self._loop)
        except RuntimeError:
            running.close()
            raise
        with self._lock:
            is_withdrawn = number not in self._tasks
            if not is_withdrawn:
                self._tasks[number] = task
        self._withdraw([task] if is_withdrawn else [])
        return task.result()

    def _listen_to_complaints(self) -> None:
        assert self._process.stderr is not None
        try:
            for text in io.BufferedReader(io.FileIO(self._process.stderr.fileno(), closefd=False)):
                self._said.append(text.decode(errors="replace").rstrip())
        except (OSError, ValueError):
            pass

    def listen(self, listener: Callable[[Json | None], None]) -> Callable[[], None]:
        """Calls ``listener`` with every notice, and with ``None`` at the end. Returns what ends that."""
        with self._lock:
            failure = self._failure
            self._listeners.append(listener)
        if failure is not None:
            listener(None)

        def leave() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return leave

    def _tell(self, notice: Json | None) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(notice)

    def _fail(self, failure: EngineError) -> None:
        with self._lock:
            self._failure = self._failure or failure
            pending, self._pending = self._pending, {}
            tasks, self._tasks = self._tasks, {}
        for future in pending.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(self._failure)
        self._withdraw(tasks.values())
        self._tell(None)

    def _withdraw(self, tasks: Iterable[Future[Any] | None]) -> None:
        """Cancels coroutines that nobody waits for any more, if their loop is there."""
        for task in tasks:
            if task is not None and self._loop is not None and not self._loop.is_closed():
                task.cancel()

    def close(self) -> None:
        """Ends the process; requests that are not answered yet fail. A second call does nothing."""
        if self._pid != os.getpid():
            return
        with self._lock:
            is_closed = self._failure is not None
        self._fail(EngineError("the library is closed"))
        if not is_closed:
            self._send(line_of({"op": "end"}), is_last=True)
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in (self._reader, self._complaints):
            if thread is not threading.current_thread():
                thread.join(1)
        if not (self._reader.is_alive() or self._complaints.is_alive()):
            self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _forget(self) -> None:
        """Lets go of the process in a process that was forked off, which must not keep its pipes open."""
        self._lock, self._writing = threading.RLock(), threading.Lock()
        self._failure = EngineError("the library was opened before this process was forked off: open one in it")
        self._pending, self._tasks, self._listeners = {}, {}, []
        self._process.returncode = 0
        self._close_pipes()


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


def _forget_all() -> None:
    for engine in list(_engines):
        engine._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
