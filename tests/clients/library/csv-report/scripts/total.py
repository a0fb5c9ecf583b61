"""Adds up the columns of numbers of a CSV file."""

import csv
import sys

totals = {}
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        for column, value in row.items():
            try:
                totals[column] = totals.get(column, 0) + float(value)
            except ValueError:
                totals[column] = None
for column, total in totals.items():
    if total is not None:
        print(f"{column}: {total:g}")
