"""The packages for npm: one with the launcher, and one with the program for each platform."""

import json
import shutil

from harness import licences
from harness.tools import LINK, NAME, OUT, RELEASE, REPOSITORY, TARGET, VERSION, WORK, fresh, run

MOST_MEGABYTES = 21
PLATFORMS = json.loads((RELEASE / "npm/platforms.json").read_text())
# The module and its types, and the part of the description that is about them.
BINDING = REPOSITORY / "bindings/node"
BINDING_FILES = ("index.js", "index.cjs", "index.d.ts", "index.d.cts")


def scoped(platform):
    return f"@{NAME}/{platform}"


def build(program, target=TARGET):
    """Returns the package with the launcher and that of the platform `target`."""
    (platform,) = (name for name, row in PLATFORMS.items() if row["target"] == target)
    return [pack(main_package()), pack(platform_package(platform, program))]


def description(name, **fields):
    return {
        "name": name, "version": VERSION, "license": "MIT OR Apache-2.0",
        "repository": {"type": "git", "url": f"git+{LINK}.git"}, **fields,
    }


def main_package():
    directory = start("main")
    manifest = description(
        NAME,
        description="rep, the skills engine for AI agents: finds, checks, searches and serves skills",
        keywords=["agents", "skills", "llm", "mcp", "cli"],
        bin={"rep": "launcher.cjs", NAME: "launcher.cjs"},
        optionalDependencies={scoped(platform): VERSION for platform in PLATFORMS},
    )
    for name in ("launcher.cjs", "platforms.json", "README.md"):
        shutil.copy(RELEASE / "npm" / name, directory / name)
    (directory / "launcher.cjs").chmod(0o755)
    for name in BINDING_FILES:
        shutil.copy(BINDING / name, directory / name)
    described = json.loads((BINDING / "package.json").read_text())
    manifest |= {key: described[key] for key in ("type", "engines", "main", "types")}
    manifest["exports"] = described["exports"] | {"./package.json": "./package.json"}
    write(directory, manifest)
    return directory


def platform_package(platform, program):
    directory = start(platform)
    row = PLATFORMS[platform]
    suffix = ".exe" if "win32" in row["os"] else ""
    (directory / "bin").mkdir()
    shutil.copy(program, directory / f"bin/rep{suffix}")
    (directory / f"bin/rep{suffix}").chmod(0o755)
    licences.write(directory / "LICENSES-OF-DEPENDENCIES.txt")
    chosen = {key: row[key] for key in ("os", "cpu", "libc") if key in row}
    about = f"The program of {NAME} for {platform}; install {NAME} instead"
    (directory / "README.md").write_text(f"# {scoped(platform)}\n\n{about}.\n")
    write(directory, description(scoped(platform), description=about, **chosen))
    return directory


def start(name):
    directory = fresh(WORK / "npm" / name)
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(REPOSITORY / licence, directory / licence)
    return directory


def write(directory, manifest):
    (directory / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")


def pack(directory):
    """Returns the archive that npm makes of a package."""
    output = run(["npm", "pack", "--json", "--pack-destination", OUT, directory], WORK)
    (report,) = json.loads(output)
    return OUT / report["filename"].replace("@", "").replace("/", "-")
