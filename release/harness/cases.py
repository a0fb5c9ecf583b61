"""What an installed `rep` has to do in a root, and what it has to say where something is missing."""

import re

from harness.tools import Failed, run

SKILL = "---\nname: {name}\ndescription: {about}\n---\n# {name}\n\nRun `scripts/{name}.sh`.\n"
# Inside of the sandbox, nothing of the home may be read or written.
SCRIPT = "echo \"hello $1\"\nif echo x 2>/dev/null >/try/home/escaped; then echo escaped; else echo confined; fi\n"
# Whether the server answers is asked with `rep` itself: there is nothing else that speaks HTTP.
SERVE = """
(cd /try/project && exec "$0" serve --http >/try/served 2>&1) &
server=$! tries=0
until "$0" add http://127.0.0.1:7437 --yes >/try/added 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { cat /try/served /try/added; exit 1; }
    sleep 0.1
done
kill $server && wait $server && cat /try/added
"""


def prepare(root):
    """Lays out a project with a skill, an empty one, and a repository with another skill."""
    skill(root.place / "project/.agents/skills/greet", "Greets a person by name. Use when someone is to be greeted.")
    for name in ("project", "empty"):
        (root.place / name / ".git").mkdir(parents=True, exist_ok=True)
    source = root.place / "source"
    skill(source / "measure", "Measures how long a command takes. Use when something is slow.")
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-C", source]
    run([*git, "init", "--quiet"])
    run([*git, "add", "."])
    run([*git, "commit", "--quiet", "--message", "A skill"])
    root.give()


def skill(directory, about):
    (directory / "scripts").mkdir(parents=True)
    (directory / "SKILL.md").write_text(SKILL.format(name=directory.name, about=about))
    (directory / f"scripts/{directory.name}.sh").write_text(SCRIPT)


def works(root, rep):
    """Has `rep` list, search, add, serve and run."""
    prepare(root)
    root.expect(rep, "list", has="greet")
    root.expect(rep, "search", "greet a person", has="greet")
    if root.run("/bin/sh", "-c", "command -v git")[0] == 0:
        root.expect(rep, "add", "file:///try/source", "--yes", has="added measure")
        root.expect(rep, "list", has="measure")
    else:
        root.expect(rep, "add", "file:///try/source", "--yes", has="install git", status=3)
    root.expect("/bin/sh", "-c", f"cd /try/empty{SERVE}", rep, has="greet")
    root.expect(rep, "run", "greet", "--script", "scripts/greet.sh", has="the skill `greet` is not approved", status=1)
    root.expect(rep, "approve", "greet", "--yes", has="greet")
    output = root.expect(rep, "run", "greet", "--script", "scripts/greet.sh", "--", "Ada", has="hello Ada")
    if "confined" not in output or "escaped" in output:
        raise Failed(f"the sandbox let a script out: {output}")


def read_only_home(root, rep):
    """Has `rep` read, behind `works`, where it can write nothing of its own, and say so where it has to write."""
    run(["chown", "-R", "0:0", root.place / "home"])
    run(["chmod", "-R", "a-w", root.place / "home"])
    root.expect(rep, "list", has="greet")
    root.expect(rep, "search", "greet a person", has="greet")
    output = root.expect(rep, "revoke", "greet", has="/try/home", status=3)
    if "denied" not in output.lower() or "panicked" in output:
        raise Failed(f"a home that cannot be written is not named: {output}")
    return " ".join(output.split())[:120]


def old_library(root, rep):
    """Has the loader of the C library say that it is too old: a copy of the program asks for a version to come."""
    program = root.path / rep.lstrip("/")
    data = program.read_bytes()
    copy = root.place / "bin/rep-of-tomorrow"
    wanted = max(re.findall(rb"GLIBC_([0-9.]+)\0", data), key=lambda word: [int(part) for part in word.split(b".")])
    copy.write_bytes(data.replace(b"GLIBC_" + wanted + b"\0", b"GLIBC_" + b"9" * len(wanted) + b"\0"))
    copy.chmod(0o755)
    status, output = root.run("/try/bin/rep-of-tomorrow", "--version")
    if status == 0 or "version `GLIBC_" not in output or "not found" not in output:
        raise Failed(f"a C library that is too old is not named: {status} {output}")
    return output.strip().splitlines()[0]
