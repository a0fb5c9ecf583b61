"""The values that sessions give and take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar

from ._engine import Json, ToolError

T = TypeVar("T")
#: The shape of tools, by the API of the model that takes them.
Format = Literal["anthropic", "openai", "openai-responses", "gemini", "json-schema"]
#: How tools write their answers.
Render = Literal["xml", "json", "text", "markdown", "body"]
#: What a sub-agent inherits.
Inherit = Literal["none", "catalog", "active"]


@dataclass(frozen=True)
class Reply:
    """The answer of a tool: ``text`` for the model, ``data`` for the program."""

    text: str
    is_error: bool
    data: Json


@dataclass(frozen=True)
class Reattached:
    """What to put back into the context after a compaction."""

    text: str
    tokens: int
    pieces: list[Json]
    metadata: Json | None


#: A skill that a search found.
SearchResult = TypedDict("SearchResult", {
    "name": str, "description": str, "path": str, "score": float, "why": str,
    "section": "str | None", "lines": "list[int] | None", "tokens": "int | None", "loaded": bool,
})
#: A question whether something of a skill may run; answered with ``True`` (this time), ``"always"`` or ``False``.
ApprovalRequest = TypedDict("ApprovalRequest", {
    "skill": str, "source": str, "directory": str, "capabilities": "list[str]",
    "changed_files": "dict[str, list[str]] | None", "call": "dict[str, str] | None", "on_host": bool,
})


@dataclass(frozen=True)
class Request(Generic[T]):
    """The fields of a request, what reads its answer, and what is asked next instead, if something is."""

    fields: Json
    read: Callable[[Json], T]
    timeout: float | None = None
    follow: Callable[[Json], Request[T] | None] = lambda _: None


def ask(op: str, key: str = "text", **fields: Any) -> Request[Any]:
    """Returns the request for what is at ``key`` of its answer; fields that are ``None`` are left out."""
    return Request({"op": op, **given(fields)}, lambda answer: answer.get(key))


def call(tool: str, key: str | None = None, **arguments: Any) -> Request[Any]:
    """Returns the request for a call of ``tool``: for what is at ``key`` of its data, or for the reply. An error is raised."""

    def read(answer: Json) -> Any:
        if answer["is_error"]:
            raise ToolError(answer["text"])
        return answer["data"][key] if key else reply(answer)

    return Request({"op": "call", "tool": tool, "arguments": given(arguments)}, read)


def given(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def reply(answer: Json) -> Reply:
    return Reply(answer["text"], answer["is_error"], answer["data"])
