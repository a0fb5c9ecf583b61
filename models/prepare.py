"""Turn a pool of SKILL.md files into training data: documents, query-like spans, duplicate groups.

    python prepare.py --pool DIR --vocab vocab.txt --queries queries.jsonl --out data/

The labelled queries are only used to leave out training spans that repeat one of them, and are
written (as word ids) to a file of their own for evaluation; nothing is trained on them.
"""

import argparse
import collections
import json
import os
import random
import re
import shutil

import numpy as np

from common import Words, camel_parts, expand, pieces, raw_words, read_jsonl, read_skill, skill_files, stem, STOP_WORDS

# Segment kinds of a document.
NAME, DESC, TAGS, HEAD, TEXT, CODE, COMMENT = range(7)

BODY_CHARS = 9000

QUOTED = re.compile(r"[\"“”]([^\"“”\n]{6,140})[\"“”]|(?<![A-Za-z0-9])['‘]([^'‘’\n]{6,140})['’](?![A-Za-z0-9])")
TRIGGER_HEADING = re.compile(
    r"when to (use|apply|activate|invoke)|trigger|example (prompt|quer|request|use)|use cases?|usage|"
    r"sample prompt|prompts|user says|activation|invocation|how to use|try asking",
    re.I,
)
TRIGGER_LINE = re.compile(r"trigger|user (says|asks|wants|mentions|requests|needs)|phrases? like|such as|ask(s|ing)? (to|for|about)|e\.g\.", re.I)
NEGATIVE = re.compile(r"\b(do not|don't|never|not|avoid|instead|skip)\b", re.I)
USE_WHEN = re.compile(
    r"\b(?:use|invoke|activate|apply|trigger(?:s|ed)?|load|helpful|useful|ideal|best)\b[^.;:]{0,40}?\b(?:when(?:ever)?|for|to|if)\b"
    r"(?:\s+(?:the\s+)?(?:user|users|you|developer|someone|anyone|claude|agent)\s+(?:is|are|asks?|wants?|needs?|says?|mentions?|requests?|have|has|would like)?"
    r"(?:\s+(?:to|for|about|you to|help with|help|asking|working with))*)?\s+(.{8,400})",
    re.I | re.S,
)
LEAD = re.compile(
    r"^(?:[-*+>\d.)\s\[\]x✅☑✔•]+)?(?:\*\*)?(?:use (?:this skill )?(?:when|for|to|if)\b|when(?:ever)?\b|if\b|for\b|before\b|after\b)?\s*"
    r"(?:(?:the )?(?:user|users|you|they|someone)(?:'re|\s+are|\s+is|\s+need|\s+needs|\s+want|\s+wants|\s+asks?|\s+says?|\s+mentions?|\s+requests?)?\b)?\s*(?:(?:to|for|about|that|you to)\b)?\s*",
    re.I,
)


def sentences(line):
    if len(line) < 160:
        return [line]
    return [s for s in re.split(r"(?<=[.!?;])\s+(?=[A-Z\"'“(*`])", line) if s.strip()]


def segments(skill):
    """(kind, text) in order: name, description sentences, tags, then the body line by line."""
    out = [(NAME, re.sub(r"[-_/:.]+", " ", skill["name"]))]
    for s in re.split(r"(?<=[.!?。])\s+|\n+", skill["description"]):
        if s.strip():
            out.append((DESC, s))
    if skill["tags"]:
        out.append((TAGS, ", ".join(skill["tags"])[:600]))
    fence = False
    code = []
    body = skill["body"][:BODY_CHARS]
    for line in body.split("\n"):
        s = line.strip()
        if s.startswith(("```", "~~~")):
            if fence and code:
                out.append((CODE, "\n".join(code)))
                code = []
            fence = not fence
            continue
        if not s:
            continue
        if fence:
            m = re.match(r"(?://+|#+|--|/\*+|\*)\s+(\S.*)", s)
            if m and len(m.group(1)) > 12:
                if code:
                    out.append((CODE, "\n".join(code)))
                    code = []
                out.append((COMMENT, m.group(1)))
            else:
                code.append(s)
            continue
        if s.startswith("#"):
            out.append((HEAD, s.lstrip("# ")))
        else:
            for part in sentences(s):
                out.append((TEXT, part))
    if code:
        out.append((CODE, "\n".join(code)))
    return out


def clauses(text):
    """Parts of a "use when …" enumeration, whole and one by one."""
    text = text.strip().rstrip(".")
    out = [text]
    parts = re.split(r";|, (?:or |and )?|\s+or\s+|\n", text)
    if len(parts) > 1:
        out += [p for p in parts if len(p.split()) >= 2]
    return out


def phrase_candidates(segs):
    """(query text, phrase to remove) drawn from one document."""
    out = []
    heading = ""
    for kind, text in segs:
        if kind == HEAD:
            heading = text
        if kind in (DESC, TAGS) or (kind == TEXT and (TRIGGER_HEADING.search(heading) or TRIGGER_LINE.search(text))):
            if not NEGATIVE.search(text[:80]):
                for m in QUOTED.finditer(text):
                    p = (m.group(1) or m.group(2)).strip(" ,.;")
                    if 2 <= len(p.split()) <= 25 or not p.isascii():
                        out.append(("quote", p))
        if kind == DESC and not NEGATIVE.search(text[:60]):
            m = USE_WHEN.search(text)
            if m:
                for c in clauses(QUOTED.sub(" ", m.group(1))):
                    out.append(("clause", c))
        if kind == TEXT and TRIGGER_HEADING.search(heading) and not NEGATIVE.search(heading + " " + text[:60]):
            p = LEAD.sub("", text, count=1)
            p = re.sub(r"[*`_]+", "", p).strip()
            if 3 <= len(p.split()) <= 40:
                out.append(("bullet", p))
    seen, uniq = set(), []
    for kind, p in out:
        key = p.lower()
        if key not in seen:
            seen.add(key)
            uniq.append((kind, p))
    return uniq[:24]


def degerund(words, counts):
    """`reviewing code` -> `review code`, the base form being the commonest candidate in the pool."""
    if not words or not words[0].endswith("ing") or len(words[0]) < 6:
        return words
    stem = words[0][:-3]
    options = [stem, stem + "e"]
    if len(stem) > 2 and stem[-1] == stem[-2]:
        options.append(stem[:-1])
    best = max(options, key=lambda w: counts.get(w, 0))
    return [best] + words[1:] if counts.get(best, 0) > 20 else words


def find_spans(doc, phrase):
    """Where `phrase` occurs in `doc` (lists of ints)."""
    n = len(phrase)
    if n == 0:
        return []
    first = phrase[0]
    return [(i, i + n) for i in range(len(doc) - n + 1) if doc[i] == first and doc[i : i + n] == phrase]


def minhash_groups(docs, names):
    """Union of equal names and of documents that share most of their word shingles."""
    parent = list(range(len(docs)))

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    def join(a, b):
        a, b = find(a), find(b)
        if a != b:
            parent[max(a, b)] = min(a, b)

    by_name = {}
    for i, n in enumerate(names):
        if n in by_name:
            join(i, by_name[n])
        else:
            by_name[n] = i
    rng = np.random.default_rng(7)
    hashes = 24
    mul = rng.integers(1, 2**61, hashes, dtype=np.uint64) | np.uint64(1)
    add = rng.integers(0, 2**61, hashes, dtype=np.uint64)
    sig = np.zeros((len(docs), hashes), np.uint64)
    for i, d in enumerate(docs):
        a = np.asarray(d[:700], np.uint64)
        if len(a) < 8:
            sig[i] = rng.integers(0, 2**63, hashes, dtype=np.uint64)
            continue
        sh = a[:-2] * np.uint64(1000003) ** np.uint64(2) + a[1:-1] * np.uint64(1000003) + a[2:]
        sh = sh ^ (sh >> np.uint64(29))
        sig[i] = ((sh[:, None] * mul + add) >> np.uint64(3)).min(0)
    for band in range(0, hashes, 4):
        table = {}
        for i in range(len(docs)):
            key = sig[i, band : band + 4].tobytes()
            j = table.setdefault(key, i)
            if j != i and (sig[i] == sig[j]).mean() >= 0.5:
                join(i, j)
    return np.array([find(i) for i in range(len(docs))], np.int32)


def telling_pairs(stream, doc_of, unit_of, repo_of, rows, count):
    """Neighbouring pieces that belong together: many distinct skills, at least two repositories, far from chance."""
    a, b = stream[:-1].astype(np.int64), stream[1:].astype(np.int64)
    key = (a * rows + b)[doc_of[:-1] == doc_of[1:]]
    doc = doc_of[:-1][doc_of[:-1] == doc_of[1:]]
    names, inverse, seen = np.unique(key, return_inverse=True, return_counts=True)
    often = seen >= 8
    pick = often[inverse]
    inverse, doc = inverse[pick].astype(np.int64), doc[pick]
    units = np.unique(inverse * (int(unit_of.max()) + 1) + unit_of[doc]) // (int(unit_of.max()) + 1)
    df = np.bincount(units, minlength=len(names))
    repos = np.unique(inverse * (int(repo_of.max()) + 1) + repo_of[doc]) // (int(repo_of.max()) + 1)
    rf = np.bincount(repos, minlength=len(names))
    single = np.bincount(stream, minlength=rows).astype(float)
    pmi = np.log(np.maximum(seen, 1) * float(len(stream)) / np.maximum(single[names // rows] * single[names % rows], 1))
    score = np.where((df >= 6) & (rf >= 2), df**0.75 * np.maximum(pmi, 0), 0)
    best = np.argsort(-score, kind="stable")[:count]
    best = best[score[best] > 0]
    return np.stack([names[best] // rows, names[best] % rows], 1).astype(np.int32)


TEMPLATES = [
    "{}", "{}", "{}", "{}", "{}", "{}",
    "help me {}", "I need to {}", "can you {}", "how do I {}", "please {}", "I want to {}",
    "what is the best way to {}", "could you help me with {}", "I am trying to {}", "we need to {}",
    "show me how to {}", "write an example that does {}", "my team needs to {} what should I do",
    "I have a question about {}", "explain {}", "give me {}", "create {}", "implement {}",
    "is there a way to {}", "I am building something and need {}", "set up {} for our project",
]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pool", required=True, help="directory that holds skills/")
    ap.add_argument("--vocab", required=True, help="vocab.txt of the encoder")
    ap.add_argument("--queries", help="labelled queries, for evaluation and decontamination only")
    ap.add_argument("--extra", type=int, default=10000, help="whole words added to the vocabulary")
    ap.add_argument("--pairs", type=int, default=32768, help="pairs of neighbouring pieces with a row of their own")
    ap.add_argument("--limit", type=int, help="only the first N skills (for a quick trial)")
    ap.add_argument("--out", required=True)
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    random.seed(13)

    bert = [line.rstrip("\n") for line in open(args.vocab, encoding="utf-8")]
    bert_ids = {t: i for i, t in enumerate(bert)}
    paths = skill_files(args.pool)
    if args.limit:
        paths = paths[:: max(1, len(paths) // args.limit)]
    skills = [read_skill(args.pool, p) for p in paths]
    segs = [segments(s) for s in skills]
    print(len(paths), "skills read", flush=True)

    # Vocabulary of the table: the encoder's pieces, less what can never match a word or stands for
    # nothing, and the commonest words of the pool that the encoder would cut into pieces. A word
    # counts once per repository and fourth root of its files, so that no bulk collection rules.
    per_repo = collections.defaultdict(collections.Counter)
    for p, sg in zip(paths, segs):
        seen = set()
        for _, t in sg:
            for w in set(raw_words(t)):
                seen.add(w.lower())
                if w.lower() not in bert_ids:
                    seen.update(camel_parts(w) or ())
        per_repo[p.split("/")[1]].update(seen)
    score = collections.Counter()
    repos_of = collections.Counter()
    df = collections.Counter()
    for repo, c in per_repo.items():
        for w, n in c.items():
            score[w] += n**0.5
            repos_of[w] += 1
            df[w] += n
    keep = [t for t in bert if not re.fullmatch(r"\[.*\]", t) and re.fullmatch(r"(##)?\w+", t) and "_" not in t]
    kept = set(keep)
    extra = [
        w for w, _ in sorted(score.items(), key=lambda x: (-x[1], x[0]))
        if w not in kept and df[w] >= 5 and repos_of[w] >= 2 and len(w) <= 24 and not re.search(r"\d{3}|^\d", w)
    ][: args.extra]
    tokens = keep + extra
    vocabulary = {t: i for i, t in enumerate(tokens)}
    print(len(keep), "pieces kept,", len(extra), "words added, e.g.", extra[:40], flush=True)

    words = Words(vocabulary)
    index = {}

    def encode(text):
        return [index.setdefault(w, len(index)) for w in words(text)]

    templates = [[encode(a), encode(b)] for a, b in (t.split("{}") for t in TEMPLATES)]

    stream, seg_start, seg_kind, doc_seg, docs = [], [0], [], [0], []
    for sg in segs:
        doc = []
        for kind, text in sg:
            ids = encode(text)[:400]
            if not ids:
                continue
            doc.extend(ids)
            seg_kind.append(kind)
            seg_start.append(len(stream) + len(doc))
        stream.extend(doc)
        docs.append(doc)
        doc_seg.append(len(seg_kind))
    print(len(stream), "words in all,", len(index), "distinct", flush=True)

    labelled = read_jsonl(args.queries) if args.queries else []
    banned = {" ".join(words(q["query"])) for q in labelled}
    name_words = [" ".join(words(re.sub(r"[-_/:.]+", " ", s["name"]))) for s in skills]
    counts = collections.Counter(stream)
    word_counts = {w: counts.get(i, 0) for w, i in index.items()}

    q_stream, q_start, q_doc, q_kind = [], [0], [], []
    s_pair, s_from, s_to = [], [], []
    kinds = {"quote": 0, "clause": 1, "bullet": 2}
    stat = collections.Counter()
    for d, sg in enumerate(segs):
        doc = docs[d]
        for kind, phrase in phrase_candidates(sg):
            ws = words(phrase)
            text = " ".join(ws)
            if len(ws) < 2 or text == name_words[d] or text in banned:
                stat["left out"] += 1
                continue
            core = [index.setdefault(w, len(index)) for w in ws]
            query = [index.setdefault(w, len(index)) for w in degerund(ws, word_counts)]
            for a, b in find_spans(doc, core)[:6]:
                s_pair.append(len(q_doc))
                s_from.append(a)
                s_to.append(b)
            q_stream.extend(query)
            q_start.append(len(q_stream))
            q_doc.append(d)
            q_kind.append(kinds[kind])
            stat[kind] += 1
    print(dict(stat), flush=True)

    # Spans that repeat a labelled query, kept out of the spans drawn at random in training.
    long_banned = {b for b in banned if len(b.split()) >= 4}
    banned_seg = []
    at = 0
    for sg in segs:
        for kind, text in sg:
            ws = words(text)[:400]
            if ws:
                if " ".join(ws) in long_banned:
                    banned_seg.append(at)
                at += 1
    print(len(banned_seg), "segments repeat a labelled query", flush=True)

    groups = minhash_groups(docs, name_words)
    print(len(set(groups.tolist())), "groups of near duplicates", flush=True)

    lookup = {p: i for i, p in enumerate(paths)}
    e_stream, e_start, e_gold = [], [0], []
    for q in labelled:
        e_stream.extend(encode(q["query"]))
        e_start.append(len(e_stream))
        e_gold.append([lookup[g] for g in q["gold"] if g in lookup])

    def csr(vocab):
        flat, start = [], [0]
        for w in index:
            flat.extend(pieces(w, vocab))
            start.append(len(flat))
        return np.array(flat, np.uint16 if len(vocab) < 65536 else np.uint32), np.array(start, np.uint32)

    s_flat, s_start_ = csr(vocabulary)
    t_flat, t_start = csr(bert_ids)
    doc_of = np.repeat(np.arange(len(docs)), [len(d) for d in docs])
    n = np.diff(s_start_.astype(np.int64))[np.array(stream)]
    cut = expand(np.array(stream), s_flat, s_start_)
    repo_of = np.unique([p.split("/")[1] for p in paths], return_inverse=True)[1]
    pairs = telling_pairs(cut, np.repeat(doc_of, n), groups, repo_of, len(tokens), args.pairs)
    print(len(pairs), "pairs, e.g.", [tokens[a] + " " + tokens[b] for a, b in pairs[:40]], flush=True)
    stems = {}
    stem_of = np.array([stems.setdefault(stem(w), len(stems)) for w in index], np.int32)
    stop = np.array([vocabulary[w] for w in STOP_WORDS], np.int32)
    t_templates = [x for t in templates for x in t]
    np.savez(
        os.path.join(args.out, "data.npz"),
        stream=np.array(stream, np.int32),
        seg_start=np.array(seg_start, np.int32),
        seg_kind=np.array(seg_kind, np.int8),
        doc_seg=np.array(doc_seg, np.int32),
        group=groups,
        q_stream=np.array(q_stream, np.int32),
        q_start=np.array(q_start, np.int32),
        q_doc=np.array(q_doc, np.int32),
        q_kind=np.array(q_kind, np.int8),
        span_pair=np.array(s_pair, np.int32),
        span_from=np.array(s_from, np.int32),
        span_to=np.array(s_to, np.int32),
        banned_seg=np.array(banned_seg, np.int32),
        student_flat=s_flat,
        student_start=s_start_,
        teacher_flat=t_flat,
        teacher_start=t_start,
        stem=stem_of,
        pairs=pairs,
        stop=stop,
        template_stream=np.array([w for t in t_templates for w in t], np.int32),
        template_start=np.cumsum([0] + [len(t) for t in t_templates]).astype(np.int32),
    )
    np.savez(
        os.path.join(args.out, "eval.npz"),
        stream=np.array(e_stream, np.int32),
        start=np.array(e_start, np.int32),
        gold=np.array([g for gs in e_gold for g in gs], np.int32),
        gold_start=np.cumsum([0] + [len(g) for g in e_gold]).astype(np.int32),
        repo=np.unique([q["gold"][0].split("/")[1] for q in labelled], return_inverse=True)[1],
    )
    shutil.copyfile(args.vocab, os.path.join(args.out, "vocab.txt"))
    with open(os.path.join(args.out, "tokens.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(tokens))
    with open(os.path.join(args.out, "paths.json"), "w") as f:
        json.dump(paths, f)


if __name__ == "__main__":
    main()
