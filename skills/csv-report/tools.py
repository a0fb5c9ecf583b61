"""Tools about CSV files: describe, query, report. Standard library only.

One public function per tool in schema.json, keyword arguments only. Each raises CsvToolError with a message that says
what to do next.
"""

import collections
import csv
import io
import os
import re

__all__ = ["csv_describe", "csv_query", "csv_report"]

_MAX_ROWS = 5_000_000
_MAX_DISTINCT = 1_000  # distinct values are counted up to this many
_CONDITION = re.compile(r"^\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*$")


class CsvToolError(Exception):
    """A CSV tool could not do what was asked; the message says why."""


def csv_describe(*, path):
    """Columns with type, empty cells, distinct values and range."""
    header, rows = _open(path)
    columns = [_Column(name) for name in header]
    count = 0
    for row in rows:
        count += 1
        for column, cell in zip(columns, row):
            column.add(cell)
    return {"path": path, "rows": count, "columns": [column.described() for column in columns]}


def csv_query(*, path, columns=None, where=None, group_by=None, sum=None, limit=100):
    """Rows that fit `where`, or counts and sums by `group_by`."""
    if sum is not None and group_by is None:
        raise CsvToolError("csv_query: `sum` goes with `group_by`")
    header, rows = _open(path)
    fits = _condition(header, where)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if group_by is None:
        chosen = [_index(header, name) for name in (columns or header)]
        writer.writerow([header[index] for index in chosen])
        found = 0
        for row in rows:
            if fits(row):
                found += 1
                if found <= limit:
                    writer.writerow([_cell(row, index) for index in chosen])
        return out.getvalue() + ("(%d of %d rows; raise limit or narrow where)\n" % (limit, found) if found > limit else "")
    by, added = _index(header, group_by), None if sum is None else _index(header, sum)
    counts, sums = collections.Counter(), collections.Counter()
    for row in rows:
        if fits(row):
            key = _cell(row, by)
            counts[key] += 1
            if added is not None:
                sums[key] += _number(_cell(row, added)) or 0
    writer.writerow([group_by, "rows"] + ([] if added is None else ["sum of " + sum]))
    for key, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]:
        writer.writerow([key, number] + ([] if added is None else [_shown(sums[key])]))
    return out.getvalue()


def csv_report(*, path, title, name):
    """A Markdown report about the file, written to reports/<name>.md."""
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        raise CsvToolError("csv_report: name is a-z, 0-9 and hyphens; got %r" % name)
    about = csv_describe(path=path)
    lines = ["# " + " ".join(title.split()), "", "%d rows of `%s`." % (about["rows"], path), ""]
    lines += ["| column | type | empty | distinct | least | most |", "|---|---|---|---|---|---|"]
    for column in about["columns"]:
        cells = [column[key] for key in ("name", "type", "empty", "distinct", "least", "most")]
        lines.append("| %s |" % " | ".join(str("" if cell is None else cell).replace("|", "\\|") for cell in cells))
    os.makedirs("reports", exist_ok=True)
    target = os.path.join("reports", name + ".md")
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return target


class _Column:
    def __init__(self, name):
        self.name, self.empty, self.numbers, self.texts = name, 0, 0, 0
        self.values, self.least, self.most = set(), None, None

    def add(self, cell):
        if not cell.strip():
            self.empty += 1
            return
        if len(self.values) <= _MAX_DISTINCT:
            self.values.add(cell)
        number = _number(cell)
        if number is None:
            self.texts += 1
            return
        self.numbers += 1
        self.least = number if self.least is None else min(self.least, number)
        self.most = number if self.most is None else max(self.most, number)

    def described(self):
        kind = "empty" if not self.numbers + self.texts else "number" if not self.texts else "text" if not self.numbers else "mixed"
        distinct = len(self.values) if len(self.values) <= _MAX_DISTINCT else "over %d" % _MAX_DISTINCT
        return {
            "name": self.name, "type": kind, "empty": self.empty, "distinct": distinct,
            "least": self.least, "most": self.most,
        }


def _open(path):
    try:
        file = open(path, newline="", encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise CsvToolError("%s cannot be read: %s" % (path, error.strerror)) from None
    start = file.read(64 * 1024)
    file.seek(0)
    try:
        dialect = csv.Sniffer().sniff(start, delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    reader = csv.reader(file, dialect)
    header = next(reader, None)
    if not header:
        raise CsvToolError("%s has no header row" % path)
    return header, _bounded(reader)


def _bounded(reader):
    for number, row in enumerate(reader):
        if number >= _MAX_ROWS:
            raise CsvToolError("more than %d rows; split the file" % _MAX_ROWS)
        if row:
            yield row


def _index(header, name):
    if name not in header:
        raise CsvToolError("no column %r; there are: %s" % (name, ", ".join(header[:50])))
    return header.index(name)


def _cell(row, index):
    return row[index] if index < len(row) else ""


def _number(cell):
    try:
        number = float(cell)
    except ValueError:
        return None
    return None if number != number or number in (float("inf"), float("-inf")) else int(number) if number.is_integer() else number


def _shown(number):
    return int(number) if float(number).is_integer() else round(number, 6)


def _condition(header, where):
    if where is None:
        return lambda row: True
    found = _CONDITION.match(where)
    if not found:
        raise CsvToolError("where is one condition, as in `amount > 1000`; got %r" % where)
    index, sign, value = _index(header, found[1]), found[2], found[3].strip("\"'")
    if sign in ("=", "!="):
        return lambda row: (_cell(row, index) == value) == (sign == "=")
    limit = _number(value)
    if limit is None:
        raise CsvToolError("where: %s compares numbers, and %r is none" % (sign, value))
    compare = {"<": lambda n: n < limit, "<=": lambda n: n <= limit, ">": lambda n: n > limit, ">=": lambda n: n >= limit}[sign]

    def fits(row):
        number = _number(_cell(row, index))
        return number is not None and compare(number)

    return fits
