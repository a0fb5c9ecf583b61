"""The functions of a program, and what is called the same."""

import collections
import re
import subprocess

# Crates go by a name and a hash, which is another one with another compiler or version.
CRATE = re.compile(r"Cs[0-9A-Za-z]+_")
# A function of which there are several with that very name may have a number, which is another one in every build.
NUMBER = re.compile(r"\.\d+$")
# What the C library's own start is made of has no section of its own.
STARTUP = {"_start", "_init", "_fini"}


def functions(program):
    """Returns the names of the functions of a program that was not stripped, by their addresses."""
    listed = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    names = collections.defaultdict(list)
    for fields in map(str.split, listed.splitlines()):
        if len(fields) == 3 and fields[1] in "tTwW" and fields[2] not in STARTUP:
            names[int(fields[0], 16)].append(fields[2])
    return names


def pattern(name):
    """Returns what matches the function whatever the hashes of the crates in its name."""
    return CRATE.sub("Cs*_", name) if name.startswith("_R") else name


def unnumbered(name):
    """Returns the name without the number that it may have."""
    return NUMBER.sub("", name)


def patterns(names, ran):
    """Returns what matches each of the functions that ran and none that did not, by their addresses.

    Where functions that did not run differ from one that did in nothing but hashes, the hashes stay. What differs in nothing but a
    number is matched all the same.
    """
    names = {address: [unnumbered(name) for name in same] for address, same in names.items()}
    others = {pattern(name) for address, same in names.items() if address not in ran for name in same}
    return {
        address: [name if pattern(name) in others else pattern(name) for name in names[address]]
        for address in ran
        if address in names
    }
