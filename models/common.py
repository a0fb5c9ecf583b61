"""Reading skills and cutting text into words and pieces, shared by every script here.

The rules of `words` and `Pieces` are the contract of `router.bin` (see README.md): a second
implementation has to follow them exactly.
"""

import json
import os
import re
import struct
import unicodedata

import numpy as np

MAGIC = b"REPEMB01"
PACKED_MAGIC = b"REPEMB02"
MAX_WORD_CHARS = 100

# --- words -------------------------------------------------------------------------------------

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|[0-9]+")


def is_cjk(ch):
    """The ideograph blocks that BERT's basic tokenizer sets apart."""
    c = ord(ch)
    return (
        0x4E00 <= c <= 0x9FFF
        or 0x3400 <= c <= 0x4DBF
        or 0x20000 <= c <= 0x2A6DF
        or 0x2A700 <= c <= 0x2CEAF
        or 0xF900 <= c <= 0xFAFF
        or 0x2F800 <= c <= 0x2FA1F
    )


def raw_words(text):
    """Runs of letters and digits, case kept; accents stripped; every ideograph a word of its own."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    out, cur = [], []
    for ch in unicodedata.normalize("NFD", text):
        if unicodedata.category(ch) == "Mn":
            continue
        if is_cjk(ch):
            if cur:
                out.append("".join(cur))
                cur = []
            out.append(ch)
        elif ch.isalnum():
            cur.append(ch)
        elif cur:
            out.append("".join(cur))
            cur = []
    if cur:
        out.append("".join(cur))
    return out


def camel_parts(word):
    """`DefaultAzureCredential` -> default, azure, credential; None where there is nothing to split."""
    if not word.isascii() or word.islower() or word.isdigit():
        return None
    parts = _CAMEL.findall(word)
    return [p.lower() for p in parts] if len(parts) > 1 else None


class Words:
    """Words in lower case; a camel-case word is split unless the vocabulary holds it whole."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.cache = {}

    def __call__(self, text):
        out = []
        cache = self.cache
        for raw in raw_words(text):
            got = cache.get(raw)
            if got is None:
                low = raw.lower()
                got = (low,)
                if low not in self.vocabulary and len(raw) <= MAX_WORD_CHARS:
                    got = tuple(camel_parts(raw) or got)
                cache[raw] = got
            out.extend(got)
        return out


def pieces(word, vocabulary):
    """Greedy longest match; an unknown remainder drops the whole word."""
    if len(word) > MAX_WORD_CHARS:
        return []
    got = vocabulary.get(word)
    if got is not None:
        return [got]
    out, start = [], 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start:
            sub = word[start:end]
            found = vocabulary.get(sub if start == 0 else "##" + sub)
            if found is not None:
                break
            end -= 1
        if found is None:
            return []
        out.append(found)
        start = end
    return out


def expand(words, flat, start):
    """Word ids to piece ids."""
    if len(words) == 0:
        return np.zeros(0, np.int64)
    a, b = start[words].astype(np.int64), start[words + 1].astype(np.int64)
    n = b - a
    total = int(n.sum())
    if total == 0:
        return np.zeros(0, np.int64)
    offs = np.repeat(a - np.concatenate([[0], np.cumsum(n)[:-1]]), n) + np.arange(total)
    return flat[offs].astype(np.int64)


# --- skills ------------------------------------------------------------------------------------


def split_frontmatter(text):
    """(frontmatter or None, body), tolerant of BOM, CR and blanks."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    start = 0
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start >= len(lines) or lines[start].rstrip() != "---":
        return None, text
    for end in range(start + 1, len(lines)):
        if lines[end].rstrip() in ("---", "..."):
            return "\n".join(lines[start + 1 : end]), "\n".join(lines[end + 1 :])
    return None, text


def _flatten(value):
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)):
        return [s for v in value for s in _flatten(v)]
    if isinstance(value, dict):
        return [s for v in value.values() for s in _flatten(v)]
    return []


def _lenient(front):
    out, key = {}, None
    for line in front.split("\n"):
        m = re.match(r"([A-Za-z_-]+):\s*(.*)$", line)
        if m:
            key = m.group(1)
            out[key] = m.group(2).strip().strip("\"'|>").strip()
        elif key and line.strip():
            out[key] += " " + line.strip()
    return out


def parse_skill(text, path):
    """{name, description, tags, body} of one SKILL.md; the folder and the first paragraph stand in."""
    import yaml

    front, body = split_frontmatter(text)
    meta = {}
    if front is not None:
        try:
            meta = yaml.load(front, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except Exception:
            meta = None
        if not isinstance(meta, dict):
            meta = _lenient(front)
    name = meta.get("name")
    if not isinstance(name, str) or not name.strip():
        name = os.path.basename(os.path.dirname(path))
    desc = meta.get("description")
    desc = " ".join(_flatten(desc)).strip()
    if not desc:
        paras = [p.strip() for p in re.split(r"\n\s*\n", body) if p.strip()]
        paras = [p for p in paras if not p.startswith(("#", "```", "---", "<"))]
        desc = paras[0][:500] if paras else ""
    tags = []
    inner = meta.get("metadata") if isinstance(meta.get("metadata"), dict) else {}
    for src in (meta, inner):
        for key in ("tags", "keywords", "triggers", "trigger", "category", "when_to_use", "use-cases"):
            tags += _flatten(src.get(key))
    return {"name": name.strip(), "description": desc, "tags": tags, "body": body}


def skill_files(pool):
    """Every SKILL.md in any spelling, as paths relative to the directory that holds `skills/`."""
    out = []
    for base, dirs, files in os.walk(os.path.join(pool, "skills")):
        dirs.sort()
        for f in files:
            if f.lower() == "skill.md":
                out.append(os.path.relpath(os.path.join(base, f), pool))
    return sorted(out)


def read_skill(pool, path):
    with open(os.path.join(pool, path), "rb") as f:
        return parse_skill(f.read().decode("utf-8", "replace"), path)


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


# --- the table ---------------------------------------------------------------------------------


BIGRAM_MUL = 0x9E3779B1
# Left out before pieces are paired.
STOP_WORDS = (
    "a an the to of for and or in on with that this is are be it its i you we my me our your "
    "how do does can could should would what when which from by as at if so then into"
).split()


def bigram_rows(ids, rows):
    """Row of each pair of neighbouring pieces: ((a * M + b) * M mod 2^32) >> 7, modulo the rows."""
    a, b = ids[:-1].astype(np.uint64), ids[1:].astype(np.uint64)
    h = ((a * np.uint64(BIGRAM_MUL) + b) * np.uint64(BIGRAM_MUL)) & np.uint64(0xFFFFFFFF)
    return ((h >> np.uint64(7)) % np.uint64(rows)).astype(np.int64)


class Table:
    """A table: a row and a scale per piece (and per hashed bigram, if any), with 8 or (`router.bin`) 3 bits a value."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        assert data[:8] in (MAGIC, PACKED_MAGIC), "not a router table"
        v, b, d, n = struct.unpack_from("<IIII", data, 8)
        at = 24
        self.tokens = data[at : at + n].decode("utf-8").split("\n")
        at += n
        scales = np.frombuffer(data, "<f4", v + b, at)
        at += 4 * (v + b)
        bits = 8 if data[:8] == MAGIC else 3
        assert at + (v + b) * d * bits // 8 == len(data) and len(self.tokens) == v
        if bits == 8:
            rows = np.frombuffer(data, "i1", (v + b) * d, at).reshape(v + b, d)
        else:
            packed = np.frombuffer(data, "u1", (v + b) * d * 3 // 8, at)
            rows = 2 * unpack(packed).reshape(v + b, d).astype(np.int8) - 7
        self.bigrams, self.dims = b, d
        self.rows = rows.astype(np.float32) * scales[:, None]
        self.vocabulary = {t: i for i, t in enumerate(self.tokens)}
        self.words = Words(self.vocabulary)
        self.cache = {}

    def ids(self, text, limit=None):
        out = []
        for w in self.words(text):
            got = self.cache.get(w)
            if got is None:
                got = self.cache[w] = pieces(w, self.vocabulary)
            out.extend(got)
            if limit and len(out) >= limit:
                return out[:limit]
        return out

    def rows_of(self, ids):
        """(row numbers, weights): a piece that occurs n times counts sqrt(n), a bigram likewise."""
        at, n = np.unique(np.asarray(ids, np.int64), return_counts=True)
        if self.bigrams and len(ids) > 1:
            b, m = np.unique(bigram_rows(np.asarray(ids), self.bigrams), return_counts=True)
            at, n = np.concatenate([at, b + len(self.tokens)]), np.concatenate([n, m])
        return at, np.sqrt(n.astype(np.float32))

    def embed_ids(self, ids):
        if len(ids) == 0:
            return np.zeros(self.dims, np.float32)
        at, w = self.rows_of(ids)
        v = w @ self.rows[at]
        n = float(np.linalg.norm(v))
        return v / n if n > 0 else v

    def embed(self, text, limit=None):
        return self.embed_ids(self.ids(text, limit))


def write_table(path, tokens, scales, rows, bigrams=0):
    text = "\n".join(tokens).encode("utf-8")
    with open(path, "wb") as f:
        f.write(MAGIC)
        f.write(struct.pack("<IIII", len(tokens), bigrams, rows.shape[1], len(text)))
        f.write(text)
        f.write(np.ascontiguousarray(scales, "<f4").tobytes())
        f.write(np.ascontiguousarray(rows, "i1").tobytes())


def unpack(packed):
    """Three bytes, least significant first, hold eight codes of three bits, lowest bits first."""
    groups = packed.reshape(-1, 3).astype(np.uint32)
    words = groups[:, 0] | groups[:, 1] << 8 | groups[:, 2] << 16
    return (words[:, None] >> np.arange(0, 24, 3, dtype=np.uint32) & 7).astype(np.uint8)


def write_packed(path, tokens, scales, codes, bigrams=0):
    text = "\n".join(tokens).encode("utf-8")
    words = (codes.reshape(-1, 8).astype(np.uint32) << np.arange(0, 24, 3, dtype=np.uint32)).sum(1, dtype=np.uint32)
    packed = np.stack([words & 255, words >> 8 & 255, words >> 16 & 255], 1).astype(np.uint8)
    with open(path, "wb") as f:
        f.write(PACKED_MAGIC)
        f.write(struct.pack("<IIII", len(tokens), bigrams, codes.shape[1], len(text)))
        f.write(text)
        f.write(np.ascontiguousarray(scales, "<f4").tobytes())
        f.write(packed.tobytes())


# Texts whose vectors other implementations check theirs against.
GOLDEN_TEXTS = [
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


def write_golden(path, table):
    golden = []
    for text in GOLDEN_TEXTS:
        ids = table.ids(text)
        golden.append({"text": text, "ids": ids, "vector": [round(float(x), 6) for x in table.embed_ids(ids)[:8]]})
    with open(path, "w", encoding="utf-8") as f:
        json.dump(golden, f, ensure_ascii=False, indent=1)
        f.write("\n")


# --- stemming, for the lexical side of the evaluation ------------------------------------------

_VOWEL = re.compile(r"[aeiouy]")
_SUFFIXES = (
    ("ational", "ate"), ("ization", "ize"), ("fulness", "ful"), ("ousness", "ous"), ("iveness", "ive"),
    ("ations", "ate"), ("ation", "ate"), ("ators", "ate"), ("ator", "ate"), ("ments", ""), ("ment", ""),
    ("ness", ""), ("ities", ""), ("ity", ""), ("ingly", ""), ("edly", ""), ("ings", ""), ("ing", ""),
    ("ers", ""), ("er", ""), ("ed", ""), ("ly", ""), ("ies", "y"), ("es", ""), ("s", ""),
)


def stem(word):
    """A light English stemmer: one suffix, then a trailing e, y or doubled consonant."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for suffix, repl in _SUFFIXES:
        if word.endswith(suffix) and not (suffix == "s" and word.endswith("ss")):
            root = word[: -len(suffix)]
            if len(root) >= 3 and _VOWEL.search(root):
                word = root + repl
                break
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":
        word = word[:-1] + "i"
    return word
