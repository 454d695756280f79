"""Runs each test of a module in a process of its own, all at once: python3 at_once.py MODULE. For tests that do little but
wait."""

import subprocess
import sys
import unittest


def each_test(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from each_test(part)
        else:
            yield part.id()


def main(module: str) -> int:
    names = list(each_test(unittest.defaultTestLoader.loadTestsFromName(module)))
    running = [subprocess.Popen([sys.executable, "-m", "unittest", "-v", name], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for name in names]
    failed = 0
    for process in running:
        print(process.communicate()[0], flush=True)
        failed += process.returncode != 0
    print(f"{len(names)} tests, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
