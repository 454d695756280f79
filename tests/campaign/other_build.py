"""Another build to talk to: of the oldest commit that speaks the protocol of this one."""

import re
import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
HEADER = REPO / "src" / "net" / "crypto" / "handshake.h"
PROGRAMS = ("rdcp", "rdsend", "rdrecv", "rdpipe")


def make_other_build(beneath: Path, jobs: int) -> tuple[Path | None, str]:
    """Builds it in a directory beneath this one, unless it is there. None, with the reason, where there is no history."""
    version = re.search(r"kProtocolVersion = \d+", HEADER.read_text())[0]
    found = subprocess.run(["git", "-C", REPO, "log", "--format=%H", "-S", version, "--", "src"], capture_output=True,
                           text=True, check=False)
    commits = found.stdout.split()
    if not commits:
        return None, f"there is no history here that says since when \"{version}\""
    commit = commits[-1]
    build = beneath / "other-build" / commit[:12]
    if all((build / program).exists() for program in PROGRAMS):
        return build, f"commit {commit[:12]}"
    source = build / "source"
    source.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(["git", "-C", REPO, "archive", commit], capture_output=True, check=False)
    if packed.returncode != 0:
        return None, f"commit {commit[:12]} is not all there: {packed.stderr.decode(errors='replace').strip()}"
    subprocess.run(["tar", "-x", "-C", source], input=packed.stdout, check=True)
    quiet = {"stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], check=True, **quiet)
    subprocess.run(["cmake", "--build", build, "--parallel", str(jobs), "--target", *PROGRAMS], check=True, **quiet)
    return build, f"commit {commit[:12]}"
