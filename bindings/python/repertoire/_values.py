"""The values that sessions give and take."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, Optional, TypedDict, TypeVar

from ._engine import Json, ToolError, given

T = TypeVar("T")
#: Requests with their timeouts, each made when the one before it is answered, and what comes of the answers.
Asking = Generator[tuple[Json, Optional[float]], Json, T]
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


def ask(op: str, key: str = "text", **fields: Any) -> Asking[Any]:
    """Asks for what is at ``key`` of an answer, or for all of it."""
    answer = yield {"op": op, **fields}, None
    return answer[key] if key else answer


def call(tool: str, arguments: Any, timeout: float | None = None) -> Asking[Reply]:
    """Asks for a call of ``tool``."""
    answer = yield {"op": "call", "tool": tool, "arguments": arguments}, timeout
    return Reply(answer["text"], answer["is_error"], answer["data"])


def call_well(tool: str, key: str = "", **arguments: Any) -> Asking[Any]:
    """Asks for a call of ``tool``, whose error is raised, or for what is at ``key`` of its data."""
    reply = yield from call(tool, given(arguments))
    if reply.is_error:
        raise ToolError(reply.text)
    return reply.data[key] if key else reply
