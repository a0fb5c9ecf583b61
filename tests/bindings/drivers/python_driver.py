"""Answers the lines of `rep session` with the methods of the Python package."""

import json
import sys
from dataclasses import asdict

from options import read_options
from repertoire import EngineError, Library, RepertoireError


def answer(sessions, request):
    """Returns the answer, or None for a request that the package has no method for."""
    operation = request.pop("op")
    session = sessions[request.pop("session", None)]
    if operation == "call":
        return asdict(session.call(request["tool"], request.get("arguments")))
    if operation in ("catalog", "prompt", "delta", "refresh"):
        return {"text": getattr(session, operation)(**request)}
    if operation in ("observe", "compacted"):
        return {"loaded": getattr(session, operation)(*request.values())}
    if operation == "reattach":
        return asdict(session.reattach(**request))
    if operation == "state":
        return session.state()
    if operation == "task":
        return session.working_on(**request) or {}
    if operation == "tools" and not request:
        return {"tools": session.tools()}
    if operation == "subagent":
        child = session.subagent(**request)
        sessions[child.id] = child
        return {"session": child.id}
    return None


library_options, session_options = read_options(sys.argv[1:])
try:
    with Library(**library_options) as library:
        sessions = {None: library.session(**session_options)}
        for line in sys.stdin:
            try:
                found = answer(sessions, json.loads(line))
                reply = {"unsupported": True} if found is None else {"ok": True, **found}
            except RepertoireError as error:
                reply = {"ok": False, "error": {"kind": error.kind, "message": str(error)}}
            print(json.dumps(reply), flush=True)
except EngineError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
