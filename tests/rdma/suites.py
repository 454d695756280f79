"""Runs suites one after another in one VM, and says what each took: python3 suites.py LIST. Booting a VM takes longer than
most of them."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SEALED = "--encrypt --compress=1"


@dataclass
class Suite:
    name: str
    tests: list[str] = field(default_factory=list)  # unittest's names; none: the unit tests of RDMA
    folder: str = "rdma"
    transport: str = ""  # what the end-to-end tests of tests/e2e copy by
    options: str = ""    # what they add to each command

    def command(self) -> list[str]:
        if not self.tests:
            return [os.path.join(os.environ["RDCP_BUILD_DIR"], "tests", "rdma_tests")]
        return [sys.executable, "-m", "unittest", "-v", *self.tests]

    def environment(self) -> dict[str, str]:
        added = {"PYTHONPATH": f"{TESTS / 'e2e'}:{TESTS / 'rdma'}"}
        if self.transport:
            added["RDCP_TEST_TRANSPORT"] = self.transport
        if self.options:
            added["RDCP_TEST_OPTIONS"] = self.options
        return os.environ | added


def over_rdma(name: str, *tests: str, options: str = "") -> Suite:
    return Suite(name, list(tests), "e2e", "rdma", options)


UNIT = Suite("unit")
LOCKED_MEMORY = Suite("locked_memory", ["test_locked_memory"])

LISTS = {
    "one_host": [
        Suite("devices", ["test_devices"]), UNIT, LOCKED_MEMORY, Suite("rails", ["test_rails"]),
        over_rdma("copy", "test_copy.EverySize", "test_zero_copy"),
        over_rdma("failures", "test_failures.MovingSources", "test_failures.HeardClose",
                  "test_failures.Mounted.test_a_full_tmpfs"),
        Suite("pipes", ["test_pipes"]),
    ],
    "two_hosts": [
        Suite("two_hosts", ["test_two_hosts"]), Suite("pipeline", ["test_pipeline"], transport="rdma"),
        Suite("slow_link", ["test_slow_rdma"]), Suite("come_back", ["test_come_back"]),
        over_rdma("copy", "test_fall_back"),
    ],
    "sanitized": [UNIT, LOCKED_MEMORY],
    # With scripts/test --thorough: the whole of what TCP has to pass.
    "one_host_thorough": [
        over_rdma("copy", "test_copy", "test_no_uring", "test_secrets"), over_rdma("tree", "test_tree"),
        over_rdma("rdpipe", "test_rdpipe.Files", "test_rdpipe.Streams.test_every_size_is_whole",
                  "test_rdpipe.Streams.test_each_stream_goes_over_rdma"),
        over_rdma("copy_wrapped", "test_copy.EverySize", options=SEALED), over_rdma("failures", "test_failures"),
    ],
    "two_hosts_thorough": [over_rdma("copy", "test_copy.EverySize")],
}


def main(name: str) -> int:
    took: list[tuple[str, float, int]] = []
    for suite in LISTS[name]:
        print(f"== {name}: {suite.name}", flush=True)
        begin = time.monotonic()
        done = subprocess.run(suite.command(), cwd=TESTS / suite.folder, env=suite.environment(), check=False)
        took.append((suite.name, time.monotonic() - begin, done.returncode))
    for suite, seconds, status in took:
        print(f"suite {name}.{suite}: {seconds:.0f} s, {'passed' if status == 0 else 'FAILED'}")
    return 1 if any(status for _, _, status in took) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
