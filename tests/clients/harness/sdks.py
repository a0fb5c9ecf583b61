"""The official client libraries, and FastMCP's."""

from harness import install
from harness.process import Failed, run
from harness.world import environment

PEERS = install.CLIENTS / "peers"


def python(world):
    for script, label in (("python_sdk.py", "mcp 2.3.0"), ("fastmcp_client.py", "fastmcp 4.1.2")):
        interpreter = str(install.package("python", "bin", "python"))
        for transport in ("stdio", "http"):
            for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
                command = [interpreter, str(PEERS / script), mode]
                yield f"{label}, {transport}, {version}", lambda c=command, t=transport, v=version: talk(world, c, t, v)


def typescript(world):
    packages = str(install.package("typescript"))
    for transport in ("stdio", "http"):
        for mode in ("2026-07-28", "legacy"):
            command = [str(install.node()), str(PEERS / "typescript_client.mjs"), packages, mode]
            yield f"SkillsClient 2.4.0, {transport}, {mode}", lambda c=command, t=transport, v=mode: talk(world, c, t, v)
        command = [str(install.node()), str(PEERS / "legacy_sdk.mjs"), packages]
        yield f"sdk 1.32.2, {transport}, 2025-11-25", lambda c=command, t=transport: talk(world, c, t, "2025-11-25")


def talk(world, command, transport, version):
    """Runs a client that ends with an error unless all is well, and says in which version it spoke."""
    place = world.place("sdk")
    target = world.stdio() if transport == "stdio" else [f"{world.http()}/mcp"]
    outcome = run([*command, *target], place, environment(place, PYTHONDONTWRITEBYTECODE="1"), 60).expect_success()
    if "Session termination failed" in outcome.errors:
        raise Failed(outcome.errors.strip())
    spoken, _, said = outcome.output.strip().partition(": ")
    if spoken != version:
        raise Failed(f"it spoke {spoken}, not {version}")
    return said
