#!/usr/bin/env bash
# Check relative links and heading anchors in Markdown files. No network access.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'USAGE'
Usage: check-links.sh [OPTIONS] [PATH...]

Checks that relative links in Markdown files point to something that exists.
PATH is a Markdown file or a directory searched recursively (default: .).
Directories named .git, node_modules, target, .venv and vendor are skipped.

Checked:
  inline links and images   [text](file.md), [text](<a b.md> "title"), ![alt](x.png)
  reference definitions     [id]: file.md
  anchors                   #heading and file.md#heading, with GitHub-style slugs,
                            explicit id="..." and name="..." attributes included
Ignored: links with a scheme (https:, mailto:, ...), //host links, fenced code blocks,
inline code, HTML comments.

Options:
  --root DIR    directory that links starting with / refer to (default: .)
  --no-anchors  check files only, not anchors
  --quiet       print broken links only, no summary
  -h, --help    show this text

Output, one line per broken link:  FILE:LINE: REASON: TARGET

Exit codes:
  0  every checked link resolves
  1  at least one broken link
  2  wrong usage, or a PATH that does not exist or cannot be read
  3  no Markdown file found

Limits: indented code blocks are not recognised; links split over several lines are
not seen; headings with non-ASCII capital letters are compared without lower-casing
those letters.
USAGE
}

die() {
  local code=$1
  shift
  printf 'check-links.sh: %s\n' "$*" >&2
  exit "$code"
}

root=.
anchors=1
quiet=0
paths=()
while [ $# -gt 0 ]; do
  case $1 in
    --root)
      [ $# -ge 2 ] || die 2 "--root needs a directory"
      root=$2
      shift
      ;;
    --root=*) root=${1#--root=} ;;
    --no-anchors) anchors=0 ;;
    --quiet) quiet=1 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; paths+=("$@"); break ;;
    -*) die 2 "unknown option '$1' (see --help)" ;;
    *) paths+=("$1") ;;
  esac
  shift
done
[ ${#paths[@]} -gt 0 ] || paths=(.)
[ -d "$root" ] || die 2 "--root is not a directory: $root"
for path in "${paths[@]}"; do
  [ -e "$path" ] || die 2 "no such path: $path"
  [ -r "$path" ] || die 2 "cannot read: $path"
done

# Shared awk: removes fenced code, HTML comments and (for links) inline code.
# shellcheck disable=SC2016
awk_common='
function fence(line,    t, c, n) {
  t = line
  while (sub(/^ ? ? ?>[ \t]?/, "", t)) { }
  sub(/^[ \t]+/, "", t)
  c = substr(t, 1, 1)
  if (c != "`" && c != "~") return 0
  n = 0
  while (substr(t, n + 1, 1) == c) n++
  if (n < 3) return 0
  if (fchar == "") {
    if (c == "`" && index(substr(t, n + 1), "`")) return 0
    fchar = c; flen = n
    return 1
  }
  if (c == fchar && n >= flen && substr(t, n + 1) ~ /^[ \t]*$/) { fchar = ""; return 1 }
  return 0
}
function strip_comments(line,    out, p) {
  out = ""
  while (1) {
    if (incomment) {
      p = index(line, "-->")
      if (!p) return out
      line = substr(line, p + 3); incomment = 0
    } else {
      p = index(line, "<!--")
      if (!p) return out line
      out = out substr(line, 1, p - 1)
      line = substr(line, p + 4); incomment = 1
    }
  }
}
function strip_code(line,    out, i, n, m, j, k, len) {
  out = ""; i = 1; len = length(line)
  while (i <= len) {
    if (substr(line, i, 1) == "\\") { out = out substr(line, i, 2); i += 2; continue }
    if (substr(line, i, 1) != "`") { out = out substr(line, i, 1); i++; continue }
    n = 0
    while (substr(line, i + n, 1) == "`") n++
    j = i + n; k = 0
    while (j <= len) {
      if (substr(line, j, 1) != "`") { j++; continue }
      m = 0
      while (substr(line, j + m, 1) == "`") m++
      if (m == n) { k = j; break }
      j += m
    }
    if (k) { out = out "c"; i = k + n } else { out = out substr(line, i, n); i += n }
  }
  return out
}
'

# Prints LINE<TAB>TARGET for each link of a Markdown file.
# shellcheck disable=SC2016
awk_links='
{ sub(/\r$/, "") }
NR == 1 && $0 == "---" { front = 1; next }
front { if ($0 == "---" || $0 == "...") front = 0; next }
{
  if (!incomment) { if (fence($0)) next; if (fchar != "") next }
  line = strip_code(strip_comments($0))
  if (match(line, /^ ? ? ?\[[^]^][^]]*\]:[ \t]*/)) {
    rest = substr(line, RLENGTH + 1)
    if (substr(rest, 1, 1) == "<") { sub(/^</, "", rest); sub(/>.*/, "", rest) }
    else sub(/[ \t].*/, "", rest)
    if (rest != "") print NR "\t" rest
    next
  }
  while ((p = index(line, "](")) > 0) {
    rest = substr(line, p + 2)
    sub(/^[ \t]+/, "", rest)
    target = ""
    if (substr(rest, 1, 1) == "<") {
      q = index(rest, ">")
      if (q) target = substr(rest, 2, q - 2)
    } else {
      depth = 0
      for (i = 1; i <= length(rest); i++) {
        ch = substr(rest, i, 1)
        if (ch == "\\" && substr(rest, i + 1, 1) ~ /[()]/) {
          i++; target = target substr(rest, i, 1); continue
        }
        if (ch == " " || ch == "\t") break
        if (ch == "(") depth++
        if (ch == ")") { if (depth == 0) break; depth-- }
        target = target ch
      }
      if (i > length(rest)) target = ""
    }
    if (target != "") print NR "\t" target
    line = rest
  }
}
'

# Prints one anchor per line for a Markdown file.
# shellcheck disable=SC2016
awk_anchors='
function slug(t,    s) {
  gsub(/!?\[/, "", t); gsub(/\]\([^)]*\)/, "", t); gsub(/\]/, "", t)
  gsub(/<[^>]*>/, "", t)
  s = tolower(t)
  gsub(/\342\200[\223\224\230\231\234\235\246]/, "", s)
  gsub(/[!-,.\/:-@\[-^`{-~]/, "", s)
  gsub(/[ \t]/, "-", s)
  return s
}
function emit(t,    s) {
  sub(/^[ \t]+/, "", t); sub(/[ \t]+$/, "", t)
  s = slug(t)
  if (s in seen) print s "-" seen[s]++
  else { seen[s] = 1; print s }
}
{ sub(/\r$/, "") }
NR == 1 && $0 == "---" { front = 1; next }
front { if ($0 == "---" || $0 == "...") front = 0; next }
{
  if (!incomment) { if (fence($0)) { prev = ""; next } if (fchar != "") next }
  line = strip_comments($0)
  rest = line
  while (match(rest, /(id|name)="[^"]+"/)) {
    a = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
    sub(/^[a-z]+="/, "", a); sub(/"$/, "", a); print a
  }
  if (match(line, /^ ? ? ?#+([ \t]|$)/) && line !~ /^ *#######/) {
    t = substr(line, RLENGTH + 1); sub(/[ \t]+#+[ \t]*$/, "", t); emit(t); prev = ""; next
  }
  if (line ~ /^ ? ? ?(=+|-+)[ \t]*$/ && prev != "") { emit(prev); prev = ""; next }
  prev = (line ~ /^[ \t]*$/ || line ~ /^ ? ? ?([|>*+-]|[0-9]+[.)])/) ? "" : line
}
'

percent_decode() {
  local text=${1//\\/\\\\}
  case $text in
    *%[0-9A-Fa-f][0-9A-Fa-f]*)
      text=$(printf '%s' "$text" | sed 's/%\([0-9A-Fa-f][0-9A-Fa-f]\)/\\x\1/g')
      ;;
  esac
  printf '%b' "$text"
}

has_anchor() {
  local file=$1 want=$2 list
  # HTML ids are case-sensitive, but GitHub lower-cases the requested fragment.
  list=$(awk "$awk_common$awk_anchors" <"$file")
  printf '%s\n' "$list" | grep -qxF -e "$want" ||
    printf '%s\n' "$list" | grep -qxF -e "$(printf '%s' "$want" | tr '[:upper:]' '[:lower:]')"
}

files=0
links=0
broken=0

report() {
  broken=$((broken + 1))
  printf '%s:%s: %s: %s\n' "$1" "$2" "$3" "$4"
}

check_link() {
  local file=$1 line=$2 target=$3 path fragment full
  case $target in
    //*) return 0 ;;
    [A-Za-z]*:*)
      case ${target%%:*} in
        *[!A-Za-z0-9+.-]*) ;;
        *) return 0 ;;
      esac
      ;;
  esac
  links=$((links + 1))
  fragment=
  case $target in *'#'*) fragment=$(percent_decode "${target#*#}") ;; esac
  path=${target%%#*}
  path=${path%%\?*}
  path=$(percent_decode "$path")
  case $path in
    '') full=$file ;;
    /*) full=$root$path ;;
    *) full=$(dirname -- "$file")/$path ;;
  esac
  if [ ! -e "$full" ]; then
    report "$file" "$line" "missing file" "$target"
    return 0
  fi
  [ "$anchors" -eq 1 ] && [ -n "$fragment" ] || return 0
  case $full in
    *.md | *.markdown)
      [ -f "$full" ] || return 0
      has_anchor "$full" "$fragment" || report "$file" "$line" "missing anchor" "$target"
      ;;
  esac
}

check_file() {
  local file=$1 line target list
  files=$((files + 1))
  [ -r "$file" ] || die 2 "cannot read: $file"
  list=$(awk "$awk_common$awk_links" <"$file")
  [ -n "$list" ] || return 0
  while IFS=$'\t' read -r line target; do
    check_link "${file#./}" "$line" "$target"
  done <<<"$list"
}

list=$(
  for path in "${paths[@]}"; do
    if [ -d "$path" ]; then
      case $path in /* | ./* | ../* | . | ..) ;; *) path=./$path ;; esac
      find "$path" \
        -type d \( -name .git -o -name node_modules -o -name target -o -name .venv -o -name vendor \) -prune \
        -o -type f \( -name '*.md' -o -name '*.markdown' \) -print
    else
      printf '%s\n' "$path"
    fi
  done | sort -u
)
[ -n "$list" ] || die 3 "no Markdown file under: ${paths[*]}"

while IFS= read -r file; do
  check_file "$file"
done <<<"$list"

if [ "$quiet" -eq 0 ]; then
  printf '%d file(s), %d relative link(s), %d broken\n' "$files" "$links" "$broken"
fi
[ "$broken" -eq 0 ]
