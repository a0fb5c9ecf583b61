"""The options of `rep session` as those of the bindings."""

import argparse


def read_options(arguments):
    """Returns the options of a library and those of its session."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", dest="directory")
    for name in ("config", "profile", "role", "render"):
        parser.add_argument(f"--{name}")
    chosen = vars(parser.parse_args(arguments))
    session = {name: chosen.pop(name) for name in ("role", "render")}
    if not (chosen["directory"] or chosen["config"]):
        chosen["discover"] = True
    return chosen, session
