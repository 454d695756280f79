#!/usr/bin/env python3
"""A seeded fault campaign: many small copies, each with a fault drawn by lot, and a model that says what may come of it.

Each point has a seed. The same seed is the same copy with the same fault in it: --only SEED repeats it. What it counts on
is in scenario.py (what is copied), faults.py (what goes wrong), model.py (what DST may be then), point.py (one point)."""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import processes  # noqa: E402
from faults import FAMILIES  # noqa: E402
from harness import BUILD, MEMORY  # noqa: E402
from other_build import make_other_build  # noqa: E402
from point import Point, Verdict  # noqa: E402
from workplace import Workplace  # noqa: E402

THOROUGH_POINTS = 10_000
SAY_EVERY = 30.0  # seconds


def main() -> int:
    options = read_options()
    seed = options.seed if options.seed is not None else time.time_ns() % 10**8
    if options.only:
        wanted = [word.partition(":") for word in options.only.split(",")]
        points = [(int(number), int(nth) if nth else None) for number, _, nth in wanted]
    else:
        count = options.points or (THOROUGH_POINTS if options.thorough else 150)
        points = [(seed + i, None) for i in range(count)]
        print(f"campaign: {count} points from seed {seed} on, {options.jobs} at once", flush=True)
    if options.thorough and not options.other_build:
        options.other_build, why = make_other_build(BUILD, options.jobs)
        print(f"campaign: another build for either side: {why}", flush=True)
    builds = [BUILD, *([options.other_build.resolve()] if options.other_build else [])]
    folder = Path(tempfile.mkdtemp(prefix="rdcp-campaign-", dir=options.folder.resolve()))
    try:
        shared = folder / "counts"
        shared.mkdir()
        families = tuple(options.families.split(",")) if options.families else ()
        verdicts = run_all(points, options, folder, work, (shared, builds, families))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report(verdicts, lambda verdict: to_repeat(verdict, options))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, help=f"how many (150; --thorough: {THOROUGH_POINTS})")
    parser.add_argument("--seed", type=int, help="of the first point; the others follow (by the clock)")
    parser.add_argument("--only", help="run only these: SEED[:NTH][,...]; NTH: at which call the fault comes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once (one for each processor)")
    parser.add_argument("--thorough", action="store_true", help=f"{THOROUGH_POINTS} points")
    parser.add_argument("--other-build", type=Path, metavar="DIR",
                        help="take each side from this build or from our own, by lot")
    parser.add_argument("--folder", type=Path, default=MEMORY if os.access(MEMORY, os.W_OK) else Path("/var/tmp"),
                        help="where the copies are made (in memory)")
    parser.add_argument("--families", help=f"which kinds of faults, by commas, of: {','.join(FAMILIES)}")
    parser.add_argument("--verbose", action="store_true", help="a line for each point")
    return parser.parse_args()


def run_all(points: list, options, folder: Path, work_with, arguments: tuple) -> list[Verdict]:
    """work_with: what each of options.jobs processes does: (tasks, results, a folder to make, *arguments)."""
    tasks, results = multiprocessing.Queue(), multiprocessing.Queue()
    for point in points:
        tasks.put(point)
    jobs = max(1, min(options.jobs, len(points)))
    for _ in range(jobs):
        tasks.put(None)
    workers = [multiprocessing.Process(target=work_with, daemon=True,
                                       args=(tasks, results, folder / f"job-{i}", *arguments))
               for i in range(jobs)]
    for worker in workers:
        worker.start()
    verdicts, said, began = [], time.monotonic(), time.monotonic()
    for _ in points:
        verdicts.append(results.get())
        if verdicts[-1].complaints or options.verbose:
            show(verdicts[-1])
        if time.monotonic() - said > SAY_EVERY:
            said = time.monotonic()
            print(f"campaign: {len(verdicts)} of {len(points)} points in {said - began:.0f} s", flush=True)
    for worker in workers:
        worker.join()
    print(f"campaign: {len(verdicts)} points in {time.monotonic() - began:.0f} s", flush=True)
    return verdicts


def work(tasks, results, folder: Path, shared: Path, builds: list, families: tuple):
    processes.adopt_orphans()
    os.umask(0o022)
    place = Workplace(folder, shared, builds)
    try:
        work_on(tasks, results, place, families)
    finally:
        place.remove()


def work_on(tasks, results, place: Workplace, families: tuple):
    def run(seed: int, nth: int | None) -> Verdict:
        point = Point(place, seed, nth, families)
        verdict = point.run()
        verdict.excuse = point.excuse()
        return verdict
    run_each(tasks, results, run)


def run_each(tasks, results, run):
    """run: makes the point of a seed and a number, or none."""
    while (task := tasks.get()) is not None:
        try:
            results.put(run(*task))
        except Exception:  # of the campaign itself; the other points go on
            results.put(Verdict(task[0], "", kind="broken", outcome="exception", complaints=[traceback.format_exc()]))


def show(verdict: Verdict):
    mark = f"({verdict.excuse})" if verdict.excuse else "FAILED" if verdict.complaints else "ok"
    print(f"{mark} {verdict.seed}:{verdict.nth}  {verdict.scenario}; {verdict.fault}: {verdict.outcome}")
    if verdict.complaints:
        for line in verdict.complaints[:12]:
            print(f"    {line[:1500]}")
        print("    it said: " + verdict.notes.strip()[:2500].replace("\n", "\n      "), flush=True)


def to_repeat(verdict: Verdict, options) -> str:
    words = f" --other-build {options.other_build}" if options.other_build else ""
    words += f" --families {options.families}" if options.families else ""
    words += f" --folder {options.folder}" if options.folder != MEMORY else ""
    return f"campaign.py --only {verdict.seed}:{verdict.nth}{words}"


def report(verdicts: list[Verdict], repeat) -> int:
    """repeat: gives the program and its words that make the point of a verdict again."""
    table = {}
    for verdict in verdicts:
        table.setdefault(verdict.kind, Counter())[verdict.outcome] += 1
    print("\nBy kind of fault: points, and how the command ended")
    for kind in sorted(table):
        outcomes = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(table[kind].items()))
        print(f"  {kind:36} {sum(table[kind].values()):6}   {outcomes}")
    reached = sum(verdict.outcome != "not reached" for verdict in verdicts)
    failed = [verdict for verdict in verdicts if verdict.complaints and not verdict.excuse]
    excused = sum(bool(verdict.excuse) for verdict in verdicts)
    print(f"{len(verdicts)} points, {reached} in which the fault came, {len(failed)} failed"
          + (f", {excused} failed in which the other build fails alone" if excused else ""))
    for verdict in failed:
        print(f"  RDCP_BUILD_DIR={BUILD} {sys.executable} {HERE}/{repeat(verdict)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
