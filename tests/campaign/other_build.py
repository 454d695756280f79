"""Another build to talk to: of the oldest commit that speaks the protocol of this one, or of the last that does not."""

import re
import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
HEADER = REPO / "src" / "tree" / "messages" / "hello.h"
PROGRAMS = ("rdcp", "rdsend", "rdrecv", "rdpipe")  # the others are links to the first


def make_other_build(beneath: Path, jobs: int, of_version_before: bool = False) -> tuple[Path | None, str]:
    """Builds it in a directory beneath this one, unless it is there. None, with the reason, where there is no history."""
    version = re.search(r"kProtocolVersion = \d+", HEADER.read_text())[0]
    found = subprocess.run(["git", "-C", REPO, "log", "--format=%H", "-S", version, "--", "src"], capture_output=True,
                           text=True, check=False)
    raised = found.stdout.split()[-1:]
    wanted = f"{raised[0]}~" if raised and of_version_before else raised[0] if raised else "HEAD"  # not committed yet
    named = subprocess.run(["git", "-C", REPO, "rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}"], capture_output=True,
                           text=True, check=False)
    if named.returncode != 0 or not (raised or of_version_before):
        return None, f"there is no history here that says since when \"{version}\""
    commit = named.stdout.strip()
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
    subprocess.run(["cmake", "--build", build, "--parallel", str(jobs), "--target", "rdcp"], check=True, **quiet)
    return build, f"commit {commit[:12]}"
