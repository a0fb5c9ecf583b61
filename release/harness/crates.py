"""The crates, packed as the registry gets them."""

import json

from harness.tools import VERSION, WORK, Failed, environment, fresh, run

MOST_MEGABYTES = 10


def in_order():
    """Returns the names of the crates, each behind those it depends on."""
    metadata = json.loads(run(["cargo", "metadata", "--locked", "--format-version", "1", "--no-deps"]))
    crates = {package["name"]: package for package in metadata["packages"] if package["publish"] != []}
    edges = {
        name: [edge["name"] for edge in crate["dependencies"] if edge["name"] in crates and edge["kind"] != "dev"]
        for name, crate in crates.items()
    }
    order = []
    while len(order) < len(edges):
        ready = sorted(name for name in edges if name not in order and all(edge in order for edge in edges[name]))
        if not ready:
            raise Failed(f"crates depend on each other in a circle: {sorted(set(edges) - set(order))}")
        order += ready
    return order


def build(verify=False):
    """Returns the packed crates; with `verify` each is built again from its packed form, which takes minutes."""
    names, target = in_order(), WORK / "crates"
    fresh(target / "package") if (target / "package").is_dir() else target.mkdir(parents=True, exist_ok=True)
    chosen = [word for name in names for word in ("--package", name)]
    options = ["--locked"] if verify else ["--locked", "--no-verify"]
    dirty = ["--allow-dirty"] if run(["git", "status", "--porcelain"]).strip() else []
    variables = environment(CARGO_TARGET_DIR=str(target), CARGO_PROFILE_DEV_DEBUG="0", CARGO_INCREMENTAL="0")
    run(["cargo", "package", *options, *dirty, *chosen], environment=variables)
    return [target / "package" / f"{name}-{VERSION}.crate" for name in names]
