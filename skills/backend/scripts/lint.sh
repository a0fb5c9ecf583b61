#!/usr/bin/env bash
# Lint Python code: syntax, ruff (lint and format) and mypy, whichever are present.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: lint.sh [OPTIONS] [PATH...]

Checks Python files under PATH (default: the current directory).

Checks, in this order:
  syntax   every .py file is parsed with python3 (nothing is executed or written)
  ruff     ruff check
  format   ruff format --check
  types    mypy, only when a mypy configuration is found in the current directory

Tools are taken from ./.venv/bin first, otherwise from PATH.

Options:
  --fix        let ruff rewrite files (safe lint fixes and formatting)
  --no-types   skip mypy
  --strict     treat a missing tool as an error (exit 3) instead of a skip
  -h, --help   show this text

Exit codes:
  0  every check that ran passed
  1  at least one check found a problem
  2  wrong usage, or PATH does not exist or holds no Python file
  3  python3 is missing, or with --strict any other tool is missing
USAGE
}

die() {
  local code=$1
  shift
  printf 'lint.sh: %s\n' "$*" >&2
  exit "$code"
}

fix=0
types=1
strict=0
paths=()
while [ $# -gt 0 ]; do
  case $1 in
    --fix) fix=1 ;;
    --no-types) types=0 ;;
    --strict) strict=1 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; paths+=("$@"); break ;;
    -*) die 2 "unknown option '$1' (see --help)" ;;
    *) paths+=("$1") ;;
  esac
  shift
done
[ ${#paths[@]} -gt 0 ] || paths=(.)
for path in "${paths[@]}"; do
  [ -e "$path" ] || die 2 "no such path: $path"
done

find_tool() {
  if [ -x ".venv/bin/$1" ]; then
    printf '%s\n' "./.venv/bin/$1"
  else
    command -v "$1" || true
  fi
}

# A tool counts as present only if it starts: version-manager shims may not.
usable_tool() {
  local tool
  tool=$(find_tool "$1")
  if [ -n "$tool" ] && "$tool" --version >/dev/null 2>&1; then
    printf '%s\n' "$tool"
  fi
}

failed=()
skipped=()
passed=()

run_check() {
  local name=$1
  shift
  printf '== %s\n' "$name"
  if "$@"; then
    passed+=("$name")
  else
    failed+=("$name")
  fi
}

missing() {
  [ "$strict" -eq 0 ] || die 3 "$1 not found and --strict is set"
  printf '== %s: skipped, %s\n' "$2" "$1 not found"
  skipped+=("$2")
}

python=$(usable_tool python3)
[ -n "$python" ] || die 3 "python3 not found in ./.venv/bin or PATH"

check_syntax() {
  "$python" -I - "${paths[@]}" <<'PY'
import ast
import os
import sys
import warnings

warnings.simplefilter("ignore")
SKIP = {".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist"}


def python_files(path):
    if os.path.isfile(path):
        yield path
        return
    for root, dirs, names in os.walk(path):
        dirs[:] = sorted(d for d in dirs if d not in SKIP)
        for name in sorted(names):
            if name.endswith((".py", ".pyi")):
                yield os.path.join(root, name)


count = bad = 0
for start in sys.argv[1:]:
    for file in python_files(start):
        count += 1
        try:
            with open(file, "rb") as handle:
                ast.parse(handle.read(), filename=file)
        except (SyntaxError, ValueError) as error:
            bad += 1
            line = getattr(error, "lineno", None) or 1
            print(f"{file}:{line}: {getattr(error, 'msg', None) or error}")
print(f"{count} file(s) parsed, {bad} with syntax errors")
sys.exit(10 if count == 0 else 1 if bad else 0)
PY
}

printf '== syntax\n'
status=0
check_syntax || status=$?
case $status in
  0) passed+=(syntax) ;;
  10) die 2 "no Python file under: ${paths[*]}" ;;
  *) failed+=(syntax) ;;
esac

ruff=$(usable_tool ruff)
if [ -z "$ruff" ]; then
  missing ruff ruff
  missing ruff format
elif [ "$fix" -eq 1 ]; then
  run_check ruff "$ruff" check --fix -- "${paths[@]}"
  run_check format "$ruff" format -- "${paths[@]}"
else
  run_check ruff "$ruff" check -- "${paths[@]}"
  run_check format "$ruff" format --check -- "${paths[@]}"
fi

has_mypy_config() {
  [ -f mypy.ini ] || [ -f .mypy.ini ] ||
    { [ -f setup.cfg ] && grep -q '^\[mypy' setup.cfg; } ||
    { [ -f pyproject.toml ] && grep -q '^\[tool\.mypy' pyproject.toml; }
}

if [ "$types" -eq 0 ]; then
  printf '== types: skipped, --no-types\n'
elif ! has_mypy_config; then
  printf '== types: skipped, no mypy configuration here\n'
else
  mypy=$(usable_tool mypy)
  if [ -z "$mypy" ]; then
    missing mypy types
  else
    run_check types "$mypy" -- "${paths[@]}"
  fi
fi

printf '\npassed: %s\n' "${passed[*]:-none}"
printf 'skipped for want of a tool: %s\n' "${skipped[*]:-none}"
printf 'failed: %s\n' "${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
