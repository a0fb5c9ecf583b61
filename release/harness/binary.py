"""The program for nearly every Linux: built against an old C library, so that it starts with newer ones too."""

import re

from harness.tools import GLIBC, TARGET, WORK, Failed, run

MOST_MEGABYTES = 36


def built(target=TARGET):
    """Returns where the program is that maturin built for the wheel."""
    return WORK / "target" / target / "dist" / ("rep.exe" if "windows" in target else "rep")


def newest_symbols(program):
    """Returns the newest version of the C library that the program has symbols of."""
    versions = set(re.findall(r"GLIBC_([0-9.]+)", run(["readelf", "--version-info", "--wide", program])))
    if not versions:
        raise Failed(f"{program} names no version of the C library")
    return max(versions, key=parts)


def parts(version):
    return tuple(int(part) for part in version.split("."))


def check(program):
    """Holds the program to its limits, and returns what was found."""
    newest = newest_symbols(program)
    if parts(newest) > parts(GLIBC):
        raise Failed(f"{program} needs glibc {newest}, newer than {GLIBC}")
    size = program.stat().st_size / 1e6
    if size > MOST_MEGABYTES:
        raise Failed(f"{program} has {size:.1f} MB, more than {MOST_MEGABYTES}")
    return f"{size:.1f} MB, symbols of glibc {newest} at most"
