"""The licences of all crates that are linked into the program, as their authors wrote them."""

import json
from pathlib import Path

from harness.tools import REPOSITORY, run

NAMES = ("license", "licence", "copying", "notice", "unlicense", "copyright")


def write(path):
    """Writes one text with the licences of all dependencies of `rep` on every platform."""
    packages, texts = dependencies(), {}
    for name in ("models/NOTICE", "models/LICENSE-MiniLM"):
        texts[name, (REPOSITORY / name).read_text()] = ["the embedding table of rep"]
    for package in packages:
        for name, text in files(Path(package["manifest_path"]).parent):
            texts.setdefault((name, text), []).append(f"{package['name']} {package['version']}")
    parts = ["Licences of the crates that are linked into rep.\n"]
    parts += [f"{package['name']} {package['version']}: {package['license'] or 'see below'}" for package in packages]
    for (name, text), users in sorted(texts.items(), key=lambda item: item[1]):
        parts.append(f"\n{'=' * 80}\n{name} of {', '.join(users)}\n{'-' * 80}\n{text.strip()}")
    path.write_text("\n".join(parts) + "\n")


def dependencies():
    """Returns the packages from elsewhere that the program is built from, sorted."""
    metadata = json.loads(run(["cargo", "metadata", "--locked", "--format-version", "1"]))
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    pending = [package["id"] for package in packages.values() if package["name"] == "repertoire-cli"]
    seen = set(pending)
    while pending:
        for edge in nodes[pending.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in edge["dep_kinds"])
            if is_linked and edge["pkg"] not in seen:
                seen.add(edge["pkg"])
                pending.append(edge["pkg"])
    found = [packages[name] for name in seen if packages[name]["source"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def files(directory):
    """Returns the names and the texts of the licences of a package."""
    for path in sorted(directory.iterdir()):
        if path.is_file() and path.name.lower().startswith(NAMES):
            yield path.name, path.read_text(errors="replace")
