"""The library and its sessions for asyncio: the methods are those of their twins, as coroutines."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, Concatenate, ParamSpec, TypeVar

from ._engine import Engine, Json
from ._library import LibraryOptions, Session, Stream, change_of, events_of
from ._values import Asking, Inherit, Render

P = ParamSpec("P")
T = TypeVar("T")


async def answer_to(future: Future[Json], timeout: float | None = None) -> Json:
    """Waits for an answer in the running loop. A task that is cancelled cancels the request."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def done(_: Future[Json]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if waiter.done() else waiter.set_result(None))
        except RuntimeError:
            # The loop was closed before the answer came: nobody waits.
            pass

    future.add_done_callback(done)
    try:
        await asyncio.wait_for(waiter, timeout)
    finally:
        future.cancel()
    return future.result()


class AsyncNotices(Stream, AsyncIterator[Json]):
    __doc__ = Stream.__doc__

    def __init__(self, engine: Engine, read: Callable[[Json], Json | None]) -> None:
        loop, self._changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(self._changed.set)
            except RuntimeError:
                # The loop was closed: nobody waits.
                self._leave()

        super().__init__(engine, read, wake)

    async def __anext__(self) -> Json:
        while (found := self._oldest(StopAsyncIteration())) is None:
            await self._changed.wait()
            self._changed.clear()
        return found


class AsyncLibrary(LibraryOptions):
    """A :class:`Library` whose methods are coroutines, within ``async with``; calls run at the same time.

    Functions of tools, resources and approvals may be coroutines, which run in the loop that entered the library; others run on
    threads.

    >>> import asyncio
    >>> from repertoire import AsyncLibrary
    >>> async def main():
    ...     async with AsyncLibrary(directory="skills") as library, await library.session() as session:
    ...         return (await session.call("load_skill", {"name": "git"})).data["name"]
    >>> asyncio.run(main())
    'git'
    """

    async def __aenter__(self) -> AsyncLibrary:
        engine = self._start(asyncio.get_running_loop())
        try:
            self.engine = await answer_to(engine.hello)
        except BaseException:
            await self.close()
            raise
        return self

    async def session(
        self, agent: str | None = None, *, role: str | None = None, skills: Sequence[str] | None = None,
        profile: str | None = None, render: Render | None = None,
    ) -> AsyncSession:
        """Opens a session: one agent's conversation."""
        fields = {"agent": agent, "role": role, "skills": skills, "profile": profile, "render": render}
        return AsyncSession(self, (await answer_to(self._engine.request(op="open", **fields)))["session"])

    async def events(self) -> AsyncNotices:
        """Returns an iterator over the events of all sessions from now on."""
        await answer_to(self._engine.request(op="subscribe", events=True))
        return AsyncNotices(self._engine, events_of(None))

    async def changes(self) -> AsyncNotices:
        """Returns an iterator over the changes of the skills from now on."""
        await answer_to(self._engine.request(op="subscribe", changes=True))
        return AsyncNotices(self._engine, change_of)

    async def close(self) -> None:
        """Ends the engine; calls that are not answered yet fail."""
        await asyncio.get_running_loop().run_in_executor(None, self._engine.close)

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def awaited(
    method: Callable[Concatenate[Session, P], T],
) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, T]]:
    """Makes the coroutine of a method of :class:`Session`."""
    build: Callable[..., Asking[T]] = getattr(method, "__wrapped__")

    @functools.wraps(build)
    async def coroutine(self: AsyncSession, /, *arguments: P.args, **options: P.kwargs) -> T:
        asking = build(self, *arguments, **options)
        try:
            fields, timeout = next(asking)
            while True:
                answer = await answer_to(self._engine.request(session=self.id, **fields), timeout)
                fields, timeout = asking.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    return coroutine


class AsyncSession:
    """A :class:`Session` whose methods are coroutines; :meth:`AsyncLibrary.session` opens one."""

    def __init__(self, library: LibraryOptions, id: str) -> None:
        self._library, self._engine = library, library._engine
        #: The identifier that events name.
        self.id = id

    catalog = awaited(Session.catalog)
    prompt = awaited(Session.prompt)
    tools = awaited(Session.tools)
    call = awaited(Session.call)
    handle = awaited(Session.handle)
    handle_all = awaited(Session.handle_all)
    observe = awaited(Session.observe)
    compacted = awaited(Session.compacted)
    evicted = awaited(Session.evicted)
    reattach = awaited(Session.reattach)
    delta = awaited(Session.delta)
    focus = awaited(Session.focus)
    refresh = awaited(Session.refresh)
    working_on = awaited(Session.working_on)
    state = awaited(Session.state)
    diagnostics = awaited(Session.diagnostics)
    search = awaited(Session.search)
    files = awaited(Session.files)
    read = awaited(Session.read)
    run = awaited(Session.run)
    propose = awaited(Session.propose)
    close = awaited(Session.close)

    async def subagent(
        self, agent: str | None = None, *, inherit: Inherit | None = None, skills: Sequence[str] | None = None
    ) -> AsyncSession:
        """See :meth:`Session.subagent`."""
        fields = {"session": self.id, "agent": agent, "inherit": inherit, "skills": skills}
        answer = await answer_to(self._engine.request(op="subagent", **fields))
        return AsyncSession(self._library, answer["session"])

    async def events(self) -> AsyncNotices:
        """See :meth:`Session.events`."""
        await answer_to(self._engine.request(op="subscribe", events=True))
        return AsyncNotices(self._engine, events_of(self.id))

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
