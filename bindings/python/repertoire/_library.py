"""The library and its sessions."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, Union

from ._engine import Engine, EngineError, Json, RepertoireError, given
from ._skills import Skill, Tool
from ._values import (
    ApprovalRequest, Asking, Format, Inherit, Reattached, Render, Reply, SearchResult, ask, call, call_well
)

P = ParamSpec("P")
T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
#: The notices that an iterator keeps until they are asked for; older ones give way.
KEPT_NOTICES = 10_000


class Stream:
    """Notices of the engine, from now on. It ends with the library; ``close`` ends it earlier."""

    def __init__(self, engine: Engine, read: Callable[[Json], Json | None], wake: Callable[[], object]) -> None:
        self._read, self._wake = read, wake
        # `None` is the end.
        self._kept: deque[Json | None] = deque(maxlen=KEPT_NOTICES)
        self._leave = engine.listen(self._take)

    def _take(self, notice: Json | None) -> None:
        found = self._read(notice) if notice is not None else None
        if found is not None or notice is None:
            self._kept.append(found)
            self._wake()

    def _oldest(self, end: Exception) -> Json | None:
        """Returns the oldest notice, if there is one. Raises ``end`` behind the last."""
        try:
            found = self._kept.popleft()
        except IndexError:
            return None
        if found is None:
            self._kept.append(None)
        if self._kept:
            # For others who wait for the same notices.
            self._wake()
        if found is None:
            raise end
        return found

    def close(self) -> None:
        self._leave()
        self._take(None)


class Notices(Stream, Iterator[Json]):
    __doc__ = Stream.__doc__

    def __init__(self, engine: Engine, read: Callable[[Json], Json | None]) -> None:
        self._changed = threading.Event()
        super().__init__(engine, read, self._changed.set)

    def __next__(self) -> Json:
        while (found := self._oldest(StopIteration())) is None:
            self._changed.wait()
            self._changed.clear()
        return found


def events_of(session: str | None) -> Callable[[Json], Json | None]:
    """Returns what reads the events out of notices: those of a session and its sub-agents, or all."""

    def read(notice: Json) -> Json | None:
        event: Json = notice.get("event", {})
        name = str(event.get("session", ""))
        return event if event and (session is None or f"{name}.".startswith(f"{session}.")) else None

    return read


def change_of(notice: Json) -> Json | None:
    """Returns the change that a notice tells of, if it does."""
    return notice if notice["notice"] == "change" else None


class LibraryOptions:
    """What a library is opened with."""

    def __init__(
        self, directory: Path | Sequence[Path] | None = None, *, discover: bool = False, config: Path | None = None,
        profile: str | None = None, skills: Sequence[Skill] = (), tools: Sequence[Tool] = (),
        handlers: Mapping[str, Mapping[str, Callable[..., Any]]] | None = None, exec: bool = False,
        approve: Callable[[ApprovalRequest], Any] | None = None, cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._arguments = ["session", *(["--exec"] if exec else [])]
        directories = [directory] if isinstance(directory, (str, os.PathLike)) else list(directory or ())
        options = [("--root", it) for it in directories] + [("--config", config), ("--profile", profile)]
        for option, value in options:
            self._arguments += [] if value is None else [option, os.fspath(value)]
        own = {tool.name: tool.function for tool in tools}
        functions = {(skill.name, tool): it for skill in skills for tool, it in skill.handlers.items()}
        functions |= {(skill, tool): it for skill, theirs in (handlers or {}).items() for tool, it in theirs.items()}
        lazy = {(it.name, path): file for it in skills for path, file in it.resources.items() if callable(file)}
        self._hello: Json = {
            "directories": bool(directories) or discover or config is not None,
            "approvals": approve is not None,
            "skills": [skill.greeting() for skill in skills],
            "tools": [{"name": it.name, "description": it.description, "input_schema": it.input_schema} for it in tools],
            "handlers": [{"skill": skill, "tool": tool} for skill, tool in functions],
        }

        def host(line: Json) -> Any:
            """Does what the engine asks for. It must not keep the library, which ends when nobody has it."""
            match line["op"]:
                case "call_tool":
                    return own[line["tool"]](**line["arguments"])
                case "call_skill_tool":
                    return functions[line["skill"], line["tool"]](**line["arguments"])
                case "read_file":
                    return lazy[line["skill"], line["path"]]()
                case "approve" if approve is not None:
                    return approve(line)  # type: ignore[arg-type]
            raise LookupError(f"this program does not know the request `{line['op']}`")

        self._host = host
        self._cwd, self._env = cwd, env
        #: The versions of engine and protocol, and its features.
        self.engine: Json = {}
        self._started: Engine | None = None
        self._opened()

    def _opened(self) -> None:
        """Starts the engine of a library that needs no loop for that."""

    def _start(self, loop: Any = None) -> Engine:
        self._started = Engine(self._arguments, self._hello, self._host, self._cwd, self._env, loop)
        weakref.finalize(self, self._started.close)
        return self._started

    @property
    def _engine(self) -> Engine:
        if self._started is None:
            raise EngineError("the library is not open: enter it with `async with`")
        return self._started


class Library(LibraryOptions):
    """Skills, and the engine that serves them: one process ``rep session``, which ends with the library.

    ``directory`` names one or several directories of skills; ``discover`` finds skills as ``rep`` does in the working directory;
    ``config`` is a ``repertoire.toml``. Without the three, the skills are those defined in code. Threads may share a library.
    ``handlers`` has functions for tools that skills declare: by skill, by tool. ``exec`` lets models run tools and scripts of
    approved skills in the sandbox; ``approve`` is asked about skills that are not approved, and returns ``True`` (this time),
    ``"always"`` or ``False``.

    >>> from repertoire import Library
    >>> with Library(directory="skills") as library, library.session() as session:
    ...     "git" in session.catalog()
    True
    """

    def _opened(self) -> None:
        engine = self._start()
        try:
            self.engine = engine.wait(engine.hello)
        except BaseException:
            self.close()
            raise

    def session(
        self, agent: str | None = None, *, role: str | None = None, skills: Sequence[str] | None = None,
        profile: str | None = None, render: Render | None = None,
    ) -> Session:
        """Opens a session: one agent's conversation."""
        fields = {"agent": agent, "role": role, "skills": skills, "profile": profile, "render": render}
        return Session(self, self._engine.wait(self._engine.request(op="open", **fields))["session"])

    def events(self) -> Notices:
        """Returns an iterator over the events of all sessions from now on."""
        self._engine.wait(self._engine.request(op="subscribe", events=True))
        return Notices(self._engine, events_of(None))

    def changes(self) -> Notices:
        """Returns an iterator over the changes of the skills from now on."""
        self._engine.wait(self._engine.request(op="subscribe", changes=True))
        return Notices(self._engine, change_of)

    def close(self) -> None:
        """Ends the engine; calls that are not answered yet fail."""
        self._engine.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def asked(build: Callable[Concatenate[Session, P], Asking[T]]) -> Callable[Concatenate[Session, P], T]:
    """Makes the method that asks for what ``build`` requests."""

    @functools.wraps(build)
    def method(self: Session, /, *arguments: P.args, **options: P.kwargs) -> T:
        asking = build(self, *arguments, **options)
        try:
            fields, timeout = next(asking)
            while True:
                answer = self._engine.wait(self._engine.request(session=self.id, **fields), timeout)
                fields, timeout = asking.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    return method


class Session:
    """One agent's conversation; :meth:`Library.session` opens one. Threads may share it."""

    def __init__(self, library: LibraryOptions, id: str) -> None:
        # A library that nobody else keeps lives as long as its sessions.
        self._library, self._engine = library, library._engine
        #: The identifier that events name.
        self.id = id

    @asked
    def catalog(self, task: str | None = None, epoch: int = 0) -> Asking[str]:
        """Returns the catalog for the system prompt: the same text until it is refreshed."""
        return ask("catalog", task=task, epoch=epoch)

    @asked
    def prompt(self) -> Asking[str]:
        """Returns the system prompt of the agent or role, with the catalog in it."""
        return ask("prompt")

    @asked
    def tools(self, format: Format = "anthropic") -> Asking[list[Json]]:
        """Returns the tools in the shape of an API.

        >>> from repertoire import Library
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     [tool["function"]["name"] for tool in session.tools(format="openai")]
        ['load_skill', 'read_skill_file']
        """
        return ask("tools", "tools", format=format)

    @asked
    def call(
        self, tool: str, arguments: Mapping[str, Any] | str | None = None, timeout: float | None = None
    ) -> Asking[Reply]:
        """Answers a call of a tool. An error of the call is a reply; after ``timeout`` seconds the call is cancelled.

        >>> from repertoire import Library
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     session.call("load_skill", {"name": "nope"}).is_error
        True
        """
        return call(tool, {} if arguments is None else arguments, timeout)

    @asked
    def handle(self, tool_call: Any) -> Asking[Json]:
        """Answers a call as the model's API made it, with its result as the API takes it.

        >>> from repertoire import Library
        >>> call = {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "git"}}
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     session.handle(call)["tool_use_id"]
        't1'
        """
        return ask("handle", "result", call=tool_call)

    @asked
    def handle_all(self, response: Any) -> Asking[list[Json]]:
        """Answers all calls in an answer of a model. Returns the messages to append; none if nothing was called.

        ``response`` is what the client library of Anthropic, OpenAI or Gemini returns, or the same as dictionaries.
        """
        return ask("handle_all", "messages", response=response)

    @asked
    def observe(self, messages: Sequence[Any]) -> Asking[list[str]]:
        """Takes the transcript for the truth about what is loaded, and returns the names of the loaded skills."""
        return ask("observe", "loaded", messages=list(messages))

    @asked
    def compacted(self, kept: Sequence[Any] = ()) -> Asking[list[str]]:
        """Says what a compaction left: names of skills, or the remaining messages."""
        return ask("compacted", "loaded", kept=list(kept))

    @asked
    def evicted(self, name: str) -> Asking[list[str]]:
        """Says that the host took a skill's instructions out of the transcript."""
        return ask("evicted", "loaded", name=name)

    @asked
    def reattach(self, budget: int) -> Asking[Reattached]:
        """Returns what to put back after a compaction, within ``budget`` tokens."""
        answer = yield {"op": "reattach", "budget": budget}, None
        return Reattached(answer["text"], answer["tokens"], answer["pieces"], answer["metadata"])

    @asked
    def delta(self) -> Asking[str]:
        """Returns the note to append to the next user turn if the library changed, once per change; else nothing."""
        return ask("delta")

    @asked
    def focus(self, paths: Sequence[Path]) -> Asking[str]:
        """Returns the note that offers the skills for these files, once for each skill; else nothing."""
        return ask("focus", paths=[os.fspath(path) for path in paths])

    @asked
    def refresh(self) -> Asking[str]:
        """Writes the catalog anew from the library as it is now."""
        return ask("refresh")

    @asked
    def working_on(self, task: str) -> Asking[None]:
        """Says what the agent is doing by now, for events; an empty text ends the task."""
        yield {"op": "task", "task": task}, None

    @asked
    def state(self) -> Asking[Json]:
        """Returns what is known about the context."""
        return ask("state", "")

    @asked
    def diagnostics(self) -> Asking[Json]:
        """Returns what is wrong with the library."""
        return ask("diagnostics", "")

    @asked
    def search(self, query: str, *, tag: str | None = None, limit: int | None = None) -> Asking[list[SearchResult]]:
        """Returns the skills that a task needs, best first.

        >>> from repertoire import Library
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     session.search("commit my changes")[0]["name"]
        'git'
        """
        return call_well("search_skills", "results", query=query, tag=tag, limit=limit)

    @asked
    def files(self, skill: str, directory: str | None = None) -> Asking[list[Json]]:
        """Returns the files of a skill."""
        return call_well("list_skill_files", "files", skill=skill, directory=directory)

    @asked
    def read(
        self, skill: str, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> Asking[str]:
        """Returns the text of a file of a skill, or some lines of it."""
        text, line = "", start_line
        while True:
            request = call_well("read_skill_file", skill=skill, path=path, start_line=line, end_line=end_line)
            reply: Reply = yield from request
            text, line = text + str(reply.data["content"]), reply.data["next_line"]
            if line is None or (end_line is not None and line > end_line):
                return text

    @asked
    def run(
        self, skill: str, path: str, args: Sequence[str] = (), *, stdin: str | None = None, timeout: float | None = None
    ) -> Asking[Reply]:
        """Runs a script of a loaded skill in the sandbox; see ``exec`` and ``approve`` of :class:`Library`."""
        arguments = given({"skill": skill, "path": path, "args": list(args), "stdin": stdin})
        return call("run_skill_script", arguments, timeout)

    @asked
    def propose(
        self, skill: str, *, justification: str, diff: str | None = None, files: Mapping[str, str] | None = None,
        evidence: str | None = None,
    ) -> Asking[Reply]:
        """Proposes a change of a skill (``diff``) or a new one (``files``); a person decides."""
        if (diff is None) == (files is None):
            raise RepertoireError("bad_request", "a change is proposed with `diff`, a new skill with `files`")
        why: Json = {"justification": justification, "evidence": evidence}
        if files is not None:
            return call_well("propose_skill", name=skill, files=dict(files), **why)
        return call_well("propose_skill_update", skill_id=skill, diff=diff, **why)

    def subagent(
        self, agent: str | None = None, *, inherit: Inherit | None = None, skills: Sequence[str] | None = None
    ) -> Session:
        """Opens a session for a sub-agent."""
        fields = {"session": self.id, "agent": agent, "inherit": inherit, "skills": skills}
        return Session(self._library, self._engine.wait(self._engine.request(op="subagent", **fields))["session"])

    def events(self) -> Notices:
        """Returns an iterator over the events of this session and its sub-agents from now on."""
        self._engine.wait(self._engine.request(op="subscribe", events=True))
        return Notices(self._engine, events_of(self.id))

    @asked
    def close(self) -> Asking[None]:
        """Forgets the session. A library that is closed has closed its sessions."""
        if self._engine.is_open:
            yield {"op": "close"}, None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
