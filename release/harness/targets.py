"""Platforms that no machine here runs: checked by the compiler where their standard library can be installed."""

from harness.tools import WORK, Failed, Missing, environment, run

TARGETS = [
    "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu", "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin", "aarch64-apple-darwin", "x86_64-pc-windows-msvc",
]


def check():
    """Compiles `rep` for every other platform, without linking it."""
    refused = []
    for target in TARGETS:
        try:
            run(["rustup", "target", "add", target])
        except Failed:
            refused.append(target)
            continue
        run(["cargo", "check", "--locked", "--package", "repertoire-cli", "--target", target],
            environment=environment(CARGO_TARGET_DIR=str(WORK / "check")))
    if refused:
        raise Missing(f"rustup cannot install {', '.join(refused)}; the release workflow builds them")
    return ", ".join(TARGETS)
