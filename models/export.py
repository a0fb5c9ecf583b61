"""Write a trained table as one file with eight bits a value, for `quantise.py` and `evaluate.py`.

    python export.py --table out/table_a.npz --tokens data/tokens.txt --out table.bin
"""

import argparse

import numpy as np

from common import write_table


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--table", required=True)
    ap.add_argument("--bigrams", help="the table's bigram rows, if it has any")
    ap.add_argument("--tokens", required=True)
    ap.add_argument("--out", required=True)
    args = ap.parse_args()
    z = np.load(args.table)
    with open(args.tokens, encoding="utf-8") as f:
        tokens = f.read().split("\n")
    rows, scales, bigrams = z["rows"], z["scale"], 0
    if args.bigrams:
        b = np.load(args.bigrams)
        bigrams = len(b["rows"])
        rows = np.concatenate([rows, b["rows"]])
        scales = np.concatenate([scales, b["scale"]])
    assert len(rows) == len(tokens) + bigrams == len(scales)
    write_table(args.out, tokens, scales, rows, bigrams)


if __name__ == "__main__":
    main()
