"""Trees that look like those people copy. The same seed gives the same tree, byte for byte."""

import functools
import hashlib
import json
import math
import os
import random
from pathlib import Path

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NPM_MTIME = 499162500  # npm gives every file this time: 1985-10-26 08:15 UTC
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KIB": KIB, "MIB": MIB, "GIB": GIB}


def parse_size(text: str) -> int:
    """512, 64K, 1.5GiB."""
    digits = text.rstrip("KMGBkmgiIb")
    return int(float(digits) * _UNITS[text[len(digits):].upper()])


def tree_size(root: Path) -> tuple[int, int]:
    """Files (links not followed) and their bytes; root may be a file."""
    if root.is_file():
        return 1, root.stat().st_size
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
    sizes = [os.lstat(path).st_size for path in paths if not os.path.islink(path)]
    return len(sizes), sum(sizes)


@functools.lru_cache(maxsize=4)  # to make the pool takes longer than to write a small file
def _pool(seed: int, size: int) -> memoryview:
    return memoryview(random.Random(seed).randbytes(size))


class Noise:
    """Incompressible bytes, made fast: differently shifted windows of one random pool, so no two blocks are alike."""

    def __init__(self, seed: int, pool: int = 32 * MIB):
        self._random = random.Random(seed)
        self._pool = _pool(seed, pool)

    def blocks(self, size: int):
        while size > 0:
            length = min(size, MIB)
            start = self._random.randrange(len(self._pool) - length)
            yield self._pool[start:start + length]
            size -= length

    def write(self, path: Path, size: int):
        with open(path, "wb", buffering=0) as file:
            for block in self.blocks(size):
                file.write(block)


def make_file(path: Path, size: int, seed: int = 1):
    """One file of incompressible bytes."""
    Noise(seed).write(path, size)


def make_model_cache(root: Path, size: int = 2 * GIB, blobs: int = 8, seed: int = 1) -> Path:
    """A Hugging Face cache of one model: blobs by hash, and a snapshot of relative symlinks to them. Returns the
    model's directory beneath root."""
    model = root / "models--example--llm-1b"
    revision = hashlib.sha1(b"revision %d" % seed).hexdigest()
    snapshot = model / "snapshots" / revision
    for folder in (model / "blobs", model / "refs", snapshot, model / ".no_exist" / revision):
        folder.mkdir(parents=True)
    (model / "refs" / "main").write_text(revision)
    (model / ".no_exist" / revision / "added_tokens.json").touch()

    noise = Noise(seed)
    weights = [f"model-{i + 1:05}-of-{blobs:05}.safetensors" for i in range(blobs)]
    shares = [1.0] * (blobs - 1) + [0.6]  # the last shard is what is left over
    for i, name in enumerate(weights):
        blob = hashlib.sha256(b"blob %d %d" % (seed, i)).hexdigest()
        noise.write(model / "blobs" / blob, int(size * shares[i] / sum(shares)) | 1)  # never a multiple of anything
        (snapshot / name).symlink_to(f"../../blobs/{blob}")
    for name, text in _model_texts(weights, seed).items():
        blob = hashlib.sha1(text.encode()).hexdigest()
        (model / "blobs" / blob).write_text(text)
        (snapshot / name).parent.mkdir(exist_ok=True)
        (snapshot / name).symlink_to(("../" * (name.count("/") + 2)) + f"blobs/{blob}")
    return model


def _model_texts(weights: list[str], seed: int) -> dict[str, str]:
    layers = {f"model.layers.{i}.mlp.weight": weights[i % len(weights)] for i in range(200)}
    words = random.Random(seed)
    vocabulary = {f"{words.getrandbits(40):x}": i for i in range(50_000)}
    return {
        "config.json": json.dumps({"architectures": ["LlamaForCausalLM"], "hidden_size": 2048}, indent=2),
        "generation_config.json": json.dumps({"do_sample": True, "temperature": 0.6}, indent=2),
        "model.safetensors.index.json": json.dumps({"weight_map": layers}, indent=2),
        "tokenizer.json": json.dumps({"model": {"type": "BPE", "vocab": vocabulary}}),
        "tokenizer_config.json": json.dumps({"model_max_length": 131072}),
        "README.md": "# llm-1b\n" + "A model card.\n" * 300,
        ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
        "original/params.json": json.dumps({"dim": 2048, "n_layers": 16}),
    }


def make_node_modules(root: Path, files: int = 55_000, seed: int = 1) -> Path:
    """What `npm install` leaves: many small files with log-normal sizes, deep folders, links in .bin. Has exactly so
    many files; 55,000 of them are 250 MB in 6,773 folders. Returns the node_modules directory beneath root."""
    folders, size = max(3, files * 6_773 // 55_000), files * 250_000_000 // 55_000
    chance = random.Random(seed)
    top = root / "node_modules"
    tree = _folder_names(chance, folders)
    for name in tree:
        (top / name).mkdir()
    pool = _script_text(chance, 4 * MIB)

    sizes = [chance.lognormvariate(7.1, 1.6) for _ in range(files)]
    scale = size / sum(sizes)
    last = len(tree) - 1
    for i, wanted in enumerate(sizes):
        folder = tree[i] if 1 < i <= last else tree[min(last, 1 + int(last * chance.random() ** 1.4))]
        kind = chance.choice((".js", ".js", ".js", ".d.ts", ".json", ".md", ".map", ".mjs"))
        path = f"{top}/{folder}/{_word(chance)}-{i}{kind}"
        length = min(len(pool) // 2, int(wanted * scale))
        start = chance.randrange(len(pool) - length)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if i % 50 == 0 else 0o644)
        os.write(fd, pool[start:start + length])
        os.utime(fd, (NPM_MTIME, NPM_MTIME))
        os.close(fd)
        if i % 250 == 0 and ".bin" in tree:
            os.symlink(f"../{folder}/{os.path.basename(path)}", f"{top}/.bin/tool-{i}")
    return top


def _folder_names(chance: random.Random, count: int) -> list[str]:
    """Parents before children; about one in six is a package at the top, the others grow somewhere beneath."""
    names = ["."] + [".bin"] * (count > 1)
    while len(names) < count:
        if len(names) < 8 or chance.random() < 0.16:
            name = f"{_word(chance)}-{len(names)}"
        else:
            parent = names[2 + int((len(names) - 2) * chance.random())]
            if parent.count("/") >= 8:
                continue
            child = chance.choice(("lib", "dist", "src", "esm", "cjs", "types", "node_modules", _word(chance)))
            name = f"{parent}/{child}-{len(names)}"
        names.append(name)
    return names


def _word(chance: random.Random) -> str:
    return "".join(chance.choice("abcdefghiklmnoprstuvw") for _ in range(chance.randrange(3, 10)))


def _script_text(chance: random.Random, size: int) -> bytes:
    words = [_word(chance) for _ in range(2_000)] + ["function", "return", "const", "=>", "{", "}", "(", ");\n"] * 100
    mean = sum(map(len, words)) / len(words) + 1
    text = " ".join(chance.choices(words, k=math.ceil(size / mean * 1.02)))
    return text.encode()[:size]
