"""`rep agent --mcp-config` as the client of the conformance suite; its model calls the tool that the scenario asks for.

Usage: conformance_client.py REP URL.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from model_server import MODEL, ModelServer

CALLS = {
    "tools_call": ("add_numbers", {"a": 2, "b": 3}),
    "sse-retry": ("test_reconnection", {}),
    "http-invalid-tool-headers": ("valid_tool", {"region": "eu"}),
}
rep, url = sys.argv[1:]

call = CALLS.get(os.environ["MCP_CONFORMANCE_SCENARIO"], ("none", {}))
with tempfile.TemporaryDirectory() as place, ModelServer([call]) as model:
    Path(place, "servers.json").write_text(json.dumps({"mcpServers": {"test": {"type": "http", "url": url}}}))
    arguments = ["--base-url", f"{model.url}/v1", "--model", MODEL, "--mcp-config", "servers.json", "Go."]
    variables = {"PATH": os.environ["PATH"], "HOME": place}
    sys.exit(subprocess.run([rep, "agent", *arguments], cwd=place, env=variables, timeout=60).returncode)
