#!/usr/bin/env python3
"""A seeded fault campaign with several hosts: copies along chains of 3 to 16 hosts, each with one to three faults drawn by
lot, and a model that says for each host what may come of it.

The same seed and number are the same copy with the same faults: --point SEED:NUMBER repeats it. What it counts on is in
host_scenario.py (what is copied), host_faults.py (what goes wrong, and whom it excuses), host_place.py (the hosts) and
host_point.py (one point). A fault comes when some of the data has reached a host, so no sleep decides."""

import argparse
import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import processes  # noqa: E402
from campaign import report, run_all, run_each  # noqa: E402
from fleet import why_no_fleet  # noqa: E402
from harness import MEMORY  # noqa: E402
from host_place import HostPlace  # noqa: E402
from host_point import HostPoint  # noqa: E402

POINTS = 300


def main() -> int:
    options = read_options()
    if why := why_no_fleet():
        print(f"test_hosts ... skipped {why!r}")  # as scripts/test looks for it
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with the workers, which remove their hosts
    if options.point:
        points = [tuple(map(int, word.split(":"))) for word in options.point.split(",")]
    else:
        seed = options.seed if options.seed is not None else time.time_ns() % 10**8
        points = [(seed, number) for number in range(options.points)]
        print(f"hosts campaign: {len(points)} points of seed {seed}, {options.jobs} at once", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="rdcp-hosts-campaign-", dir=options.folder.resolve()))
    try:
        verdicts = run_all(points, options, folder, work, ())
    finally:
        for worker in multiprocessing.active_children():  # where this was ended before them
            worker.terminate()
            worker.join()
        shutil.rmtree(folder, ignore_errors=True)
    return report(verdicts, lambda verdict: f"hosts_campaign.py --point {verdict.seed}:{verdict.nth}")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=POINTS, help=f"how many ({POINTS})")
    parser.add_argument("--seed", type=int, help="of all points, which are numbered (by the clock)")
    parser.add_argument("--point", help="run only these: SEED:NUMBER[,...]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once (one for each processor)")
    parser.add_argument("--folder", type=Path, default=MEMORY if os.access(MEMORY, os.W_OK) else Path("/var/tmp"),
                        help="where the copies are made (in memory)")
    parser.add_argument("--verbose", action="store_true", help="a line for each point")
    return parser.parse_args()


def work(tasks, results, folder: Path):
    processes.adopt_orphans()
    os.umask(0o022)
    with contextlib.ExitStack() as stack:
        place = HostPlace(folder, stack)
        run_each(tasks, results, lambda seed, number: HostPoint(place, seed, number).run())


if __name__ == "__main__":
    sys.exit(main())
