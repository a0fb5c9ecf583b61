"""Git tools for agents: status, diff, commit, push and log.

One public function per tool in schema.json. Keyword arguments only, standard
library only, git run with argument lists and never through a shell. Each
function returns text and raises GitToolError with a message that says what to
do next.

Shell use: python3 tools.py TOOL '{"argument": "value"}'
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

__all__ = ["git_status", "git_diff", "git_commit", "git_push", "git_log"]

_TIMEOUT_S = 120
_SUBJECT_LIMIT = 72  # a subject must be shorter than this
_TYPES = "build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test"
_SUBJECT = re.compile(r"^(?:%s)(?:\([A-Za-z0-9._/-]+\))?!?: \S" % _TYPES)


# What git says where a sandbox keeps something from it, and what is behind that.
_OUTSIDE = (
    "where tools run in a sandbox they have neither credentials nor what lies outside the working directory, "
    "so this remote cannot be reached; push from a shell"
)
_LIMITS = (
    (
        "not a git repository",
        "there is no repository here. Where tools run in a sandbox they see the working directory alone, so the agent "
        "has to be started at the top of a plain checkout: neither in a directory below it nor in a linked worktree",
    ),
    ("does not appear to be a git repository", _OUTSIDE),
    ("Could not read from remote repository", _OUTSIDE),
    ("could not read Username", _OUTSIDE),
    ("could not read Password", _OUTSIDE),
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
    with _writable(repo):
        return _commit(repo, message, paths)


def _commit(repo, message, paths):

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

    _git(repo, "commit", "--quiet", "--file=-", stdin=message)
    return _git(repo, "log", "-1", "--no-color", "--stat", "--format=%h %s").strip()


def git_push(*, repo=".", remote="origin", branch=None, set_upstream=False, force=False, approved=False):
    """Push one branch to the branch of the same name. Force needs approved=True and uses a lease."""
    _flag("set_upstream", set_upstream)
    _flag("force", force)
    _flag("approved", approved)
    if force and not approved:
        raise GitToolError(
            "git_push: force refused. Name the branch and the remote commits that would be lost, "
            "ask the user, and pass approved=true only after a yes to this push"
        )

    remotes = _git(repo, "remote").split()
    if remote not in remotes:
        raise GitToolError("git_push: no remote %r; configured: %s" % (remote, _list(remotes)))
    if branch is None:
        branch = _git(repo, "symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)).strip()
        if not branch:
            raise GitToolError("git_push: HEAD is detached; give `branch`")
    ref = "refs/heads/" + _word("branch", branch)
    # Also rejects refspecs: neither '+x' nor 'a:b' names an existing local branch.
    if not _git(repo, "show-ref", "--verify", ref, ok=(0, 1, 128)).strip():
        raise GitToolError("git_push: no local branch %r; give a plain branch name, not a refspec" % branch)

    args = ["push", "--porcelain"]
    if set_upstream:
        args.append("--set-upstream")
    if force:
        args += ["--force-with-lease=" + ref, "--force-if-includes"]
    return _git(repo, *args, "--", remote, ref + ":" + ref, merge_stderr=True).strip()


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


_own_directory = {}  # what git is told of its directory while that cannot be written as usual

# What git leaves behind while something is under way, and removes when a commit concludes it.
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_MSG", "SQUASH_MSG")


@contextlib.contextmanager
def _writable(repo):
    """Let git write where a sandbox keeps hooks and configuration from being touched.

    Such a sandbox lets nothing be made or removed beside them. So HEAD and the index are worked on in a directory
    of their own, as git does for a linked worktree, and written back; objects, refs and their logs are the repository's.
    """
    real = os.path.abspath(os.path.join(repo, _git(repo, "rev-parse", "--git-dir").strip()))
    probe = os.path.join(real, "tools.lock")
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(probe)
        plain = True
    except OSError:
        plain = False
    if plain:
        yield
        return
    left = [name for name in _UNDER_WAY if os.path.exists(os.path.join(real, name))]
    if left:
        raise GitToolError(
            "git_commit: a merge, cherry-pick or revert is in progress (%s), and this sandbox lets nothing be removed "
            "from .git, so it cannot be concluded here; nothing was committed. Conclude it from a shell" % _list(left)
        )
    if os.path.exists(os.path.join(real, "index.lock")):
        raise GitToolError("git_commit: another git command is at work (.git/index.lock); try again when it is done")
    top = _git(repo, "rev-parse", "--show-toplevel").strip()
    before = {name: _bytes(os.path.join(real, name)) for name in ("HEAD", "index")}
    if before["index"] is None:
        raise GitToolError(
            "git_commit: this repository has no index yet, and this sandbox lets none be made; nothing was committed. "
            "Run `git read-tree --empty` in it once from a shell"
        )
    own = tempfile.mkdtemp(prefix="git-")
    try:
        for name, content in before.items():
            if content is not None:
                with open(os.path.join(own, name), "wb") as file:
                    file.write(content)
        with open(os.path.join(own, "commondir"), "w") as file:
            file.write(real + "\n")
        _own_directory.update(GIT_DIR=own, GIT_WORK_TREE=top)
        if not os.path.isdir(os.path.join(real, "logs")):
            # A new repository has no directory of logs yet, and none can be made.
            _own_directory.update(
                GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="core.logAllRefUpdates", GIT_CONFIG_VALUE_0="false"
            )
        yield
        _write_back(real, own, before)
    finally:
        _own_directory.clear()
        shutil.rmtree(own, ignore_errors=True)


def _write_back(real, own, before):
    """Write HEAD, the index and what was noted of HEAD from `own` to `real`, unless somebody else did meanwhile."""
    if os.path.exists(os.path.join(real, "index.lock")) or _bytes(os.path.join(real, "index")) != before["index"]:
        raise GitToolError(
            "git_commit: the commit was made, but another git command changed the index meanwhile; "
            "look at git_status, nothing of the index was overwritten"
        )
    for name in ("HEAD", "index"):
        content = _bytes(os.path.join(own, name))
        if content is None or content == before[name]:
            continue
        # Not replaced but written over: making files here is what is not allowed.
        with open(os.path.join(real, name), "r+b") as target:
            target.write(content)
            target.truncate()
    noted = _bytes(os.path.join(own, "logs", "HEAD"))
    if noted and os.path.isdir(os.path.join(real, "logs")):
        with open(os.path.join(real, "logs", "HEAD"), "ab") as log:
            log.write(noted)


def _bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _git(repo, *args, stdin=None, ok=(0,), merge_stderr=False):
    """Run git in `repo`, return stdout; raise unless the exit code is in `ok`."""
    if not isinstance(repo, str) or not os.path.isdir(repo):
        raise GitToolError("repo is not a directory: %r" % (repo,))
    env = dict(os.environ, GIT_TERMINAL_PROMPT="0", GIT_EDITOR="true", GIT_PAGER="cat", LC_ALL="C.UTF-8")
    # Reading must not fail because an index could not be refreshed.
    env.setdefault("GIT_OPTIONAL_LOCKS", "0")
    env.update(_own_directory)
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
    return out + err if merge_stderr else out


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
