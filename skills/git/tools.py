"""Git tools for agents: status, diff, commit and log.

One public function per tool in schema.json. Keyword arguments only, standard
library only, git run with argument lists and never through a shell. Each
function returns text and raises GitToolError with a message that says what to
do next.

Shell use: python3 tools.py TOOL '{"argument": "value"}'
"""

import json
import os
import re
import subprocess
import sys

__all__ = ["git_status", "git_diff", "git_commit", "git_log"]

_TIMEOUT_S = 120
_SUBJECT_LIMIT = 72  # a subject must be shorter than this
_TYPES = "build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test"
_SUBJECT = re.compile(r"^(?:%s)(?:\([A-Za-z0-9._/-]+\))?!?: \S" % _TYPES)


# Messages of git in a sandbox, with the reason.
_INSIDE = (
    "only the checkout around the working directory can be written from here, not another one inside of it; "
    "start the agent there"
)
_LIMITS = (
    (
        "not a git repository",
        "there is no repository around the working directory of the agent. Start the agent in a checkout, or in a "
        "directory below it; a repository of the home directory as a whole does not count",
    ),
    (".git/index.lock': Permission denied", _INSIDE),
    (".git/index.lock': Read-only file system", _INSIDE),
    (
        "Please tell me who you are",
        "there is no identity. Set user.name and user.email for git (`git config --global user.name ...`), or in the "
        "repository",
    ),
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


def git_commit(*, message, repo=".", paths=None):
    """Stage `paths` if given, commit the index, return the new commit with its stat."""
    message = _checked_message(message)
    paths = _paths(paths)
    unmerged = _names(repo, "diff", "--name-only", "--diff-filter=U")
    if unmerged and not paths:
        raise GitToolError("git_commit: unmerged paths, resolve and stage them first: " + _list(unmerged))
    if paths:
        if _merging(repo):
            raise GitToolError("git_commit: a merge is in progress; stage the resolution, then commit without `paths`")
        staged = _names(repo, "diff", "--cached", "--name-only", "--no-renames")
        wanted = set(_names(repo, "diff", "--cached", "--name-only", "--no-renames", "--", *paths))
        others = [name for name in staged if name not in wanted]
        if others:
            raise GitToolError(
                "git_commit: other paths are already staged and would slip in: " + _list(others)
                + ". Add them to `paths`, unstage them, or omit `paths` to commit the index as it is"
            )
        _git(repo, "add", "--all", "--", *paths)

    if not _names(repo, "diff", "--cached", "--name-only") and not _merging(repo):
        raise GitToolError("git_commit: nothing staged to commit; run git_status and give `paths`")
    markers = [
        line
        for line in _git(repo, "diff", "--cached", "--check", ok=(0, 1, 2)).splitlines()
        if line.endswith("leftover conflict marker")
    ]
    if markers:
        raise GitToolError("git_commit: conflict markers are staged: " + _list(markers))

    _git(repo, "commit", "--quiet", "--file=-", stdin=message, extra=_identity(repo))
    return _git(repo, "log", "-1", "--no-color", "--stat", "--format=%h %s").strip()


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


# In a sandbox these name a scratch repository for one checkout. `repo` may be another one inside of it.
_SCRATCH = ("GIT_DIR", "GIT_WORK_TREE")


def _environment(repo):
    env = dict(os.environ, GIT_TERMINAL_PROMPT="0", GIT_EDITOR="true", GIT_PAGER="cat", LC_ALL="C.UTF-8")
    # Reading must not fail because an index could not be refreshed.
    env.setdefault("GIT_OPTIONAL_LOCKS", "0")
    top = env.get("GIT_WORK_TREE")
    if top is not None and _top(repo) != os.path.realpath(top):
        for name in _SCRATCH:
            env.pop(name, None)
    return env


def _top(repo):
    """The checkout that `repo` lies in, found as git finds it."""
    place = os.path.realpath(repo)
    while not os.path.lexists(os.path.join(place, ".git")) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return place


def _identity(repo):
    """The user as the host knows them, for what no settings of the repository say."""
    extra = {}
    for key, given, kin in (
        ("user.name", "REPERTOIRE_USER_NAME", ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")),
        ("user.email", "REPERTOIRE_USER_EMAIL", ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")),
    ):
        value = os.environ.get(given)
        if value and not _git(repo, "config", "--get", key, ok=(0, 1)).strip():
            extra.update({name: value for name in kin if not os.environ.get(name)})
    return extra


def _git(repo, *args, stdin=None, ok=(0,), extra=None):
    """Run git in `repo`, return stdout; raise unless the exit code is in `ok`."""
    if not isinstance(repo, str) or not os.path.isdir(repo):
        raise GitToolError("repo is not a directory: %r" % (repo,))
    env = dict(_environment(repo), **(extra or {}))
    command = ["git", "--no-pager", "--literal-pathspecs", "-c", "core.quotePath=false"] + list(args)
    try:
        done = subprocess.run(
            command,
            cwd=repo,
            env=env,
            input=stdin.encode("utf-8") if stdin is not None else None,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_S,
            start_new_session=True,  # no terminal, so nothing can prompt
        )
    except FileNotFoundError:
        raise GitToolError("git is not installed or not on PATH") from None
    except subprocess.TimeoutExpired:
        raise GitToolError(
            "git %s gave no answer within %d s; a hook, credential or signing prompt may be waiting" % (args[0], _TIMEOUT_S)
        ) from None
    out = done.stdout.decode("utf-8", "replace")
    err = done.stderr.decode("utf-8", "replace")
    if done.returncode not in ok:
        detail = "\n".join(part.strip() for part in (err, out) if part.strip())
        for sign, sentence in _LIMITS:
            if sign in err:
                raise GitToolError("git %s failed: %s\n%s" % (args[0], sentence, detail))
        raise GitToolError("git %s failed (exit %d): %s" % (args[0], done.returncode, detail or "no output"))
    return out


def _names(repo, *args):
    """File names from a git command that lists them, from the top of the repository."""
    return [name for name in _git(repo, *args[:1], "-z", *args[1:]).split("\0") if name]


def _merging(repo):
    return bool(_git(repo, "rev-parse", "--quiet", "--verify", "MERGE_HEAD", ok=(0, 1, 128)).strip())


def _checked_message(message):
    if not isinstance(message, str) or not message.strip():
        raise GitToolError("git_commit: message is empty")
    lines = message.strip().splitlines()
    subject = lines[0].rstrip()
    if not _SUBJECT.match(subject):
        raise GitToolError(
            "git_commit: subject is not a conventional commit, expected `type(scope): subject` "
            "with type one of %s; got %r" % (_TYPES.replace("|", ", "), subject)
        )
    if len(subject) >= _SUBJECT_LIMIT:
        raise GitToolError("git_commit: subject has %d characters, must be under %d" % (len(subject), _SUBJECT_LIMIT))
    if len(lines) > 1 and lines[1].strip():
        raise GitToolError("git_commit: put a blank line between subject and body")
    return "\n".join(lines) + "\n"


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


def _list(items, limit=10):
    shown = ", ".join(items[:limit]) or "none"
    return shown + (", and %d more" % (len(items) - limit) if len(items) > limit else "")


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
