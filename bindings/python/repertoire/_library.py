"""The library and its sessions."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, Union

from ._engine import Engine, Host, Json, RepertoireError
from ._skills import Skill, Tool
from ._values import (
    ApprovalRequest, Format, Inherit, Reattached, Render, Reply, Request, SearchResult, ask, call, reply
)

P = ParamSpec("P")
T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
#: The notices that an iterator keeps until they are asked for; older ones give way.
KEPT_NOTICES = 10_000


class Notices(Iterator[Json]):
    """Notices of the engine, from now on. It ends with the library; ``close`` ends it earlier."""

    def __init__(self, engine: Engine, read: Callable[[Json], Json | None]) -> None:
        self._read, self._has_ended = read, False
        self._kept: deque[Json] = deque(maxlen=KEPT_NOTICES)
        self._changed = threading.Condition()
        self._leave = engine.listen(self._take)

    def _take(self, notice: Json | None) -> None:
        found = self._read(notice) if notice is not None else None
        with self._changed:
            self._has_ended = self._has_ended or notice is None
            self._kept.extend([] if found is None else [found])
            self._changed.notify_all()

    def __next__(self) -> Json:
        with self._changed:
            self._changed.wait_for(lambda: self._kept or self._has_ended)
            if self._kept:
                return self._kept.popleft()
            raise StopIteration

    def close(self) -> None:
        self._leave()
        self._take(None)


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
        self,
        directory: Path | Sequence[Path] | None = None,
        *,
        discover: bool = False,
        config: Path | None = None,
        profile: str | None = None,
        skills: Sequence[Skill] = (),
        tools: Sequence[Tool] = (),
        handlers: Mapping[str, Mapping[str, Callable[..., Any]]] | None = None,
        exec: bool = False,
        approve: Callable[[ApprovalRequest], Any] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._arguments = ["session", *(["--exec"] if exec else [])]
        directories = [directory] if isinstance(directory, (str, os.PathLike)) else list(directory or ())
        options = [("--root", it) for it in directories] + [("--config", config), ("--profile", profile)]
        for option, value in options:
            self._arguments += [] if value is None else [option, os.fspath(value)]
        functions = {(skill.name, tool): it for skill in skills for tool, it in skill.handlers.items()}
        functions |= {(skill, tool): it for skill, own in (handlers or {}).items() for tool, it in own.items()}
        lazy = {(it.name, path): file for it in skills for path, file in it.resources.items() if callable(file)}
        self._hello: Json = {
            "directories": bool(directories) or discover or config is not None,
            "approvals": approve is not None,
            "skills": [skill.greeting() for skill in skills],
            "tools": [{"name": it.name, "description": it.description, "input_schema": it.input_schema} for it in tools],
            "handlers": [{"skill": skill, "tool": tool} for skill, tool in functions],
        }
        self._host = Host({tool.name: tool.function for tool in tools}, functions, lazy, approve)
        self._cwd, self._env = cwd, env
        #: The versions of engine and protocol, and its features.
        self.engine: Json = {}
        self._opened()

    def _opened(self) -> None:
        """Starts the engine of a library that needs no loop for that."""

    def _start(self, loop: Any = None) -> Engine:
        self._engine = Engine(self._arguments, self._hello, self._host, self._cwd, self._env, loop)
        self._finalizer = weakref.finalize(self, self._engine.close)
        return self._engine


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
        self,
        agent: str | None = None,
        *,
        role: str | None = None,
        skills: Sequence[str] | None = None,
        profile: str | None = None,
        render: Render | None = None,
    ) -> Session:
        """Opens a session: one agent's conversation."""
        fields = ask("open", agent=agent, role=role, skills=skills, profile=profile, render=render).fields
        return Session(self, self._engine.wait(self._engine.request(**fields))["session"])

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
        self._finalizer()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def asked(build: Callable[Concatenate[Session, P], Request[T]]) -> Callable[Concatenate[Session, P], T]:
    """Makes the method that asks for what ``build`` requests."""

    @functools.wraps(build)
    def method(self: Session, /, *arguments: P.args, **options: P.kwargs) -> T:
        request = build(self, *arguments, **options)
        while True:
            future = self._engine.request(session=self.id, **request.fields)
            answer = self._engine.wait(future, request.timeout)
            if (more := request.follow(answer)) is None:
                return request.read(answer)
            request = more

    return method


class Session:
    """One agent's conversation; :meth:`Library.session` opens one. Threads may share it."""

    def __init__(self, library: LibraryOptions, id: str) -> None:
        # A library that nobody else keeps lives as long as its sessions.
        self._library, self._engine = library, library._engine
        #: The identifier that events name.
        self.id = id

    @asked
    def catalog(self, task: str | None = None, epoch: int = 0) -> Request[str]:
        """Returns the catalog for the system prompt: the same text until it is refreshed."""
        return ask("catalog", task=task, epoch=epoch)

    @asked
    def prompt(self) -> Request[str]:
        """Returns the system prompt of the agent or role, with the catalog in it."""
        return ask("prompt")

    @asked
    def tools(self, format: Format = "anthropic") -> Request[list[Json]]:
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
    ) -> Request[Reply]:
        """Answers a call of a tool. An error of the call is a reply; after ``timeout`` seconds the call is cancelled.

        >>> from repertoire import Library
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     session.call("load_skill", {"name": "nope"}).is_error
        True
        """
        fields: Json = {"op": "call", "tool": tool, "arguments": {} if arguments is None else arguments}
        return Request(fields, reply, timeout)

    @asked
    def handle(self, tool_call: Any) -> Request[Json]:
        """Answers a call as the model's API made it, with its result as the API takes it.

        >>> from repertoire import Library
        >>> call = {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "git"}}
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     session.handle(call)["tool_use_id"]
        't1'
        """
        return ask("handle", "result", call=tool_call)

    @asked
    def handle_all(self, response: Any) -> Request[list[Json]]:
        """Answers all calls in an answer of a model. Returns the messages to append; none if nothing was called.

        ``response`` is what the client library of Anthropic, OpenAI or Gemini returns, or the same as dictionaries.
        """
        return ask("handle_all", "messages", response=response)

    @asked
    def observe(self, messages: Sequence[Any]) -> Request[list[str]]:
        """Takes the transcript for the truth about what is loaded, and returns the names of the loaded skills."""
        return ask("observe", "loaded", messages=list(messages))

    @asked
    def compacted(self, kept: Sequence[Any] = ()) -> Request[list[str]]:
        """Says what a compaction left: names of skills, or the remaining messages."""
        return ask("compacted", "loaded", kept=list(kept))

    @asked
    def evicted(self, name: str) -> Request[list[str]]:
        """Says that the host took a skill's instructions out of the transcript."""
        return ask("evicted", "loaded", name=name)

    @asked
    def reattach(self, budget: int) -> Request[Reattached]:
        """Returns what to put back after a compaction, within ``budget`` tokens."""
        keys = ("text", "tokens", "pieces", "metadata")
        return Request({"op": "reattach", "budget": budget}, lambda it: Reattached(*(it[key] for key in keys)))

    @asked
    def delta(self) -> Request[str]:
        """Returns the note to append to the next user turn if the library changed, once per change; else nothing."""
        return ask("delta")

    @asked
    def focus(self, paths: Sequence[Path]) -> Request[str]:
        """Returns the note that offers the skills for these files, once for each skill; else nothing."""
        return ask("focus", paths=[os.fspath(path) for path in paths])

    @asked
    def refresh(self) -> Request[str]:
        """Writes the catalog anew from the library as it is now."""
        return ask("refresh")

    @asked
    def working_on(self, task: str) -> Request[None]:
        """Says what the agent is doing by now, for events; an empty text ends the task."""
        return ask("task", task=task)

    @asked
    def state(self) -> Request[Json]:
        """Returns what is known about the context."""
        return Request({"op": "state"}, dict)

    @asked
    def diagnostics(self) -> Request[Json]:
        """Returns what is wrong with the library."""
        return Request({"op": "diagnostics"}, dict)

    @asked
    def search(self, query: str, *, tag: str | None = None, limit: int | None = None) -> Request[list[SearchResult]]:
        """Returns the skills that a task needs, best first.

        >>> from repertoire import Library
        >>> with Library(directory="skills") as library, library.session() as session:
        ...     session.search("commit my changes")[0]["name"]
        'git'
        """
        return call("search_skills", key="results", query=query, tag=tag, limit=limit)

    @asked
    def files(self, skill: str, directory: str | None = None) -> Request[list[Json]]:
        """Returns the files of a skill."""
        return call("list_skill_files", key="files", skill=skill, directory=directory)

    @asked
    def read(
        self, skill: str, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> Request[str]:
        """Returns the text of a file of a skill, or some lines of it."""
        return pages(skill, path, start_line, end_line, "")

    @asked
    def run(
        self, skill: str, path: str, args: Sequence[str] = (), *, stdin: str | None = None, timeout: float | None = None
    ) -> Request[Reply]:
        """Runs a script of a loaded skill in the sandbox; see ``exec`` and ``approve`` of :class:`Library`."""
        request = call("run_skill_script", skill=skill, path=path, args=list(args), stdin=stdin)
        return Request(request.fields, reply, timeout)

    @asked
    def propose(
        self,
        skill: str,
        *,
        justification: str,
        diff: str | None = None,
        files: Mapping[str, str] | None = None,
        evidence: str | None = None,
    ) -> Request[Reply]:
        """Proposes a change of a skill (``diff``) or a new one (``files``); a person decides."""
        if (diff is None) == (files is None):
            raise RepertoireError("bad_request", "a change is proposed with `diff`, a new skill with `files`")
        why: Json = {"justification": justification, "evidence": evidence}
        if files is not None:
            return call("propose_skill", name=skill, files=dict(files), **why)
        return call("propose_skill_update", skill_id=skill, diff=diff, **why)

    def subagent(
        self, agent: str | None = None, *, inherit: Inherit | None = None, skills: Sequence[str] | None = None
    ) -> Session:
        """Opens a session for a sub-agent."""
        fields = ask("subagent", agent=agent, inherit=inherit, skills=skills).fields
        return Session(self._library, self._engine.wait(self._engine.request(session=self.id, **fields))["session"])

    def events(self) -> Notices:
        """Returns an iterator over the events of this session and its sub-agents from now on."""
        self._engine.wait(self._engine.request(op="subscribe", events=True))
        return Notices(self._engine, events_of(self.id))

    def close(self) -> None:
        """Forgets the session. A library that is closed has closed its sessions."""
        if self._engine.is_open:
            self._engine.wait(self._engine.request(op="close", session=self.id))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pages(skill: str, path: str, start: int | None, end: int | None, before: str) -> Request[str]:
    """Returns the request for lines of a file that has more of them than one answer."""
    request = call("read_skill_file", skill=skill, path=path, start_line=start, end_line=end, key="content")

    def follow(answer: Json) -> Request[str] | None:
        line = None if answer["is_error"] else answer["data"]["next_line"]
        is_last = line is None or (end is not None and line > end)
        return None if is_last else pages(skill, path, line, end, before + answer["data"]["content"])

    return Request(request.fields, lambda answer: before + request.read(answer), follow=follow)
