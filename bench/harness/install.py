"""Brings everything a run needs below bench/work: libraries, programs, peers at fixed versions."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from generate import MARK, generate

BENCH = Path(__file__).resolve().parent.parent
REPOSITORY = BENCH.parent
WORK = BENCH / "work"

PYTHON_PEERS = {"skills-ref": "0.1.1", "fastmcp": "4.1.2", "pydantic-ai-skills": "2.1.0"}
NODE_PEERS = {"openskills": "1.5.0"}
# A library to be imported; it has no command.
MASTRA, MASTRA_VERSION = "@mastra/core", "1.71.0"
RUST_PEERS = {"agent-skills": "0.3.0"}


class InstallError(Exception):
    """Something without which nothing can be measured is not there."""


@dataclass
class Installed:
    """What is there to be measured."""

    programs: dict = field(default_factory=dict)
    pythons: dict = field(default_factory=dict)
    node_commands: dict = field(default_factory=dict)
    # The directory that Mastra is installed in, if it is.
    mastra: Path = None
    versions: dict = field(default_factory=dict)
    missing: list = field(default_factory=list)


def install(sizes, with_peers):
    """Returns what is installed; peers that cannot be are named in `missing`."""
    WORK.mkdir(exist_ok=True)
    for size in sizes:
        say(f"library of {size:,} skills")
        generate(size, library(size))
        project(size)
    installed = Installed()
    build(installed, with_peers)
    if with_peers:
        for name, version in PYTHON_PEERS.items():
            attempt(installed, name, version, install_python_peer)
        for name, version in NODE_PEERS.items():
            attempt(installed, name, version, install_node_peer)
        attempt(installed, MASTRA, MASTRA_VERSION, install_mastra)
    return installed


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


# The directory of real skills, by how many there are.
CORPUS = {}


def corpus(directory):
    """Takes `directory`, whose subdirectories are real skills, as a library, and returns how many there are."""
    skills = sum(1 for manifest in Path(directory).glob("*/SKILL.md") if manifest.is_file())
    if not skills:
        raise InstallError(f"{directory} has no subdirectories with a SKILL.md")
    CORPUS[skills] = Path(directory).resolve()
    return skills


def is_corpus(size):
    """Returns whether the library of `size` skills is the directory of real ones."""
    return size in CORPUS


def library(size):
    """Returns the directory that holds `size` skills."""
    return CORPUS.get(size, WORK / "libraries" / str(size))


@contextlib.contextmanager
def lent(size):
    """Lends the library of `size` skills to somebody who changes it and puts back what was; otherwise it is made anew."""
    mark_file = library(size).with_name(f"{size}{MARK}")
    text = mark_file.read_text()
    mark_file.unlink()
    yield
    mark_file.write_text(text)


def project(size):
    """Returns a project directory whose `.claude/skills` is the library of `size` skills."""
    directory = WORK / "projects" / str(size)
    skills = directory / ".claude" / "skills"
    if not skills.is_symlink():
        skills.parent.mkdir(parents=True, exist_ok=True)
        skills.symlink_to(library(size))
        # Nobody looks further up than the root of a repository.
        (directory / ".git").mkdir(exist_ok=True)
    return directory


def home():
    """Returns an empty home directory."""
    directory = WORK / "home"
    directory.mkdir(exist_ok=True)
    return directory


def target_directory():
    """Returns the directory that programs are built in: that of the product, so that nothing is built twice."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target").resolve()


def build_rep(installed):
    """Builds `rep`, unless it is there and fresh."""
    say("rep")
    cargo(REPOSITORY, ["--locked", "--package", "repertoire-cli"])
    installed.programs["rep"] = target_directory() / "release" / "rep"
    installed.versions["rep"] = output_of([installed.programs["rep"], "--version"])
    installed.versions["rustc"] = output_of(["rustc", "--version"])


def build_programs(installed, packages):
    """Builds programs of bench/peers with the settings and the dependencies of `rep`."""
    say(", ".join(packages))
    # Cargo adds what only the programs need.
    shutil.copyfile(REPOSITORY / "Cargo.lock", BENCH / "peers" / "Cargo.lock")
    cargo(BENCH / "peers", [f"--package={name}" for name in packages])
    for name in packages:
        installed.programs[name] = target_directory() / "release" / name


def build(installed, with_peers):
    """Builds `rep` and the programs that measure it or are compared with it."""
    packages = ["bare", "rep-index", "rep-session", "rep-reload", "rep-sandbox"] + (["peer-agent-skills"] if with_peers else [])
    build_rep(installed)
    build_programs(installed, packages)
    if with_peers:
        installed.versions.update(RUST_PEERS)


def cargo(directory, arguments):
    command = ["cargo", "build", "--release", "--quiet", *arguments]
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target_directory()))
    if subprocess.run(command, cwd=directory, env=environment).returncode != 0:
        raise InstallError(f"`{' '.join(command)}` failed in {directory.relative_to(REPOSITORY.parent)}")


def attempt(installed, name, version, install_peer):
    try:
        install_peer(installed, name, version)
        installed.versions[name] = version
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"{name} {version} cannot be installed and is left out: {error}")
        installed.missing.append(name)


def install_python_peer(installed, name, version):
    environment = WORK / "python" / name
    python = environment / "bin" / "python"
    if not is_marked(environment, version):
        say(f"{name} {version}")
        shutil.rmtree(environment, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"{name}=={version}"], check=True)
        mark(environment, version)
    installed.pythons[name] = python
    installed.versions["python"] = output_of([python, "--version"])


def install_node_peer(installed, name, version):
    directory = install_node_package(name, version)
    installed.versions["node"] = output_of(["node", "--version"])
    installed.node_commands[name] = directory / "node_modules" / ".bin" / name


def install_mastra(installed, name, version):
    installed.mastra = install_node_package(name, version)
    installed.versions["node"] = output_of(["node", "--version"])


def install_node_package(name, version):
    """Returns the directory below which the package is installed."""
    directory = WORK / "node" / name.strip("@").replace("/", "-")
    if not is_marked(directory, version):
        say(f"{name} {version}")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        (directory / "package.json").write_text(json.dumps({"private": True}))
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([*command, f"{name}@{version}"], cwd=directory, check=True)
        mark(directory, version)
    return directory


def is_marked(directory, version):
    mark_file = directory / ".installed"
    return mark_file.exists() and mark_file.read_text() == version


def mark(directory, version):
    (directory / ".installed").write_text(version)


def output_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
