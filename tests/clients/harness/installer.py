"""`npx skills add`: installs skills from a running server."""

from harness import install
from harness.process import Failed, run
from harness.world import LIBRARY, environment


def cases(world):
    yield "skills add URL", lambda: add(world)


def add(world):
    place = world.place("installer")
    command = [*install.node_command("skills", "skills"), "add", world.http(), "--yes", "--skill", "*", "--agent", "claude-code"]
    run([*command, "--copy"], place, environment(place), 60).expect_success()
    installed = contents(place / ".claude" / "skills")
    wanted = contents(LIBRARY)
    if installed != wanted:
        raise Failed(f"installed {sorted(installed)}, wanted {sorted(wanted)}")
    return f"3 skills, {len(installed)} files, byte for byte"


def contents(directory):
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}
