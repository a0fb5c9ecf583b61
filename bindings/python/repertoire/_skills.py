"""Skills and tools that a program defines itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ._engine import Json

#: A file of a skill: its content, or a function that gives it and is called when the file is first read.
Resource = Union[str, bytes, Callable[[], Union[str, bytes, Awaitable[Union[str, bytes]]]]]


@dataclass(frozen=True)
class Skill:
    """A skill defined in code; :func:`define_skill` makes one."""

    name: str
    fields: Json
    resources: Mapping[str, Resource]
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def greeting(self) -> Json:
        """Returns the skill as the engine takes it."""

        def written(resource: Resource) -> Any:
            if isinstance(resource, bytes):
                return {"base64": base64.b64encode(resource).decode()}
            return resource if isinstance(resource, str) else {"lazy": True}

        return {**self.fields, "resources": {path: written(it) for path, it in self.resources.items()}}


@dataclass(frozen=True)
class Tool:
    """A tool of the program, which models call beside those of the library; :func:`define_tool` makes one."""

    name: str
    description: str
    input_schema: Json
    function: Callable[..., Any]


def define_skill(
    name: str, description: str, body: str, resources: Mapping[str, Resource] | None = None, *,
    tools: Sequence[Tool] = (), license: str | None = None, compatibility: str | None = None,
    metadata: Mapping[str, str] | None = None, allowed_tools: Sequence[str] = (), version: str | None = None,
    author: str | None = None, trigger_keywords: Sequence[str] = (), tags: Sequence[str] = (),
    requires: Sequence[str] = (), paths: Sequence[str] = (), disable_model_invocation: bool = False,
) -> Skill:
    """Returns a skill for ``Library(skills=[…])``, which holds it to the open standard.

    A resource is a text, bytes, or a function that gives one of these and is called when the file is first read. Tools of the
    skill can be called while it is loaded, and run in this program.

    >>> from repertoire import Library, define_skill
    >>> skill = define_skill("greet", "Greets people. Use when someone says hello.", "# Greet\\n",
    ...                      {"references/tone.md": lambda: "Be warm."})
    >>> with Library(skills=[skill]) as library, library.session() as session:
    ...     session.read("greet", "references/tone.md")
    'Be warm.'
    """
    fields: Json = {
        "name": name,
        "description": description,
        "license": license,
        "compatibility": compatibility,
        "metadata": dict(metadata or {}),
        "allowed-tools": " ".join(allowed_tools),
        "version": version,
        "author": author,
        "trigger_keywords": list(trigger_keywords),
        "tags": list(tags),
        "requires": list(requires),
        "paths": list(paths),
        "disable-model-invocation": disable_model_invocation,
    }
    fields = {key: value for key, value in fields.items() if value}
    files: dict[str, Resource] = dict(resources or {})
    if tools:
        schemas = [{"name": it.name, "description": it.description, "parameters": it.input_schema} for it in tools]
        files["schema.json"] = json.dumps(schemas)
    return Skill(name, {"frontmatter": fields, "body": body}, files, {tool.name: tool.function for tool in tools})


def define_tool(name: str, description: str, input_schema: Json, function: Callable[..., Any]) -> Tool:
    """Returns a tool for ``Library(tools=[…])`` or ``define_skill(tools=[…])``.

    ``function`` is called with the arguments by name, on a thread of its own; it may be ``async``. What it raises is an error
    that the model reads.

    >>> from repertoire import Library, define_tool
    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> double = define_tool("double", "Doubles a number.", schema, lambda n: 2 * n)
    >>> with Library(tools=[double]) as library, library.session() as session:
    ...     session.call("double", {"n": 21}).text
    '42'
    """
    return Tool(name, description, input_schema, function)
