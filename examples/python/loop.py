"""An agent loop without a framework, with types: the model is any function from messages and tools to a message.

    python loop.py SKILLS TASK
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from repertoire import ApprovalRequest, Library, Reply, RepertoireError, SearchResult, Session, define_skill, define_tool

Message = dict[str, Any]
Model = Callable[[str, list[Message], list[dict[str, Any]]], Message]


def converse(session: Session, model: Model, task: str) -> list[Message]:
    """Returns the conversation of a model with the tools of a session."""
    messages: list[Message] = [{"role": "user", "content": task}]
    while messages[-1]["role"] == "user":
        answer = model(session.catalog(), messages, session.tools(format="anthropic"))
        messages.append(answer)
        messages += session.handle_all(answer)
    return messages


def loads_the_best(task: str, session: Session) -> Model:
    """Returns a model that loads the skill that fits best, and is done."""
    found: list[SearchResult] = session.search(task, limit=1)

    def model(system: str, messages: list[Message], tools: list[dict[str, Any]]) -> Message:
        if len(messages) > 1 or not found:
            return {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
        call = {"type": "tool_use", "id": "1", "name": "load_skill", "input": {"name": found[0]["name"]}}
        return {"role": "assistant", "content": [call]}

    return model


def approve(request: ApprovalRequest) -> bool:
    """Asks a person whether a skill may run what it brings along."""
    return input(f"May {request['skill']} run? [y/N] ") == "y"


def main(directory: str, task: str) -> None:
    today = define_tool("today", "Tells the date.", {"type": "object", "properties": {}}, lambda: "1970-01-01")
    notes = define_skill("notes", "Takes notes. Use when something is to be kept.", "# Notes\n", {"a.md": lambda: "A\n"})
    with Library(directory, skills=[notes], tools=[today], exec=True, approve=approve) as library:
        session = library.session()
        for message in converse(session, loads_the_best(task, session), task):
            print(message["role"], message["content"])
        try:
            reply: Reply = session.call("today", timeout=10)
            print(reply.text, session.read("notes", "a.md"))
        except RepertoireError as error:
            print(error.kind, error)


if __name__ == "__main__":
    main(*sys.argv[1:3])
