"""The action and the hook for pre-commit, as far as they run without a forge; the log of SARIF against its schema."""

import json
import os

from harness.tools import REPOSITORY, WORK, Failed, Missing, fresh, run

PRE_COMMIT = "pre-commit==4.7.0"
CHECK_JSONSCHEMA = "check-jsonschema==0.39.0"
# A crate that has the schema of SARIF 2.1.0.
SARIF = """[package]
name = "sarif-schema"
version = "0.0.0"
[lib]
path = "lib.rs"
[dependencies]
serde-sarif = "=0.7.0"
[workspace]
"""
# check-jsonschema refuses a pattern of that schema.
VALIDATE = """
import json, sys, jsonschema
schema, log = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator(schema).validate(log)
"""
SOUND = "---\nname: sound\ndescription: Does it. Use when it is asked for.\n---\n# It\n"
BROKEN = "---\nname: broken\ndescription: Does it. Use when: it is asked for.\n---\n[x](references/x.md)\n"


def tools():
    """Returns the directory of the programs from the registry of Python."""
    place = WORK / "pipelines/venv"
    if not (place / "bin/check-jsonschema").exists():
        try:
            run(["python3", "-m", "venv", place])
            run([place / "bin/pip", "install", "--quiet", PRE_COMMIT, CHECK_JSONSCHEMA])
        except Failed as failure:
            raise Missing(f"pre-commit cannot be installed: {failure}") from None
    return place / "bin"


def schema():
    """Returns the file with the schema of SARIF."""
    place = WORK / "pipelines/sarif"
    file = place / "vendor/serde-sarif/src/schema.json"
    if not file.exists():
        fresh(place)
        (place / "Cargo.toml").write_text(SARIF)
        (place / "lib.rs").write_text("")
        try:
            run(["cargo", "vendor", "--quiet"], place)
        except Failed as failure:
            raise Missing(f"the schema of SARIF cannot be fetched: {failure}") from None
    return file


def repository():
    """Returns a repository with a skill in its commit, and one with findings that is staged."""
    place = fresh(WORK / "pipelines/project")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    run([*git, "init", "-q"], place)
    for name, text in [("sound", SOUND), ("broken", BROKEN)]:
        (place / f".agents/skills/{name}").mkdir(parents=True)
        (place / f".agents/skills/{name}/SKILL.md").write_text(text)
        run([*git, "add", f".agents/skills/{name}"], place)
        if name == "sound":
            run([*git, "commit", "-qm", "x"], place)
            run([*git, "update-ref", "refs/remotes/origin/main", "HEAD"], place)
    return place


def expect(text, *parts):
    """Holds `text` to have all `parts`."""
    for part in parts:
        if part not in text:
            raise Failed(f"{part!r} is not in:\n{text}")


def check(program):
    """Runs the script of the action, the hook, and the check of a log, with the program `program`."""
    bin = tools()
    project = repository()
    home = fresh(WORK / "pipelines/home")
    search = f"{program.parent}:{bin}:{os.environ['PATH']}"
    environment = {"PATH": search, "HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null"}

    run([bin / "check-jsonschema", "--builtin-schema", "vendor.github-actions", REPOSITORY / "action.yml"])
    summary = home / "summary.md"
    action = {"GITHUB_STEP_SUMMARY": str(summary), "BASE": "main", "CHANGED": "true", "ARGUMENTS": "--max-warnings 9"}
    said = run(["bash", REPOSITORY / "release/action-check"], project, environment | action)
    expect(said, "::warning file=.agents/skills/broken/SKILL.md,line=3", "title=link-broken", "in 1 skill")
    expect(summary.read_text(), "| in every prompt |", "link-broken")

    # The hook of this tree, from a repository of its own.
    hooks = fresh(WORK / "pipelines/hooks")
    (hooks / ".pre-commit-hooks.yaml").write_text((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        run([*git, *command], hooks)
    revision = run(["git", "rev-parse", "HEAD"], hooks).strip()
    hook = "{id: rep-check, args: [--max-warnings, '0'], verbose: true}"
    (project / ".pre-commit-config.yaml").write_text(f"repos: [{{repo: '{hooks}', rev: {revision}, hooks: [{hook}]}}]\n")
    try:
        run([bin / "pre-commit", "run"], project, environment)
        raise Failed("pre-commit passed skills with warnings")
    except Failed as failure:
        expect(str(failure), "link-broken", "more than the 0 of --max-warnings")
    (project / ".agents/skills/broken/SKILL.md").write_text(SOUND.replace("sound", "broken"))
    run(["git", "add", ".agents"], project)
    run([bin / "pre-commit", "run"], project, environment)

    (project / ".agents/skills/broken/SKILL.md").write_text(BROKEN)
    log = home / "log.sarif"
    log.write_text(run([program, "check", "--format", "sarif"], project, environment))
    run([bin / "python", "-c", VALIDATE, schema(), log])
    return f"the action's script, the hook, {len(json.loads(log.read_text())['runs'][0]['results'])} results of SARIF"
