"""Fine-tune the encoder on skill pairs, then train static tables with it as their teacher.

    python train.py --data data/ --weights model.safetensors --out out/ [--teacher-steps N] ...

Needs torch; a GPU for anything but a trial. Everything is drawn with fixed seeds; results differ
between runs only by the order of floating point sums.
"""

import argparse
import json
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

from common import expand
from common import pieces as cut

NAME, DESC, TAGS, HEAD, TEXT, CODE, COMMENT = range(7)
BIGRAM_MUL = 0x9E3779B1

# --- data --------------------------------------------------------------------------------------


class Pool:
    """Documents as segments of words, the extracted queries, and the maps from words to pieces."""

    def __init__(self, folder):
        z = np.load(os.path.join(folder, "data.npz"))
        for k in z.files:
            setattr(self, k, z[k])
        self.docs = len(self.doc_seg) - 1
        order = np.argsort(self.q_doc, kind="stable")
        self.by_doc = order
        self.by_doc_start = np.searchsorted(self.q_doc[order], np.arange(self.docs + 1))
        self.span_start = np.searchsorted(self.span_pair, np.arange(len(self.q_doc) + 1))
        self.banned = set(self.banned_seg.tolist())
        self.is_stop = np.zeros(int(self.student_flat.max()) + 1, bool)
        self.is_stop[self.stop] = True
        self.rows = int(self.student_flat.max()) + 1
        keys = self.pairs[:, 0].astype(np.int64) * self.rows + self.pairs[:, 1]
        self.pair_rank = np.argsort(keys, kind="stable")
        self.pair_keys = keys[self.pair_rank]

    def pair_rows(self, pieces):
        """Rows of the listed pairs that occur."""
        if len(pieces) < 2:
            return np.zeros(0, np.int64)
        k = pieces[:-1].astype(np.int64) * self.rows + pieces[1:]
        at = np.minimum(np.searchsorted(self.pair_keys, k), len(self.pair_keys) - 1)
        return self.pair_rank[at[self.pair_keys[at] == k]]

    def doc_range(self, d):
        return self.seg_start[self.doc_seg[d]], self.seg_start[self.doc_seg[d + 1]]

    def segs(self, d):
        return range(self.doc_seg[d], self.doc_seg[d + 1])

    def kind_words(self, d, kinds, limit):
        out = [self.stream[self.seg_start[s] : self.seg_start[s + 1]] for s in self.segs(d) if self.seg_kind[s] in kinds]
        out = np.concatenate(out) if out else np.zeros(0, np.int32)
        return out[:limit]

    def query(self, q):
        return self.q_stream[self.q_start[q] : self.q_start[q + 1]]

    def template(self, i):
        t = self.template_start
        return (self.template_stream[t[2 * i] : t[2 * i + 1]], self.template_stream[t[2 * i + 1] : t[2 * i + 2]])

    def templates(self):
        return (len(self.template_start) - 1) // 2


class Sampler:
    """Draws (query words, document words) pairs of one document, never leaving the query in the document."""

    def __init__(self, pool, rng):
        self.p, self.rng = pool, rng

    def pick(self, d):
        """Query words, removed ranges (absolute), anchor segment or None."""
        p, rng = self.p, self.rng
        base = p.doc_range(d)[0]
        r = rng.random()
        lo, hi = p.by_doc_start[d], p.by_doc_start[d + 1]
        if r < 0.42 and hi > lo:
            q = p.by_doc[rng.integers(lo, hi)]
            spans = [(base + p.span_from[i], base + p.span_to[i]) for i in range(p.span_start[q], p.span_start[q + 1])]
            words = p.query(q)
            if rng.random() < 0.25 and hi - lo > 1:  # two wishes in one prompt
                q2 = p.by_doc[rng.integers(lo, hi)]
                words = np.concatenate([words, p.query(q2)])
                spans += [(base + p.span_from[i], base + p.span_to[i]) for i in range(p.span_start[q2], p.span_start[q2 + 1])]
            if rng.random() < 0.5:
                pre, post = p.template(rng.integers(p.templates()))
                words = np.concatenate([pre, words, post])
            return words, spans, None
        segs = np.arange(p.doc_seg[d], p.doc_seg[d + 1])
        kinds = p.seg_kind[segs]
        size = p.seg_start[segs + 1] - p.seg_start[segs]
        if r < 0.55:
            pick = segs[(kinds == DESC) & (size >= 4)]
        elif r < 0.80:
            pick = segs[(kinds == TEXT) & (size >= 5)]
        elif r < 0.90:
            pick = segs[(kinds == COMMENT) & (size >= 3)]
        else:
            pick = segs[(kinds == HEAD) & (size >= 2)]
        if len(pick) == 0:
            pick = segs[size >= 3]
            if len(pick) == 0:
                pick = segs
            if len(pick) == 0:
                return np.zeros(0, np.int32), [], None
        s = int(pick[rng.integers(len(pick))])
        if s in p.banned:
            return np.zeros(0, np.int32), [], None
        a, b = int(p.seg_start[s]), int(p.seg_start[s + 1])
        words = p.stream[a:b]
        spans = [(a, b)]
        if len(words) > 40:
            at = rng.integers(len(words) - 39)
            words = words[at : at + 40]
        kind = p.seg_kind[s]
        if kind in (TEXT, COMMENT, HEAD):
            if rng.random() < 0.3 and s + 1 < p.doc_seg[d + 1]:  # a longer prompt: the next line too
                b2 = int(p.seg_start[s + 2])
                words = np.concatenate([words, p.stream[b : min(b2, b + 40)]])
                spans.append((b, min(b2, b + 40)))
            if rng.random() < 0.6:  # the subject is often named beside the detail
                name = p.kind_words(d, (NAME,), 8)
                name = name[rng.random(len(name)) < 0.6]
                words = np.concatenate([name, words]) if rng.random() < 0.5 else np.concatenate([words, name])
            if rng.random() < 0.3:
                pre, post = p.template(rng.integers(p.templates()))
                words = np.concatenate([pre, words, post])
        return words, spans, (s if kind in (TEXT, COMMENT, HEAD) else None)

    def document(self, d, spans, anchor, limit=320):
        p, rng = self.p, self.rng
        lo, hi = p.doc_range(d)
        keep = np.ones(hi - lo, bool)
        for a, b in spans:
            keep[max(0, a - lo) : max(0, b - lo)] = False
        head_end = lo
        for s in p.segs(d):
            if p.seg_kind[s] > TAGS:
                break
            head_end = p.seg_start[s + 1]
        head = p.stream[lo:head_end][keep[: head_end - lo]]
        body = p.stream[head_end:hi]
        body_keep = keep[head_end - lo :]
        r = rng.random()
        if r < 0.33 and len(head) >= 8:
            return head[:limit]
        if r < 0.70 or len(body) < 30:
            out = np.concatenate([head, body[: 2 * limit][body_keep[: 2 * limit]]])
            return out[:limit]
        # a window of the body, round the anchor if there is one
        width = int(rng.integers(60, 260))
        if anchor is not None:
            at = max(0, int(p.seg_start[anchor]) - head_end - int(rng.integers(width)))
        else:
            at = int(rng.integers(max(1, len(body) - width)))
        part = body[at : at + width + 40][body_keep[at : at + width + 40]]
        if rng.random() < 0.6:
            part = np.concatenate([head[:80], part])
        return part[:limit] if len(part) >= 8 else np.concatenate([head, part])[:limit]

    def pair(self, d):
        words, spans, anchor = self.pick(d)
        doc = self.document(d, spans, anchor)
        rng = self.rng
        if len(words) > 3 and rng.random() < 0.5:
            words = words[rng.random(len(words)) > 0.12]
        if len(doc) > 12 and rng.random() < 0.3:
            doc = doc[rng.random(len(doc)) > 0.1]
        return words, doc


def bigrams(pieces, rows, kind, stop):
    """Hashed rows of neighbouring pieces; kind 1: as they stand, 2: stop words left out first, 3: and in either order, 5: with one piece between, too (4, listed pairs, is `pair_rows`)."""
    if kind in (2, 3):
        pieces = pieces[~stop[pieces]]
    if len(pieces) < 2:
        return np.zeros(0, np.int64)
    a, b = pieces[:-1].astype(np.uint64), pieces[1:].astype(np.uint64)
    if kind == 3:
        a, b = np.minimum(a, b), np.maximum(a, b)
    if kind == 5 and len(pieces) > 2:
        a, b = np.concatenate([a, a[:-1]]), np.concatenate([b, b[1:] + np.uint64(1 << 20)])
    h = ((a * np.uint64(BIGRAM_MUL) + b) * np.uint64(BIGRAM_MUL)) & np.uint64(0xFFFFFFFF)
    return ((h >> np.uint64(7)) % np.uint64(rows)).astype(np.int64)


def pack(lists):
    """(distinct ids, their counts, offsets) of all lists."""
    parts = [np.unique(x, return_counts=True) for x in lists]
    ids = np.concatenate([p[0] for p in parts]).astype(np.int64)
    cnt = np.concatenate([p[1] for p in parts]).astype(np.float32)
    off = np.cumsum([0] + [len(p[0]) for p in parts])[:-1]
    return tuple(torch.from_numpy(np.ascontiguousarray(x)) for x in (ids, cnt, off))


def pack_bags(lists, rows, kinds, pool):
    """{0: pieces, kind: bigrams}"""
    out = {0: pack(lists)}
    for k in kinds:
        out[k] = pack([pool.pair_rows(x) if k == 4 else bigrams(x, rows, k, pool.is_stop) for x in lists])
    return out


def pack_sequences(lists, limit):
    """[CLS] pieces [SEP], padded with 0."""
    lists = [x[: limit - 2] for x in lists]
    width = max(len(x) for x in lists) + 2
    out = np.zeros((len(lists), width), np.int64)
    for i, x in enumerate(lists):
        out[i, 0] = 101
        out[i, 1 : 1 + len(x)] = x
        out[i, 1 + len(x)] = 102
    return torch.from_numpy(out)


class Batches(torch.utils.data.IterableDataset):
    """Batches half of random documents, half of neighbourhoods, so that the others are hard negatives."""

    def __init__(self, pool, size, steps, seed, neighbours, allowed, rows=0, kinds=(), student=False, hard=0.6, cluster=10, mask=False):
        self.__dict__.update(locals())

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        wid, count = (info.id, info.num_workers) if info else (0, 1)
        p = self.pool
        for step in range(wid, self.steps, count):
            rng = np.random.default_rng([self.seed, step])
            sampler = Sampler(p, rng)
            ids = []
            target = int(self.size * self.hard)
            while self.neighbours is not None and len(ids) < target:
                d = int(self.allowed[rng.integers(len(self.allowed))])
                near = self.neighbours[d]
                near = near[rng.permutation(len(near))[: self.cluster - 1]]
                ids.append(d)
                ids.extend(int(x) for x in near)
            ids = ids[:target]
            while len(ids) < self.size:
                ids.append(int(self.allowed[rng.integers(len(self.allowed))]))
            q, d, keep = [], [], []
            for i in ids:
                qw, dw = sampler.pair(i)
                if len(qw) == 0 or len(dw) == 0:
                    continue
                q.append(qw)
                d.append(dw)
                keep.append(i)
            out = {
                "doc": torch.tensor(keep),
                "tq": pack_sequences([expand(x, p.teacher_flat, p.teacher_start) for x in q], 80),
                "td": pack_sequences([expand(x[:240], p.teacher_flat, p.teacher_start) for x in d], 256),
            }
            if self.student:
                cut = [expand(x, p.student_flat, p.student_start) for x in d]
                out["sq"] = pack_bags([expand(x, p.student_flat, p.student_start) for x in q], self.rows, self.kinds, p)
                out["sd"] = pack_bags(cut, self.rows, self.kinds, p)
                if self.mask:
                    # The query's words are struck from its document, so that meaning has to carry.
                    hidden = []
                    for qw, dw, full in zip(q, d, cut):
                        r = rng.random()
                        if r < 0.5:
                            u = np.unique(qw)
                            u = u[rng.random(len(u)) < (1.0 if r < 0.15 else 0.5)]
                            left = dw[~np.isin(dw, u)]
                            full = expand(left, p.student_flat, p.student_start) if len(left) > 5 else full
                        hidden.append(full)
                    out["sm"] = pack_bags(hidden, self.rows, self.kinds, p)
            yield out


# --- the encoder -------------------------------------------------------------------------------


class Encoder(torch.nn.Module):
    """BERT as MiniLM has it: mean pooling, unit length."""

    def __init__(self, state, layers=6, heads=12):
        super().__init__()
        self.heads, self.layers = heads, layers
        self.w = torch.nn.ParameterDict()
        for k, v in state.items():
            if "pooler" in k or "position_ids" in k:
                continue
            self.w[k.replace(".", "/")] = torch.nn.Parameter(v.float())

    def g(self, k):
        return self.w[k.replace(".", "/")]

    def lin(self, x, k):
        return F.linear(x, self.g(k + ".weight"), self.g(k + ".bias"))

    def norm(self, x, k):
        return F.layer_norm(x, x.shape[-1:], self.g(k + ".weight"), self.g(k + ".bias"), 1e-12)

    def forward(self, ids):
        mask = ids != 0
        b, n = ids.shape
        x = F.embedding(ids, self.g("embeddings.word_embeddings.weight"))
        x = x + self.g("embeddings.position_embeddings.weight")[:n] + self.g("embeddings.token_type_embeddings.weight")[0]
        x = self.norm(x, "embeddings.LayerNorm")
        if self.training:
            x = F.dropout(x, 0.1)
        x = x.to(torch.bfloat16) if torch.is_autocast_enabled() else x
        am = mask[:, None, None, :]
        for i in range(self.layers):
            k = f"encoder.layer.{i}."

            def heads(t):
                return t.view(b, n, self.heads, -1).transpose(1, 2)

            qkv = F.linear(
                x,
                torch.cat([self.g(k + f"attention.self.{m}.weight") for m in ("query", "key", "value")]),
                torch.cat([self.g(k + f"attention.self.{m}.bias") for m in ("query", "key", "value")]),
            )
            q, kk, v = (heads(t) for t in qkv.chunk(3, -1))
            a = F.scaled_dot_product_attention(q, kk, v, attn_mask=am)
            a = a.transpose(1, 2).reshape(b, n, -1)
            a = self.lin(a, k + "attention.output.dense")
            if self.training:
                a = F.dropout(a, 0.1)
            x = self.norm(x + a, k + "attention.output.LayerNorm")
            h = self.lin(F.gelu(self.lin(x, k + "intermediate.dense")), k + "output.dense")
            if self.training:
                h = F.dropout(h, 0.1)
            x = self.norm(x + h, k + "output.LayerNorm")
        m = mask.unsqueeze(-1).float()
        x = (x.float() * m).sum(1) / m.sum(1)
        return F.normalize(x, dim=-1)


def load_weights(path):
    """A safetensors file, or our own npz of int8 rows with a scale each."""
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(path)
    state = {}
    for part in path.split(","):
        z = np.load(part)
        for k in z.files:
            if k.endswith("|q"):
                state[k[:-2]] = torch.from_numpy(z[k].astype(np.float32) * z[k[:-2] + "|s"][:, None])
            elif not k.endswith("|s"):
                state[k] = torch.from_numpy(z[k].astype(np.float32))
    return state


def save_weights(state, prefix, parts=2):
    files = [{} for _ in range(parts)]
    for i, (k, v) in enumerate(state.items()):
        v = v.detach().float().cpu().numpy()
        at = 0 if "word_embeddings" in k else (1 + i % (parts - 1) if parts > 1 else 0)
        if v.ndim == 2:
            s = np.maximum(np.abs(v).max(1), 1e-12) / 127
            files[at][k + "|q"] = np.round(v / s[:, None]).astype(np.int8)
            files[at][k + "|s"] = s.astype(np.float32)
        else:
            files[at][k] = v.astype(np.float32)
    for i, f in enumerate(files):
        np.savez(f"{prefix}{i}.npz", **f)


@torch.no_grad()
def encode(model, lists, limit, device, amp, batch=1024):
    """Encodes piece lists, longest together."""
    model.eval()
    order = sorted(range(len(lists)), key=lambda i: len(lists[i]))
    out = None
    for at in range(0, len(order), batch):
        part = order[at : at + batch]
        ids = pack_sequences([lists[i] for i in part], limit).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=amp):
            e = model(ids).float()
        if out is None:
            out = torch.zeros(len(lists), e.shape[1], device=device)
        out[torch.tensor(part, device=device)] = e
    return out


# --- evaluation on the device ------------------------------------------------------------------


class Evaluation:
    """Labelled queries against all documents, for looking at only."""

    def __init__(self, pool, folder, device):
        z = np.load(os.path.join(folder, "eval.npz"))
        self.pool, self.device = pool, device
        self.repo = z["repo"]
        self.queries = [z["stream"][a:b] for a, b in zip(z["start"][:-1], z["start"][1:])]
        self.gold = [z["gold"][a:b] for a, b in zip(z["gold_start"][:-1], z["gold_start"][1:])]
        self.views = {
            "nd": [pool.kind_words(d, (NAME, DESC, TAGS), 200) for d in range(pool.docs)],
            "body": [pool.kind_words(d, (HEAD, TEXT, CODE, COMMENT), 400) for d in range(pool.docs)],
        }
        self.views["full"] = [np.concatenate([a, b]) for a, b in zip(self.views["nd"], self.views["body"])]
        self.bm25 = self._bm25()

    def _bm25(self):
        p, dev = self.pool, self.device
        want = np.unique(np.concatenate([p.stem[q] for q in self.queries if len(q)]))
        col = np.full(int(p.stem.max()) + 1, -1)
        col[want] = np.arange(len(want))
        doc_of = np.repeat(np.arange(p.docs), np.diff(p.seg_start[p.doc_seg]))
        kind_of = np.repeat(p.seg_kind, np.diff(p.seg_start))
        cols = col[p.stem[p.stream]]
        tf = torch.zeros(p.docs, len(want), device=dev)
        seen = torch.zeros(p.docs, len(want), device=dev, dtype=torch.bool)
        for kinds, w, b in (((NAME,), 3.0, 0.3), ((DESC,), 3.0, 0.6), ((TAGS, HEAD, TEXT, CODE, COMMENT), 0.3, 0.75)):
            m = np.isin(kind_of, kinds)
            length = np.bincount(doc_of[m], minlength=p.docs).astype(np.float32)
            norm = 1 - b + b * length / max(length.mean(), 1e-9)
            m &= cols >= 0
            flat = torch.from_numpy(doc_of[m].astype(np.int64) * len(want) + cols[m]).to(dev)
            c = torch.zeros(p.docs * len(want), device=dev)
            c.index_add_(0, flat, torch.ones(len(flat), device=dev))
            c = c.view(p.docs, -1)
            seen |= c > 0
            tf += w * c / torch.from_numpy(norm).to(dev)[:, None]
        df = seen.sum(0).float()
        idf = torch.log(1 + (p.docs - df + 0.5) / (df + 0.5))
        tf = tf / (1.2 + tf) * idf
        q = torch.zeros(len(self.queries), len(want), device=dev)
        for i, x in enumerate(self.queries):
            if len(x):
                q[i, torch.from_numpy(np.unique(col[p.stem[x]])).to(dev)] = 1
        return q @ tf.T

    def metrics(self, scores):
        top = torch.topk(scores, 10, dim=1).indices.cpu().numpy()
        r = []
        for t, g in zip(top, self.gold):
            hit = np.isin(t, g)
            ideal = sum(1 / math.log2(i + 2) for i in range(min(len(g), 10)))
            r.append([hit[0], hit[:5].sum() / len(g), hit.sum() / len(g), sum(1 / math.log2(i + 2) for i in np.flatnonzero(hit)) / ideal])
        r = np.array(r, float)
        macro = np.mean([r[self.repo == k, 3].mean() for k in np.unique(self.repo)])
        return [round(float(x), 4) for x in (*r.mean(0), macro)]

    @staticmethod
    def minmax(s):
        lo, hi = s.min(1, keepdim=True).values, s.max(1, keepdim=True).values
        return (s - lo) / (hi - lo).clamp_min(1e-9)

    def report(self, label, dense, log):
        """`dense`: view -> cosine matrix."""
        dense = dict(dense)
        if "nd" in dense and "body" in dense:
            dense["nd+body"] = 0.5 * dense["nd"] + 0.5 * dense["body"]
        lex = self.minmax(self.bm25)
        rows = {"bm25f": self.metrics(self.bm25)}
        for k, s in dense.items():
            rows[k] = self.metrics(s)
            n = self.minmax(s)
            for w in (0.2, 0.3, 0.4, 0.5):
                rows[f"{k} fused {w}"] = self.metrics((1 - w) * lex + w * n)
        for k, v in rows.items():
            log(f"{label:24s} {k:20s} hit1 {v[0]:.4f} r5 {v[1]:.4f} r10 {v[2]:.4f} ndcg {v[3]:.4f} by repository {v[4]:.4f}")
        return rows


# --- the static table --------------------------------------------------------------------------


class Student(torch.nn.Module):
    def __init__(self, rows, bigram_rows, kind, power, scale=20.0):
        super().__init__()
        self.rows = torch.nn.Parameter(rows)
        self.power, self.kind = power, kind
        self.big = torch.nn.Parameter(torch.zeros(bigram_rows, rows.shape[1])) if kind else None
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(scale)))

    def forward(self, packed):
        ids, cnt, off = packed[0]
        x = F.embedding_bag(ids, self.rows, off, mode="sum", per_sample_weights=cnt**self.power)
        if self.kind:
            ids, cnt, off = packed[self.kind]
            if self.kind == 4:  # pairs beyond this table's rows do not count
                cnt = cnt * (ids < len(self.big))
                ids = ids.clamp(max=len(self.big) - 1)
            x = x + F.embedding_bag(ids, self.big, off, mode="sum", per_sample_weights=cnt**self.power)
        return F.normalize(x, dim=-1)


def quantise(rows):
    rows = rows.detach().float().cpu().numpy()
    s = np.maximum(np.abs(rows).max(1), 1e-12) / 127
    return np.round(rows / s[:, None]).astype(np.int8), s.astype(np.float32)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--weights", required=True, help="model.safetensors, or parts written by this script, with commas")
    ap.add_argument("--out", required=True)
    ap.add_argument("--teacher-steps", type=int, default=700)
    ap.add_argument("--teacher-batch", type=int, default=1024)
    ap.add_argument("--teacher-seconds", type=float, default=1e9, help="stop tuning the encoder after this long")
    ap.add_argument("--teacher-lr", type=float, default=1e-4)
    ap.add_argument("--student-steps", type=int, default=2000)
    ap.add_argument("--student-batch", type=int, default=2048)
    ap.add_argument("--students", default="a:dims=256", help="name:key=value,…;name:…")
    ap.add_argument("--bigrams", type=int, default=0, help="hashed bigram rows of the students that ask for them")
    ap.add_argument("--leave-out", help="file of document indices that training must not see")
    ap.add_argument("--workers", type=int, default=14)
    ap.add_argument("--seconds", type=float, default=1e9, help="stop training after this long")
    ap.add_argument("--save-teacher", action="store_true")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    t0 = time.time()
    logf = open(os.path.join(args.out, "train.log"), "w")

    def log(*a):
        s = f"[{time.time() - t0:6.1f}] " + " ".join(str(x) for x in a)
        print(s, flush=True)
        logf.write(s + "\n")
        logf.flush()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp = device.type == "cuda"
    torch.set_float32_matmul_precision("high")
    pool = Pool(args.data)
    allowed = np.arange(pool.docs)
    if args.leave_out:
        allowed = np.setdiff1d(allowed, np.loadtxt(args.leave_out, dtype=np.int64))
    log(pool.docs, "documents,", len(pool.q_doc), "queries,", len(allowed), "trained on")
    ev = Evaluation(pool, args.data, device)
    log("evaluation ready")
    group = torch.from_numpy(pool.group).to(device)
    results = {}

    def pieces_of(lists):
        return [expand(x, pool.teacher_flat, pool.teacher_start) for x in lists]

    teacher_views = {k: pieces_of([x[:260] for x in ev.views[k]]) for k in ("nd", "full")}
    teacher_views["body"] = pieces_of([x[:260] for x in ev.views["body"]])
    teacher_queries = pieces_of(ev.queries)
    log("views ready")

    model = Encoder(load_weights(args.weights)).to(device)

    def eval_teacher(label):
        q = encode(model, teacher_queries, 128, device, amp)
        emb = {k: encode(model, v, 256, device, amp) for k, v in teacher_views.items()}
        results[label] = ev.report(label, {k: q @ e.T for k, e in emb.items()}, log)
        return emb

    def neighbours_of(emb, k=32):
        """Nearest documents of other groups, and a bar over which two documents count as the same."""
        near = np.zeros((pool.docs, k), np.int32)
        ok = torch.zeros(pool.docs, dtype=torch.bool, device=device)
        ok[torch.from_numpy(allowed).to(device)] = True
        for at in range(0, pool.docs, 2048):
            s = emb[at : at + 2048] @ emb.T
            s[group[at : at + 2048, None] == group[None, :]] = -1
            s[s > 0.93] = -1
            s[:, ~ok] = -1
            near[at : at + 2048] = torch.topk(s, min(k, pool.docs), dim=1).indices.int().cpu().numpy()
        return near

    emb = eval_teacher("encoder as it comes")
    doc_emb = F.normalize(emb["nd"] + emb["full"], dim=-1)
    near = neighbours_of(doc_emb)
    log("neighbours ready")

    def blocked(ids):
        """In-batch pairs that are no negatives: same group or nearly the same document."""
        g = group[ids]
        e = doc_emb[ids]
        b = (g[:, None] == g[None, :]) | (e @ e.T > 0.93)
        b.fill_diagonal_(False)
        return b

    def loader(**kw):
        ds = Batches(pool, allowed=allowed, **kw)
        return torch.utils.data.DataLoader(ds, batch_size=None, num_workers=args.workers, prefetch_factor=4 if args.workers else None)

    def move(x):
        if isinstance(x, dict):
            return {k: move(v) for k, v in x.items()}
        return tuple(t.to(device, non_blocking=True) for t in x) if isinstance(x, (tuple, list)) else x.to(device, non_blocking=True)

    # 1. the encoder itself
    if args.teacher_steps:
        phases = 2
        done = 0
        opt = torch.optim.AdamW(
            [
                {"params": [p for p in model.parameters() if p.ndim == 2], "weight_decay": 0.01},
                {"params": [p for p in model.parameters() if p.ndim != 2], "weight_decay": 0.0},
            ],
            lr=args.teacher_lr,
            fused=amp,
        )
        total = args.teacher_steps
        t1 = time.time()
        for phase in range(phases):
            steps = total // phases
            for b in loader(size=args.teacher_batch, steps=steps, seed=args.seed * 100 + phase, neighbours=near):
                model.train()
                ids = b["doc"].to(device)
                frac = max(done / total, (time.time() - t1) / args.teacher_seconds)
                if frac >= (phase + 1) / phases:
                    break
                for gr in opt.param_groups:
                    gr["lr"] = args.teacher_lr * min(1, (done + 1) / 50) * (1 - frac) + 1e-7
                with torch.autocast(device.type, torch.bfloat16, enabled=amp):
                    q = model(move(b["tq"]))
                    d = model(move(b["td"]))
                logits = 25 * (q.float() @ d.float().T)
                block = blocked(ids)
                logits = logits.masked_fill(block, -1e4)
                y = torch.arange(len(ids), device=device)
                loss = 0.7 * F.cross_entropy(logits, y) + 0.3 * F.cross_entropy(logits.T, y)
                opt.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                done += 1
                if done % 50 == 0 or done < 4:
                    log(f"encoder step {done} loss {loss.item():.4f} acc {(logits.argmax(1) == y).float().mean().item():.3f}")
            emb = eval_teacher(f"encoder tuned {done}")
            doc_emb = F.normalize(emb["nd"] + emb["full"], dim=-1)
            near = neighbours_of(doc_emb)
        if args.save_teacher:
            save_weights({k.replace("/", "."): v for k, v in model.w.items()}, os.path.join(args.out, "teacher"))
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)

    # 2. the tables, all on the same batches
    if args.student_steps:
        vocab = int(pool.student_flat.max()) + 1
        tokens = open(os.path.join(args.data, "tokens.txt"), encoding="utf-8").read().split("\n")
        vocab = len(tokens)
        # A row starts as the encoder's vector of its piece, reduced, and weighted by rarity.
        pos = {w: i for i, w in enumerate(open(os.path.join(args.data, "vocab.txt"), encoding="utf-8").read().split("\n"))}
        lists = [np.array([pos[t]]) if t in pos else np.array(cut(t, pos) or [100]) for t in tokens]
        rows = encode(model, lists, 32, device, amp)
        rows = rows - rows.mean(0)
        _, _, vt = torch.linalg.svd(rows[:, :], full_matrices=False)
        counts = np.bincount(expand(pool.stream, pool.student_flat, pool.student_start), minlength=vocab).astype(np.float64)
        freq = torch.from_numpy(counts / counts.sum()).float().to(device)
        weight = (1e-4 / (1e-4 + freq)).clamp_min(0.02)
        students, opts, conf = {}, {}, {}
        for spec in args.students.split(";"):
            name, _, kv = spec.partition(":")
            c = {"dims": 256, "power": 0.5, "lr": 0.01, "distil": 1.0, "hard": 1.0, "mask": 0, "bigrams": 0, "pairs": 0, "temp": 25.0, "save": 1}
            c.update({k: float(v) for k, v in (x.split("=") for x in kv.split(",") if x)})
            dims = int(c["dims"])
            r = rows @ vt[: min(dims, vt.shape[0])].T
            if r.shape[1] < dims:
                r = torch.cat([r, 0.01 * torch.randn(vocab, dims - r.shape[1], device=device)], 1)
            r = F.normalize(r, dim=-1) * weight[:, None]
            students[name] = Student(r.clone(), int(c["pairs"] or args.bigrams), 4 if c["pairs"] else int(c["bigrams"]), c["power"]).to(device)
            opts[name] = torch.optim.Adam(students[name].parameters(), lr=c["lr"], betas=(0.9, 0.99), fused=amp)
            conf[name] = c
        log(vocab, "rows;", conf)

        kinds = sorted({s.kind for s in students.values()} - {0})
        mask = any(c["mask"] for c in conf.values())
        packed = {}
        for key, lists in {**ev.views, "query": ev.queries}.items():
            packed[key] = []
            for at in range(0, len(lists), 4096):
                pk = pack_bags([expand(x, pool.student_flat, pool.student_start) for x in lists[at : at + 4096]], args.bigrams, kinds, pool)
                packed[key].append(move(pk))
        log("views of the tables ready")

        def eval_students(label, only=None):
            for name, s in students.items():
                if only and name not in only:
                    continue
                with torch.no_grad():
                    keep = s.rows.data.clone()
                    i8, sc = quantise(s.rows)
                    s.rows.data = torch.from_numpy(i8.astype(np.float32) * sc[:, None]).to(device)
                    log(name, "scale", s.log_scale.exp().item(), "row norm", s.rows.norm(dim=1).mean().item())

                    def emb_views(packs):
                        return torch.cat([s(pk) for pk in packs])

                    q = emb_views(packed["query"])
                    results[f"{label} {name}"] = ev.report(f"{label} {name}", {k: q @ emb_views(packed[k]).T for k in ev.views}, log)
                    s.rows.data = keep

        eval_students("start", list(students)[:1])
        t1 = time.time()
        done = 0
        for b in loader(size=args.student_batch, steps=args.student_steps, seed=args.seed * 100 + 50, neighbours=near, student=True, rows=args.bigrams, kinds=kinds, mask=mask):
            ids = b["doc"].to(device)
            frac = max(done / args.student_steps, (time.time() - t1) / args.seconds)
            if frac >= 1:
                break
            with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=amp):
                tq = model(move(b["tq"])).float()
                td = model(move(b["td"])).float()
            block = blocked(ids)
            target_logits = (tq @ td.T).masked_fill(block, -1e4)
            y = torch.arange(len(ids), device=device)
            sq, docs = move(b["sq"]), {0: move(b["sd"])}
            if mask:
                docs[1] = move(b["sm"])
            line = []
            for name, s in students.items():
                c = conf[name]
                for gr in opts[name].param_groups:
                    gr["lr"] = c["lr"] * min(1, (done + 1) / 50) * (1 - frac) + 1e-6
                logits = s.log_scale.exp() * (s(sq) @ s(docs[int(c["mask"])]).T)
                logits = logits.masked_fill(block, -1e4)
                loss = 0
                if c["hard"]:
                    loss = loss + c["hard"] * (0.7 * F.cross_entropy(logits, y) + 0.3 * F.cross_entropy(logits.T, y))
                if c["distil"]:
                    t = F.log_softmax(c["temp"] * target_logits, 1)
                    loss = loss + c["distil"] * F.kl_div(F.log_softmax(logits, 1), t, log_target=True, reduction="batchmean")
                opts[name].zero_grad()
                loss.backward()
                opts[name].step()
                if done % 100 == 0:
                    line.append(f"{name} {loss.item():.3f} acc {(logits.argmax(1) == y).float().mean().item():.3f}")
            if done % 100 == 0:
                acc = (target_logits.argmax(1) == y).float().mean().item()
                log(f"table step {done} teacher acc {acc:.3f}", "; ".join(line))
            done += 1
        log(done, "steps")
        eval_students("end")
        for name, s in students.items():
            if not conf[name]["save"]:
                continue
            i8, sc = quantise(s.rows)
            np.savez(os.path.join(args.out, f"table_{name}.npz"), rows=i8, scale=sc, config=json.dumps(conf[name]))
            if s.big is not None:
                i8, sc = quantise(s.big)
                np.savez(os.path.join(args.out, f"table_{name}_bigrams.npz"), rows=i8, scale=sc)
    with open(os.path.join(args.out, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    log("done")


if __name__ == "__main__":
    main()
