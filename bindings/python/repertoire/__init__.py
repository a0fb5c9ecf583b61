"""Repertoire, the skills engine for AI agents, in Python.

A :class:`Library` is one process of the engine ``rep``; nothing about skills is decided in Python. ``AsyncLibrary`` has the same
methods as coroutines.
"""

from ._async import AsyncLibrary, AsyncNotices, AsyncSession
from ._engine import EngineError, RepertoireError, ToolError
from ._library import Library, Notices, Session
from ._skills import Resource, Skill, Tool, define_skill, define_tool
from ._values import ApprovalRequest, Format, Inherit, Reattached, Render, Reply, SearchResult

__all__ = [
    "ApprovalRequest", "AsyncLibrary", "AsyncNotices", "AsyncSession", "EngineError", "Format", "Inherit", "Library",
    "Notices", "Reattached", "Render", "RepertoireError", "Reply", "Resource", "SearchResult", "Session", "Skill",
    "Tool", "ToolError", "define_skill", "define_tool",
]
