"""The engine ends with its library, however that ends; calls that are not answered fail and never hang."""

import asyncio
import concurrent.futures as futures
import fcntl
import functools
import os
import signal
import struct
import tempfile
import termios
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import repertoire._engine
from repertoire import AsyncLibrary, EngineError, Library, RepertoireError, define_skill
from support import GREET, LIMIT, TestCase, tool


class Waiting:
    """A tool that is called and does not return before it is told to."""

    def __init__(self):
        self.called, self.go_on = threading.Event(), threading.Event()
        self.tool = tool("wait", self.call)

    def call(self, **_):
        self.called.set()
        self.go_on.wait(LIMIT)
        return "done"


class Crash(TestCase):
    def test_a_crash_fails_pending_and_later_calls(self):
        waiting = Waiting()
        with Library(skills=[GREET], tools=[waiting.tool]) as library, ThreadPoolExecutor() as pool:
            session = library.session()
            pending = pool.submit(session.call, "wait")
            waiting.called.wait(LIMIT)
            os.kill(library._engine.pid, signal.SIGKILL)
            with self.assertRaisesRegex(EngineError, "the engine has ended, with status -9"):
                pending.result(LIMIT)
            waiting.go_on.set()
            with self.assertRaisesRegex(EngineError, "has ended"):
                session.catalog()

    def test_a_crash_ends_iterators_and_awaits(self):
        async def main():
            async with AsyncLibrary(skills=[GREET]) as library:
                session = await library.session()
                events = await session.events()
                os.kill(library._engine.pid, signal.SIGKILL)
                self.assertEqual([event async for event in events], [])
                with self.assertRaises(EngineError):
                    await session.catalog()

        asyncio.run(asyncio.wait_for(main(), LIMIT))

    def test_an_engine_that_cannot_start_says_why(self):
        with self.assertRaisesRegex(EngineError, "there is no directory"):
            Library(directory="/nonexistent")
        chosen = os.environ["REPERTOIRE_BIN"]
        try:
            os.environ["REPERTOIRE_BIN"] = "/nonexistent/rep"
            with self.assertRaisesRegex(EngineError, "cannot start /nonexistent/rep"):
                Library()
            os.environ["REPERTOIRE_BIN"] = "/bin/true"
            with self.assertRaisesRegex(EngineError, "the engine has ended, with status 0"):
                Library()
            with tempfile.TemporaryDirectory() as directory:
                number = os.path.join(directory, "number")
                with open(number, "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as script:
                    script.write("#!/bin/sh\necho 42\nexec cat\n")
                for program in ("/bin/yes", number):
                    os.environ["REPERTOIRE_BIN"] = program
                    with self.assertRaisesRegex(EngineError, "a line could not be read"):
                        Library()
        finally:
            os.environ["REPERTOIRE_BIN"] = chosen


    def test_a_library_that_cannot_be_greeted_leaves_nothing(self):
        before = set(repertoire._engine._engines)
        for metadata, error in (({"a": object()}, TypeError), ({"a": float("nan")}, ValueError)):
            with self.assertRaises(error):
                Library(skills=[define_skill("greet", "Greets people. Use when someone says hello.", "x", metadata=metadata)])
        self.assertEqual([engine.pid for engine in set(repertoire._engine._engines) - before if engine.is_open], [])

    def test_a_library_that_was_not_entered_says_so(self):
        with self.assertRaisesRegex(EngineError, "async with"):
            asyncio.run(AsyncLibrary(skills=[GREET]).session())


class Lines(TestCase):
    def setUp(self):
        answers = {"half": lambda: "a\udcffb", "long": lambda: "x" * 20_000, "object": object, "echo": lambda it: it}
        self.library = Library(skills=[GREET], tools=[tool(name, answer) for name, answer in answers.items()])
        self.addCleanup(self.library.close)
        self.session = self.library.session()

    def test_what_json_cannot_say_is_refused_and_never_awaited(self):
        deep = functools.reduce(lambda inner, _: [inner], range(200), 0)
        for name, error in ((float("nan"), ValueError), (object(), TypeError), (10**400, RepertoireError), (deep, RepertoireError)):
            with self.assertRaises(error):
                self.session.call("load_skill", {"name": name}, timeout=LIMIT)
        self.assertIn("no skill `?`", self.session.call("load_skill", {"name": "\ud800"}, timeout=LIMIT).text)
        self.assertEqual(self.session.call("echo", {"it": "é\u2028😀\0"}, timeout=LIMIT).text, "é\u2028😀\0")
        self.assertEqual(self.session.call("half", timeout=LIMIT).text, "a?b")
        self.assertIn("TypeError: object", self.session.call("object", timeout=LIMIT).text)

    def test_what_is_longer_than_a_line_is_refused(self):
        with mock.patch.object(repertoire._engine, "MAX_LINE_BYTES", 10_000):
            with self.assertRaisesRegex(RepertoireError, "at most 10000 bytes"):
                self.session.focus(["x" * 10_000])
            self.assertIn("at most 10000 bytes", self.session.call("long", timeout=LIMIT).text)
        self.assertEqual(len(self.session.call("long", timeout=LIMIT).text), 20_000)

    def test_a_long_line_is_whole_after_ctrl_c(self):
        engine = self.library._engine

        def interrupt():
            # The pipe is full, and the main thread waits until the rest of the line can be written.
            while struct.unpack("i", fcntl.ioctl(engine._process.stdin, termios.FIONREAD, b"    "))[0] < 4_096:
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        os.kill(engine.pid, signal.SIGSTOP)
        try:
            threading.Thread(target=interrupt).start()
            with self.assertRaises(KeyboardInterrupt):
                self.session.focus(["x" * 5_000_000])
        finally:
            os.kill(engine.pid, signal.SIGCONT)
        self.assertIn("greet", self.session.catalog())


class End(TestCase):
    def test_close_ends_the_engine_and_fails_what_is_pending(self):
        waiting = Waiting()
        library = Library(skills=[GREET], tools=[waiting.tool])
        with ThreadPoolExecutor() as pool:
            pending = pool.submit(library.session().call, "wait")
            waiting.called.wait(LIMIT)
            library.close()
            self.assert_gone(library._engine.pid)
            with self.assertRaises(EngineError):
                pending.result(LIMIT)
            waiting.go_on.set()
        library.close()
        with self.assertRaisesRegex(EngineError, "the library is closed"):
            library.session()

    def test_nothing_is_left_when_a_program_forgets_to_close(self):
        text = "library = Library(skills=[GREET]); session = library.session(); print(library._engine.pid)"
        (pid,) = self.run_program(text)
        self.assert_gone(int(pid))
        (pid,) = self.run_program(text + "\nimport os; os._exit(3)", status=3)
        self.assert_gone(int(pid))

    def test_a_library_that_is_forgotten_ends(self):
        library = Library(skills=[GREET])
        pid = library._engine.pid
        del library
        self.assert_gone(pid)

    def test_nothing_is_left_of_a_program_that_is_killed(self):
        program = self.program("library = Library(skills=[GREET])\nprint(library._engine.pid)\nsys.stdin.read()")
        pid = int(program.stdout.readline())
        program.kill()
        program.communicate(timeout=LIMIT)
        self.assert_gone(pid)

    def test_a_thread_that_waits_does_not_hold_up_the_end(self):
        (pid,) = self.run_program(
            "import threading\n"
            "called = threading.Event()\n"
            "def wait(): called.set(); threading.Event().wait()\n"
            "library = Library(skills=[GREET], tools=[tool('wait', wait)]); session = library.session()\n"
            "def ask():\n"
            "    try: session.call('wait')\n"
            "    except Exception: pass\n"
            "threading.Thread(target=ask, daemon=True).start(); called.wait(); print(library._engine.pid)"
        )
        self.assert_gone(int(pid))


class Interrupt(TestCase):
    def test_ctrl_c_interrupts_the_call_and_not_the_engine(self):
        program = self.program(
            "import threading\n"
            "def wait(): print('called'); threading.Event().wait(5)\n"
            "with Library(skills=[GREET], tools=[tool('wait', wait)]) as library:\n"
            "    session = library.session(); print(library._engine.pid)\n"
            "    try: session.call('wait')\n"
            "    except KeyboardInterrupt: print(session.call('load_skill', {'name': 'greet'}).data['name'])\n",
            start_new_session=True,
        )
        pid = int(program.stdout.readline())
        self.assertEqual(program.stdout.readline(), "called\n")
        # As a terminal does, to everything in the foreground.
        os.killpg(program.pid, signal.SIGINT)
        output, errors = program.communicate(timeout=LIMIT)
        self.assertEqual((output, errors, program.returncode), ("greet\n", "", 0))
        self.assert_gone(pid)


class Fork(TestCase):
    def test_a_fork_cannot_use_the_library_and_does_not_keep_it_alive(self):
        lines = self.run_program(
            "import os\n"
            "from repertoire import EngineError\n"
            "library = Library(skills=[GREET]); session = library.session()\n"
            "reader, writer = os.pipe(); blocked, release = os.pipe()\n"
            "if os.fork() == 0:\n"
            "    try: session.catalog()\n"
            "    except EngineError as error: os.write(writer, str(error).encode())\n"
            "    library.close()\n"
            "    with Library(skills=[GREET]) as own: own.session().catalog()\n"
            "    os.write(writer, b'\\n'); os.close(release); os.read(blocked, 1); os._exit(0)\n"
            "os.close(writer)\n"
            "with os.fdopen(reader) as said: print(said.readline().strip())\n"
            "print('greet' in session.catalog())\n"
            "library.close(); print(library._engine.pid)\n"
            "os.close(release); os.wait()"
        )
        self.assertRegex(lines[0], "opened before this process was forked off")
        self.assertEqual(lines[1], "True")
        self.assert_gone(int(lines[2]))

    def test_the_end_of_a_fork_does_not_end_the_engine(self):
        lines = self.run_program(
            "import os\n"
            "library = Library(skills=[GREET]); session = library.session()\n"
            "if os.fork() == 0: sys.exit()\n"
            "os.wait(); print('greet' in session.catalog())"
        )
        self.assertEqual(lines, ["True"])


class Threads(TestCase):
    def test_threads_share_a_session_and_calls_run_at_the_same_time(self):
        waiting = Waiting()
        with Library(skills=[GREET], tools=[waiting.tool]) as library, ThreadPoolExecutor(16) as pool:
            session = library.session()
            slow = pool.submit(session.call, "wait")
            waiting.called.wait(LIMIT)
            loads = [pool.submit(session.call, "load_skill", {"name": "greet"}) for _ in range(200)]
            self.assertEqual({load.result(LIMIT).data["name"] for load in loads}, {"greet"})
            self.assertFalse(slow.done())
            waiting.go_on.set()
            self.assertEqual(slow.result(LIMIT).text, "done")

    def test_a_tool_may_call_the_session_that_calls_it(self):
        def nested(depth):
            return "bottom" if depth == 0 else session.call("nested", {"depth": depth - 1}).text

        with Library(tools=[tool("nested", nested)]) as library:
            session = library.session()
            self.assertEqual(session.call("nested", {"depth": 20}).text, "bottom")

    def test_a_worker_thread_may_own_a_library(self):
        def work(_):
            with Library(skills=[GREET]) as library:
                return library._engine.pid, library.session().call("load_skill", {"name": "greet"}).is_error

        with ThreadPoolExecutor(4) as pool:
            for pid, is_error in pool.map(work, range(4)):
                self.assertFalse(is_error)
                self.assert_gone(pid)


class Cancellation(TestCase):
    def test_a_timeout_cancels_the_call(self):
        waiting = Waiting()
        with Library(skills=[GREET], tools=[waiting.tool]) as library:
            session = library.session()
            with self.assertRaises(futures.TimeoutError):
                session.call("wait", timeout=0.05)
            self.assertIn("greet", session.catalog())
            waiting.go_on.set()

    def test_a_cancelled_task_cancels_the_coroutine_of_the_tool(self):
        async def main():
            called, cancelled = asyncio.Event(), asyncio.Event()

            async def wait():
                called.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.set()
                    raise

            async with AsyncLibrary(skills=[GREET], tools=[tool("wait", wait)]) as library:
                session = await library.session()
                call = asyncio.create_task(session.call("wait"))
                await called.wait()
                call.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await call
                await cancelled.wait()
                self.assertIn("greet", await session.catalog())

        asyncio.run(asyncio.wait_for(main(), LIMIT))


class ClosedLoop(TestCase):
    def test_a_loop_that_is_closed_early_leaves_nothing_and_says_nothing(self):
        (pid,) = self.run_program(
            "import asyncio, warnings; warnings.simplefilter('error')\n"
            "from repertoire import AsyncLibrary\n"
            "async def wait(): await asyncio.sleep(3600)\n"
            "async def begin():\n"
            "    library = await AsyncLibrary(skills=[GREET], tools=[tool('wait', wait)]).__aenter__()\n"
            "    session = await library.session()\n"
            "    library._engine.request(op='call', session=session.id, tool='wait')\n"
            "    future = library._engine.request(op='catalog', session=session.id)\n"
            "    events = await library.events()\n"
            "    return library, session, future, events\n"
            "loop = asyncio.new_event_loop()\n"
            "library, session, future, events = loop.run_until_complete(begin())\n"
            "task = session.catalog()\n"
            "loop.close(); task.close()\n"
            "print(library._engine.pid)"
        )
        self.assert_gone(int(pid))

    def test_a_second_loop_may_use_the_sync_library(self):
        async def read(session):
            return await asyncio.to_thread(session.catalog)

        with Library(skills=[GREET]) as library:
            session = library.session()
            self.assertEqual(asyncio.run(read(session)), asyncio.run(read(session)))
