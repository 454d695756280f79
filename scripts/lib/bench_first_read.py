"""What the one who waits for the files waits for: a copy of a model to the host `dest`, on disk, and then the first read of all
of it, for each --cache. Medians; the ways take turns. After the copy nothing is dropped from the page cache, as on a host that
loads the model at once; the source is warm."""

import shutil
import statistics
import subprocess
import time
from pathlib import Path

from bench_check import seconds_of
from trees import make_model_cache

READ_BYTES = 4 << 20
CACHES = ("auto", "keep", "bypass")


def read_all(folder: Path) -> float:
    """Every file once, from its beginning, as a program that loads it does."""
    begun = time.monotonic()
    room = bytearray(READ_BYTES)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(room):
                    pass
    return time.monotonic() - begun


def measure_first_read(folder: Path, ssh, options):
    source, target = make_model_cache(folder).rename(folder / "model"), folder / "to"
    read_all(source)
    ours = [options.rdcp, "-q", "-r", "-F", ssh.config, "--rdcp-path", options.rdcp]
    ways = {f"rdcp --cache={cache}": [*ours, f"--cache={cache}", f"{source}/", f"dest:{target}"] for cache in CACHES}
    ways["rsync -a"] = ["rsync", "-a", "-e", ssh.ssh_text(), f"{source}/", f"dest:{target}/"]
    samples = {name: [] for name in ways}
    for run in range(options.runs):
        names = list(ways)
        for name in names[run % len(names):] + names[:run % len(names)]:
            shutil.rmtree(target, ignore_errors=True)
            subprocess.run(["sync", "-f", folder], check=True)
            samples[name].append((seconds_of(ways[name]), read_all(target)))
    print("\na model to disk, then its first read:")
    for name, taken in samples.items():
        copied, read, both = (statistics.median(values) for values in
                              ([copy for copy, _ in taken], [read for _, read in taken], [sum(pair) for pair in taken]))
        print(f"  {name:20} copy {copied:6.2f} s, first read {read:6.2f} s, together {both:6.2f} s")
