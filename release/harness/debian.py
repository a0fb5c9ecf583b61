"""The Debian package, made by cargo-deb; its files stand in `crates/cli/Cargo.toml`."""

from harness.archive import checksum
from harness.tools import NAME, OUT, WORK, cargo_tool, environment, run

DEBIAN = {"x86_64-unknown-linux-gnu": "amd64", "aarch64-unknown-linux-gnu": "arm64"}


def build(target):
    """Returns the package of the files that `archive.build` laid out, and its checksum."""
    cargo_tool("cargo-deb")
    package = OUT / f"{NAME}_{DEBIAN[target]}.deb"
    # Its own folder: cargo-deb keeps files beside the programs.
    variables = environment(CARGO_TARGET_DIR=str(WORK / "debian"))
    run(["cargo-deb", "--package", NAME, "--no-build", "--no-strip", "--locked", "--target", target, "--output", package],
        environment=variables)
    return [package, checksum(package)]
