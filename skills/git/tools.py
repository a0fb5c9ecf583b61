"""Git tools for agents: status, diff and log.

One public function per tool in schema.json that is not a command of the host. Keyword arguments only, standard
library only, git run with argument lists and never through a shell. Each
function returns text and raises GitToolError with a message that says what to
do next.

Shell use: python3 tools.py TOOL '{"argument": "value"}'
"""

import json
import os
import subprocess
import sys

__all__ = ["git_status", "git_diff", "git_log"]

_TIMEOUT_S = 120

# A message of git in a sandbox, with the reason.
_NO_REPOSITORY = (
    "not a git repository",
    "there is no repository around the working directory of the agent. Start the agent in a checkout, or in a "
    "directory below it; a repository of the home directory as a whole does not count",
)


class GitToolError(Exception):
    """A git tool could not do what was asked; the message says why."""


def git_status(*, repo="."):
    """Branch, upstream, ahead/behind and one line per changed path."""
    out = _git(repo, "status", "--porcelain=v1", "--branch", "--untracked-files=all")
    lines = out.splitlines()
    if len(lines) <= 1:
        lines.append("(working tree clean)")
    return "\n".join(lines)


def git_diff(*, repo=".", staged=False, base=None, paths=None, stat=False, max_chars=20000):
    """Unstaged changes, staged changes, or everything on HEAD since the merge base with `base`."""
    _flag("staged", staged)
    _flag("stat", stat)
    max_chars = _number("max_chars", max_chars, 100, 1000000)
    if base is not None and staged:
        raise GitToolError("git_diff: give either `base` or `staged`, not both")
    args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"]
    if stat:
        args.append("--stat")
    if staged:
        args.append("--cached")
    if base is not None:
        args.append(_word("base", base) + "...HEAD")
    out = _git(repo, *args, "--", *_paths(paths))
    return _cut(out, max_chars, "paths or stat") if out.strip() else "(no differences)"


def git_log(*, repo=".", count=20, ref="HEAD", paths=None, patch=False, max_chars=20000):
    """The last `count` commits of `ref`, one line each, with patches on request."""
    _flag("patch", patch)
    count = _number("count", count, 1, 1000)
    max_chars = _number("max_chars", max_chars, 100, 1000000)
    args = ["log", "--no-color", "--no-ext-diff", "--no-textconv", "--date=short", "--format=%h %ad %an  %s"]
    args.append("--max-count=%d" % count)
    if patch:
        args.append("--patch")
    out = _git(repo, *args, _word("ref", ref), "--", *_paths(paths))
    return _cut(out, max_chars, "count or paths").rstrip() or "(no commits)"


def _environment():
    env = dict(os.environ, GIT_TERMINAL_PROMPT="0", GIT_PAGER="cat", LC_ALL="C.UTF-8")
    # Reading must not fail because an index could not be refreshed.
    env.setdefault("GIT_OPTIONAL_LOCKS", "0")
    return env


def _git(repo, *args):
    """Run git in `repo`, return stdout; raise unless it succeeds."""
    if not isinstance(repo, str) or not os.path.isdir(repo):
        raise GitToolError("repo is not a directory: %r" % (repo,))
    command = ["git", "--no-pager", "--literal-pathspecs", "-c", "core.quotePath=false"] + list(args)
    try:
        done = subprocess.run(
            command,
            cwd=repo,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_S,
            start_new_session=True,  # no terminal, so nothing can prompt
        )
    except FileNotFoundError:
        raise GitToolError("git is not installed or not on PATH") from None
    except subprocess.TimeoutExpired:
        raise GitToolError(
            "git %s gave no answer within %d s" % (args[0], _TIMEOUT_S)
        ) from None
    out = done.stdout.decode("utf-8", "replace")
    err = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        detail = "\n".join(part.strip() for part in (err, out) if part.strip())
        sign, sentence = _NO_REPOSITORY
        if sign in err:
            raise GitToolError("git %s failed: %s\n%s" % (args[0], sentence, detail))
        raise GitToolError("git %s failed (exit %d): %s" % (args[0], done.returncode, detail or "no output"))
    return out


def _paths(paths):
    if paths is None:
        return []
    if not isinstance(paths, (list, tuple)) or not paths:
        raise GitToolError("paths must be a non-empty list of strings, or left out")
    return [_word("paths", path) for path in paths]


def _word(name, value):
    """A non-empty string that git cannot take for an option."""
    if not isinstance(value, str) or not value or value.startswith("-") or "\0" in value:
        raise GitToolError("%s: not a usable value: %r" % (name, value))
    return value


def _flag(name, value):
    if not isinstance(value, bool):
        raise GitToolError("%s must be true or false, got %r" % (name, value))


def _number(name, value, low, high):
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise GitToolError("%s must be a whole number from %d to %d, got %r" % (name, low, high, value))
    return value


def _cut(text, limit, narrow):
    if len(text) <= limit:
        return text
    return text[:limit] + "\n[cut: %d of %d characters shown; narrow with %s]" % (limit, len(text), narrow)


def _main(argv):
    if len(argv) not in (2, 3) or argv[1] not in __all__:
        print("usage: tools.py {%s} ['JSON object of arguments']" % ",".join(__all__), file=sys.stderr)
        return 2
    try:
        arguments = json.loads(argv[2]) if len(argv) == 3 else {}
        if not isinstance(arguments, dict):
            raise GitToolError("arguments must be a JSON object")
        print(globals()[argv[1]](**arguments))
    except (GitToolError, TypeError, ValueError) as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv))
