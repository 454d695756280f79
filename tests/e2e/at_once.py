"""Runs each of these tests in a process of its own, many at once: python3 at_once.py MOST NAME... For tests that do little
but wait. MOST: how many at once, 0 for all. NAME: as unittest has it."""

import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor


def each_test(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from each_test(part)
        else:
            yield part.id()


def run(name: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "unittest", "-v", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def main(most: str, *modules: str) -> int:
    names = list(each_test(unittest.defaultTestLoader.loadTestsFromNames(modules)))
    failed = 0
    with ThreadPoolExecutor(int(most) or max(len(names), 1)) as pool:
        for done in pool.map(run, names):
            print(done.stdout, flush=True)
            failed += done.returncode != 0
    print(f"{len(names)} tests, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
