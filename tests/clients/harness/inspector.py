"""The protocol's inspector: every skill and every digest, over both transports, in both eras."""

from harness import install
from harness.process import Failed, run
from harness.world import environment


def cases(world):
    for transport in ("stdio", "http"):
        for era in ("modern", "legacy"):
            yield f"skills/list --verify, {transport}, {era}", lambda t=transport, e=era: verify(world, t, e)
    yield "tools/list --strict, stdio", lambda: strict(world)


def verify(world, transport, era):
    outcome = inspect(world, transport, era, ["--method", "skills/list", "--verify", "--require-digests"])
    said = next((line for line in (outcome.errors + outcome.output).splitlines() if line.startswith("Verified")), None)
    if said != "Verified 3 skills and 7 files: no conformance errors.":
        raise Failed(f"it said: {said}")
    return said


def strict(world):
    outcome = inspect(world, "stdio", "modern", ["--method", "tools/list", "--strict"])
    return "no portability problems" if outcome.output else ""


def inspect(world, transport, era, arguments):
    place = world.place("inspector")
    target = [f"{world.http()}/mcp", "--transport", "http"] if transport == "http" else world.stdio()
    command = [*install.node_command("inspector", "mcp-inspector"), "--cli", *target, "--protocol-era", era]
    return run([*command, *arguments], place, environment(place), 60).expect_success()
