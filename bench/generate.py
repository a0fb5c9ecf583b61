#!/usr/bin/env python3
"""Writes a library of made-up skills: generate.py COUNT DIRECTORY.

The same count gives the same bytes on every machine. A skill is a directory with a SKILL.md of about 3 KB, valid
under every profile, and three resources: references/guide.md, scripts/run.py and assets/template.txt.
"""

import os
import random
import shutil
import sys
from pathlib import Path

# Whoever changes what is generated raises this; libraries of another version are written anew.
VERSION = 1
MANIFEST_BYTES = 3000
MARK = ".generated"

SUBJECTS = """
    account archive backup balance barcode bearing blueprint bridge cable campaign catalogue chart claim cluster coating
    compiler container contract courier dataset deadline diagram dialect estimate exhibit farm filter forecast freight
    garden glossary harbour index inventory invoice journal kernel ledger letter licence lens manual margin mesh meter
    mixture module motor network notebook orbit order outline parcel patent payroll pipeline playlist poem portfolio
    protein purchase quarry queue quota receipt recipe record reef refund reservoir roster route schedule schema score
    sensor sequence shipment sketch spectrum statement subtitle survey syllabus tariff template thesis timetable tower
    transcript turbine vaccine voucher warehouse warranty workshop
""".split()
ACTIONS = """
    align annotate appraise arrange assemble audit balance calibrate chart classify collate compare compile compress
    convert correct count describe detect draft edit encode enrich estimate explain export filter forecast group import
    inspect label locate measure merge migrate mirror model normalise outline parse plan price proofread publish rank
    reconcile rename render repair replace restore review rewrite sample schedule score search segment simplify sort
    split stage summarise survey tag test trace transcribe translate trim validate verify weigh
""".split()
MANNERS = """
    annual blind bulk careful central certified coarse daily early exact final formal frozen hourly joint lean legacy
    local manual mobile monthly nested offline open partial portable private public quick quiet regional remote rolling
    seasonal shared spare sparse staged steady strict tidy urgent weekly
""".split()


class Author:
    """Makes up words, sentences and files from one stream of random numbers."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def word(self):
        return self.random.choice(self.random.choice((SUBJECTS, ACTIONS, MANNERS)))

    def phrase(self, words):
        return " ".join(self.word() for _ in range(words)).capitalize()

    def sentence(self, words):
        return self.phrase(words) + "."

    def skill(self, number):
        """Returns the name of the skill and its files by relative path."""
        action = self.random.choice(ACTIONS)
        manner = self.random.choice(MANNERS)
        subject = self.random.choice(SUBJECTS)
        name = f"{action}-{manner}-{subject}-{number:05}"
        files = {
            "SKILL.md": self.manifest(name, action, manner, subject, number),
            "references/guide.md": "# Guide\n\n" + "\n\n".join(self.sentence(20) for _ in range(12)) + "\n",
            "scripts/run.py": self.script(),
            "assets/template.txt": "\n".join(self.sentence(10) for _ in range(6)) + "\n",
        }
        return name, files

    def manifest(self, name, action, manner, subject, number):
        others = ", ".join(self.random.choice(SUBJECTS) for _ in range(3))
        text = (
            f"---\nname: {name}\n"
            f"description: {action.capitalize()} a {manner} {subject}. {self.sentence(12)}"
            f" Use when the user wants to {action} a {subject} or speaks of {others}.\n"
            f'license: MIT\nmetadata:\n  author: bench\n  version: "1.{number % 10}"\n---\n\n'
            f"# {action.capitalize()} the {subject}\n"
        )
        while len(text) < MANIFEST_BYTES - 150:
            text += (
                f"\n## {self.phrase(3)}\n\n{self.sentence(14)} {self.sentence(10)}\n\n"
                f"1. {self.sentence(8)}\n2. {self.sentence(9)}\n"
                "3. Read [the guide](references/guide.md), then run `scripts/run.py`.\n"
            )
        return text

    def script(self):
        comments = "".join(f"# {self.sentence(10)}\n" for _ in range(10))
        return f'#!/usr/bin/env python3\nimport sys\n\n{comments}print("done", sys.argv)\n'


def generate(count, directory):
    """Writes a library of `count` skills to `directory`, unless that very library is there already."""
    mark = f"{VERSION} {count}\n"
    directory = Path(directory)
    mark_file = directory.with_name(directory.name + MARK)
    if mark_file.exists() and mark_file.read_text() == mark and directory.is_dir():
        return
    mark_file.unlink(missing_ok=True)
    shutil.rmtree(directory, ignore_errors=True)
    author = Author(count)
    for number in range(count):
        name, files = author.skill(number)
        for relative, text in files.items():
            path = directory / name / relative
            os.makedirs(path.parent, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    mark_file.write_text(mark)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    generate(int(sys.argv[1]), sys.argv[2])
