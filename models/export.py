"""Write `router.bin` from a trained table, and `golden.json` for other implementations to check against.

    python export.py --table out/table_a.npz --tokens data/tokens.txt --out router.bin --golden golden.json
"""

import argparse
import json

import numpy as np

from common import Table, write_table

TEXTS = [
    "",
    "Create a Java example that uploads a blob",
    "How do I review a pull request before merging it?",
    "kubectl get pods -n kube-system --watch",
    "DefaultAzureCredential and XMLHttpRequest in TypeScript",
    "func GetUser(ctx context.Context, id int64) (*User, error) { return nil, ErrNotFound }",
    "Crème brûlée, naïve café: ÅNGSTRÖM",
    "帮我写一个代码审查的技能",
    "スキルを検索する",
    "🚀🔥",
    "🚀 deploy to production 🔥 deploy deploy",
    "SELECT * FROM users WHERE name LIKE '%x%' OR 1=1; -- NEAR \"quoted\"",
]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--table", required=True)
    ap.add_argument("--bigrams", help="the table's bigram rows, if it has any")
    ap.add_argument("--tokens", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--golden")
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
    if args.golden:
        table = Table(args.out)
        golden = []
        for text in TEXTS:
            ids = table.ids(text)
            golden.append({"text": text, "ids": ids, "vector": [round(float(x), 6) for x in table.embed_ids(ids)[:8]]})
        with open(args.golden, "w", encoding="utf-8") as f:
            json.dump(golden, f, ensure_ascii=False, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
