"""Measure a table on labelled queries: dense alone, a BM25F alone, and both fused.

    python evaluate.py --table router.bin --pool DIR --queries queries.jsonl [--json out.json]

numpy only (and PyYAML to read frontmatter). Prints Hit@1, R@5, R@10 and nDCG@10 over all queries,
over those that do not name their skill, as a mean over the repositories of the gold skills, and
the fusion weights chosen on one half of the repositories and measured on the other.
"""

import argparse
import json
import os
import pickle

import numpy as np

from common import Table, raw_words, camel_parts, read_jsonl, read_skill, skill_files, stem

BODY_CHARS = 9000


def load_pool(pool, cache=None):
    if cache and os.path.exists(cache):
        with open(cache, "rb") as f:
            return pickle.load(f)
    paths = skill_files(pool)
    skills = [read_skill(pool, p) for p in paths]
    if cache:
        with open(cache, "wb") as f:
            pickle.dump((paths, skills), f)
    return paths, skills


# --- lexical -----------------------------------------------------------------------------------


class Bm25f:
    FIELDS = (("name", 3.0, 0.3), ("description", 3.0, 0.6), ("body", 0.3, 0.75))
    K1 = 1.2

    def __init__(self, skills):
        self.stems, self.cache = {}, {}
        n = len(skills)
        posts, lens = [], np.zeros((3, n), np.float32)
        for f, (field, _, _) in enumerate(self.FIELDS):
            doc, term, cnt = [], [], []
            for d, s in enumerate(skills):
                ids = self.ids(s[field][:BODY_CHARS], True)
                lens[f, d] = len(ids)
                if ids:
                    u, c = np.unique(ids, return_counts=True)
                    term.append(u)
                    cnt.append(c)
                    doc.append(np.full(len(u), d, np.int32))
            posts.append((np.concatenate(term), np.concatenate(doc), np.concatenate(cnt)))
        v = len(self.stems)
        keys, vals = [], []
        for f, (_, w, b) in enumerate(self.FIELDS):
            term, doc, cnt = posts[f]
            norm = 1 - b + b * lens[f] / max(lens[f].mean(), 1e-9)
            keys.append(term.astype(np.int64) * n + doc)
            vals.append(w * cnt / norm[doc])
        key = np.concatenate(keys)
        val = np.concatenate(vals)
        order = np.argsort(key, kind="stable")
        key, val = key[order], val[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        tf = np.add.reduceat(val, first)
        key = key[first]
        self.term, self.doc = key // n, (key % n).astype(np.int32)
        df = np.bincount(self.term, minlength=v)
        self.idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
        self.w = (tf / (self.K1 + tf) * self.idf[self.term]).astype(np.float32)
        self.start = np.searchsorted(self.term, np.arange(v + 1))
        self.n = n

    def ids(self, text, grow=False):
        out = []
        for raw in raw_words(text):
            got = self.cache.get(raw)
            if got is None:
                parts = [raw.lower()] + (camel_parts(raw) or [])
                got = [stem(p) for p in parts]
                self.cache[raw] = got
            for s in got:
                i = self.stems.get(s)
                if i is None and grow:
                    i = self.stems[s] = len(self.stems)
                if i is not None:
                    out.append(i)
        return out

    def scores(self, text):
        s = np.zeros(self.n, np.float32)
        for t in set(self.ids(text)):
            a, b = self.start[t], self.start[t + 1]
            s[self.doc[a:b]] += self.w[a:b]
        return s


# --- dense -------------------------------------------------------------------------------------


def sections(body):
    """Texts under each heading, heading included."""
    out, cur, fence = [], [], False
    for line in body.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fence = not fence
        if line.startswith("#") and not fence and cur:
            out.append("\n".join(cur))
            cur = []
        cur.append(line)
    out.append("\n".join(cur))
    return [s for s in out if len(s.split()) >= 4]


def embed_all(table, id_lists):
    return np.stack([table.embed_ids(ids) for ids in id_lists])


def quantised(vectors):
    """Unit vectors as they are stored: int8 with one step of 1/127."""
    m = np.maximum(np.abs(vectors).max(1, keepdims=True), 1e-9)
    return np.round(vectors / m * 127) / 127 * m


def minmax(s):
    lo, hi = s.min(), s.max()
    return (s - lo) / (hi - lo) if hi > lo else np.zeros_like(s)


def measures(rank_hits, n_gold):
    ideal = sum(1 / np.log2(i + 2) for i in range(min(n_gold, 10)))
    hit = np.asarray(rank_hits, float)
    return np.array([hit[0], hit[:5].sum() / n_gold, hit.sum() / n_gold, (hit / np.log2(np.arange(10) + 2)).sum() / ideal])


def top10(s):
    part = np.argpartition(-s, 10)[:10]
    return part[np.lexsort((part, -s[part]))]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--table", required=True)
    ap.add_argument("--pool", required=True)
    ap.add_argument("--queries", required=True)
    ap.add_argument("--body", type=int, default=512, help="pieces of the body that count")
    ap.add_argument("--max-sections", type=int, default=0, help="also a vector per section, at most this many")
    ap.add_argument("--sample", type=int, help="only every Nth query")
    ap.add_argument("--cache", help="where to keep the parsed pool between runs")
    ap.add_argument("--json", help="write the figures here")
    args = ap.parse_args()

    table = Table(args.table)
    paths, skills = load_pool(args.pool, args.cache)
    queries = read_jsonl(args.queries)[:: args.sample or 1]
    where = {p: i for i, p in enumerate(paths)}
    gold = [[where[g] for g in q["gold"]] for q in queries]
    print(f"{len(paths)} documents, {len(queries)} queries; table {len(table.tokens)} x {table.dims}", flush=True)

    lex = Bm25f(skills)
    head_ids = [table.ids(" ".join([s["name"], s["description"]] + s["tags"]))[:256] for s in skills]
    body_ids = [table.ids(s["body"][:BODY_CHARS], args.body) for s in skills]
    views = {
        "head": quantised(embed_all(table, head_ids)),
        "body": quantised(embed_all(table, body_ids)),
        "full": quantised(embed_all(table, [a + b for a, b in zip(head_ids, body_ids)])),
    }
    views["head+body"] = None  # sum of the two, kept as one vector
    h = views["head"] + views["body"]
    views["head+body"] = quantised(h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-9))
    if args.max_sections:
        owner, ids = [], []
        for d, s in enumerate(skills):
            for sec in sections(s["body"][:BODY_CHARS])[: args.max_sections]:
                owner.append(d)
                ids.append(table.ids(s["name"] + " " + sec, 256))
        sec_vec = quantised(embed_all(table, ids))
        owner = np.array(owner)
    q_vec = embed_all(table, [table.ids(q["query"], 512) for q in queries])

    rankers = {"bm25f": lambda f: f["bm25"]}
    names = ["head", "body", "full", "head+body"] + (["section"] if args.max_sections else [])
    for v in names:
        rankers[v] = lambda f, v=v: f[v]
        for w in (0.2, 0.3, 0.4, 0.5):
            rankers[f"bm25f + {w} {v}"] = lambda f, v=v, w=w: (1 - w) * f["lex"] + w * minmax(f[v])
    grid = [(a, b, c) for a in (0, 0.1, 0.2, 0.3, 0.4) for b in (0, 0.1, 0.2, 0.3, 0.4) for c in ((0, 0.1, 0.2) if args.max_sections else (0,)) if 0 < a + b + c <= 0.7]
    for a, b, c in grid:
        rankers[f"bm25f + {a} head + {b} body + {c} section"] = lambda f, a=a, b=b, c=c: (
            (1 - a - b - c) * f["lex"] + a * minmax(f["head"]) + b * minmax(f["body"]) + (c * minmax(f["section"]) if c else 0)
        )

    got = {k: np.zeros((len(queries), 4)) for k in rankers}
    for i, q in enumerate(queries):
        f = {"bm25": lex.scores(q["query"])}
        f["lex"] = minmax(f["bm25"])
        for v in ("head", "body", "full", "head+body"):
            f[v] = views[v] @ q_vec[i]
        if args.max_sections:
            s = np.full(len(paths), -1.0, np.float32)
            np.maximum.at(s, owner, sec_vec @ q_vec[i])
            f["section"] = np.maximum(s, f["head"] - 1)
        g = set(gold[i])
        for k, fn in rankers.items():
            got[k][i] = measures([d in g for d in top10(fn(f))], len(g))

    repo = np.array([q["gold"][0].split("/")[1] for q in queries])
    plain = np.array([not q["names_the_skill"] for q in queries])
    repos = sorted(set(repo))

    def macro(m):
        return np.mean([m[repo == r].mean(0) for r in repos], axis=0)

    simple = [k for k in rankers if k.count(" + ") < 2]
    best = sorted((k for k in rankers if k not in simple), key=lambda k: -got[k][:, 3].mean())[:8]
    print(f"{'':52s} all queries                  not naming the skill         mean over repositories")
    for k in simple + best:
        cells = [got[k].mean(0), got[k][plain].mean(0), macro(got[k])]
        print(f"{k:52s} " + "  |  ".join(" ".join(f"{x:.3f}" for x in c) for c in cells))
    print("per repository (nDCG@10):")
    for r in repos:
        m = repo == r
        print(f"  {r:50s} {m.sum():5d} " + " ".join(f"{k} {got[k][m, 3].mean():.3f}" for k in ["bm25f", "full"] + best[:1]))
    # Chosen on one half of the repositories, measured on the other.
    sizes = sorted(repos, key=lambda r: -(repo == r).sum())
    halves = [set(sizes[0::2]), set(sizes[1::2])]
    fused = [k for k in rankers if " + " in k]
    for a, b in ((0, 1), (1, 0)):
        ma, mb = np.isin(repo, list(halves[a])), np.isin(repo, list(halves[b]))
        k = max(fused, key=lambda k: got[k][ma, 3].mean())
        print(f"chosen on half {a} ({ma.sum()} queries): {k}; on half {b} ({mb.sum()}): "
              f"{got[k][mb].mean(0).round(3)} against bm25f {got['bm25f'][mb].mean(0).round(3)}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({k: {"all": got[k].mean(0).tolist(), "macro": macro(got[k]).tolist()} for k in rankers}, f, indent=1)


if __name__ == "__main__":
    main()
