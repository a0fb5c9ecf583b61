"""Platforms that no machine here runs: checked by the compiler where what it needs can be installed."""

from harness.tools import WORK, Failed, Missing, environment, python_tools, run

TARGETS = [
    "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu", "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin", "aarch64-apple-darwin", "x86_64-pc-windows-msvc",
]


def check():
    """Compiles `rep` for every other platform, without linking it. The parts in C are compiled by zig."""
    python_tools()
    checked, missing = [], []
    for target in TARGETS:
        try:
            check_one(target)
            checked.append(target)
        except Missing as gap:
            missing.append(f"{target}: {gap}")
    if missing:
        raise Missing(f"checked: {', '.join(checked) or 'nothing'}; not checked: {'; '.join(missing)}")
    return ", ".join(checked)


def check_one(target):
    try:
        run(["rustup", "target", "add", target])
    except Failed:
        raise Missing("rustup cannot install its standard library") from None
    try:
        run(["cargo-zigbuild", "check", "--locked", "--package", "repertoire-cli", "--target", target],
            environment=environment(CARGO_TARGET_DIR=str(WORK / "check"), CARGO_INCREMENTAL="0"))
    except Failed as failure:
        if "failed to run custom build command" in str(failure):
            raise Missing("there is no compiler for the parts in C") from None
        raise
