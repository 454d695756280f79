"""User-space instructions for each MiB copied, both ends together, over the transport in memory: a figure that does not
depend on how busy the machine is, so that a change that makes the data path dearer is seen. By callgrind."""

import re
import subprocess
import tempfile
from pathlib import Path

from trees import MIB, make_file

SIZES = (64, 128)  # MiB; what a run costs beside its data falls out of the difference
PARTS = {"digests": re.compile(r"xxhash|XXH"), "memory stream's copy": re.compile(r"memcpy|memmove")}
LINE = re.compile(r"^\s*([\d,]+) \(\s*[\d.]+%\)\s+(.*)$")


def _count(rdcp: Path, folder: Path, size: int) -> dict[str, int]:
    """Instructions by part. Standard input, so that the data goes through the streams and not the kernel's copy."""
    source, profile = folder / "source", folder / "profile"
    make_file(source, size * MIB)
    with open(source, "rb") as stream:
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", rdcp, "--ring=threads",
                        "--streams=1", "-", folder / "target"], stdin=stream, stderr=subprocess.PIPE, check=True)
    listing = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", profile], check=True, capture_output=True,
                             text=True).stdout
    counts = dict.fromkeys(["all", *PARTS], 0)
    for number, where in (match.groups() for match in map(LINE.match, listing.splitlines()) if match):
        instructions = int(number.replace(",", ""))
        if where.startswith("PROGRAM TOTALS"):
            counts["all"] = instructions
        for part, pattern in PARTS.items():
            if pattern.search(where):
                counts[part] += instructions
                break
    return counts


def print_instructions(rdcp: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        few, many = (_count(rdcp, Path(folder), size) for size in SIZES)
    each = {part: (many[part] - few[part]) / (SIZES[1] - SIZES[0]) for part in few}
    rest = each["all"] - sum(each[part] for part in PARTS)
    print("user-space instructions for each MiB, both ends, chunks of 1 MiB:")
    for name, number in [*((part, each[part]) for part in PARTS), ("all else", rest), ("together", each["all"])]:
        print(f"  {name:<22} {number:>12,.0f}")
