"""Write `router.bin` from a table with eight bits a value: three bits a value and one scale a row.

    python quantise.py --table table.bin --out router.bin --golden golden.json

A value becomes one of eight steps, -7, -5, ... 7, times the scale of its row. The scale is chosen for the smallest
squared error; then it is stretched so that the row keeps its length, which the search takes for the weight of the word.
"""

import argparse

import numpy as np

from common import Table, write_golden, write_packed

# Shares of the largest value of a row that are tried as the outermost step.
CLIPS = np.arange(0.4, 1.01, 0.05)


def quantise(rows):
    """(codes 0..7, scales) of float rows."""
    largest = np.abs(rows).max(1, keepdims=True)
    largest[largest == 0] = 1
    codes = scales = errors = None
    for clip in CLIPS:
        code = np.clip(np.round((rows / (largest * clip / 7) + 7) / 2), 0, 7)
        steps = 2 * code - 7
        scale = (steps * rows).sum(1, keepdims=True) / (steps * steps).sum(1, keepdims=True)
        error = ((steps * scale - rows) ** 2).sum(1, keepdims=True)
        if errors is None:
            codes, scales, errors = code, scale, error
        else:
            better = error < errors
            codes, scales = np.where(better, code, codes), np.where(better, scale, scales)
            errors = np.minimum(error, errors)
    steps = 2 * codes - 7
    scales = scales[:, 0] * np.linalg.norm(rows, axis=1) / np.maximum(np.linalg.norm(steps * scales, axis=1), 1e-9)
    return codes.astype(np.uint8), scales.astype("<f4")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--table", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--golden")
    args = ap.parse_args()
    table = Table(args.table)
    codes, scales = quantise(table.rows)
    write_packed(args.out, table.tokens, scales, codes, table.bigrams)
    if args.golden:
        write_golden(args.golden, Table(args.out))


if __name__ == "__main__":
    main()
