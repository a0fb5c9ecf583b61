"""The protocol's own conformance suite, over HTTP."""

import json
import shlex
import shutil
import sys

from harness import install
from harness.process import Failed, run
from harness.world import environment

MODERN, LEGACY = "2026-07-28", "2025-11-25"

# The Skills extension: every scenario with how many of its checks must succeed in which revision.
EXTENSION = {
    "sep-2640-skills-enumeration": {MODERN: 32, LEGACY: 30},
    "sep-2640-skills-manifest": {MODERN: 6, LEGACY: 6},
    "sep-2640-skills-directory": {MODERN: 7, LEGACY: 7},
}
# There is nothing to be cached before 2026-07-28.
SKIPPED_BEFORE_MODERN = {"sep-2640-skills-list-cache-attributes", "sep-2640-skills-get-cache-attributes"}

# What a revision requires and `rep serve` must pass whole, without a warning.
REQUIRED = {
    MODERN: {"dns-rebinding-protection": 2, "caching": 8, "sep-2164-resource-not-found": 4, "tools-list": 4,
             "resources-list": 2, "prompts-list": 2, "server-sse-multiple-streams": 1, "http-header-validation": 14},
    LEGACY: {"dns-rebinding-protection": 2, "server-initialize": 3, "ping": 2, "tools-list": 3, "resources-list": 2,
             "prompts-list": 2, "server-sse-multiple-streams": 2, "server-session-lifecycle": 3},
}

# Scenarios for clients, which `rep agent --mcp-config` must pass.
CLIENT = {
    "2025-06-18": ["initialize", "tools_call"],
    LEGACY: ["initialize", "tools_call", "sse-retry"],
    MODERN: ["tools_call", "request-metadata", "http-invalid-tool-headers", "json-schema-ref-no-deref"],
}


def cases(world):
    for scenario, counts in EXTENSION.items():
        for revision, count in counts.items():
            yield f"{scenario}, {revision}", lambda s=scenario, r=revision, c=count: extension(world, s, r, c)
    for revision in REQUIRED:
        yield f"required set, {revision}", lambda r=revision: required(world, r)
    for revision, scenarios in CLIENT.items():
        yield f"clients, {revision}", lambda r=revision, s=scenarios: as_client(world, r, s)


def as_client(world, revision, scenarios):
    client = shlex.join([sys.executable, str(install.CLIENTS / "peers" / "conformance_client.py"), str(world.rep)])
    for scenario in scenarios:
        place = world.place("conformance")
        command = [*install.node_command("conformance", "conformance"), "client", "--command", client]
        command += ["--scenario", scenario, "--spec-version", revision]
        outcome = run(command, place, environment(place), 60)
        if outcome.status != 0:
            raise Failed(f"{scenario}: {outcome.output[-400:]}")
    return ", ".join(scenarios)


def extension(world, scenario, revision, count):
    # Without `--force` the scenario is skipped, and that counts as success.
    arguments = ["--scenario", scenario, "--spec-version", revision, "--force"]
    _, results = suite(world, f"{scenario}-{revision}", arguments)
    skips = SKIPPED_BEFORE_MODERN if revision == LEGACY else set()
    return expect_whole(results, scenario, count, skips)


def required(world, revision):
    arguments = ["--requirements", revision, "--expected-failures", str(install.CLIENTS / f"conformance-{revision}.yml")]
    outcome, results = suite(world, f"required-{revision}", arguments)
    outcome.expect_success()
    for scenario, count in REQUIRED[revision].items():
        expect_whole(results, scenario, count, set())
    passed = [name for name, checks in results.items() if is_whole(checks)]
    checks = sum(len(of(results[name], "SUCCESS")) for name in passed)
    return f"{len(passed)} scenarios pass ({checks} checks); the others need the suite's own example server"


def expect_whole(results, scenario, count, skips):
    checks = results.get(scenario)
    if not checks:
        raise Failed(f"{scenario} did not run")
    wrong = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    wrong += [check for check in checks if check["status"] == "SKIPPED" and check["id"] not in skips]
    if wrong:
        reasons = (f"{check['id']} {check['status']}: {check.get('errorMessage', '')}" for check in wrong)
        raise Failed(f"{scenario}: {'; '.join(reasons)}")
    succeeded = len(of(checks, "SUCCESS"))
    if succeeded < count:
        raise Failed(f"{scenario}: only {succeeded} of {count} checks")
    return f"{succeeded}/{succeeded}, no warnings"


def is_whole(checks):
    return of(checks, "SUCCESS") and not of(checks, "FAILURE") and not of(checks, "WARNING")


def of(checks, status):
    return [check for check in checks if check["status"] == status]


def suite(world, name, arguments):
    """Returns how the suite ended, and the checks of every scenario that ran."""
    place = world.place("conformance")
    output = place / "results"
    command = [*install.node_command("conformance", "conformance"), "server", "--url", f"{world.http()}/mcp"]
    outcome = run([*command, *arguments, "-o", output], place, environment(place), 120)
    results = {}
    for file in sorted(output.glob("server-*/checks.json")):
        # The directory is `server-SCENARIO-TIME`, the time of six parts.
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        results[scenario] = json.loads(file.read_text())
    shutil.rmtree(output, ignore_errors=True)
    if not results:
        raise Failed(f"{name}: nothing ran: {(outcome.errors or outcome.output)[-400:]}")
    return outcome, results
