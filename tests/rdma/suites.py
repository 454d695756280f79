"""Runs suites one after another in one VM, and says what each took: python3 suites.py LIST. Booting a VM takes longer than
most of them. Of what a suite prints, only failures and skipped tests with their reasons are shown."""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("RDCP_BUILD_DIR", ""))
SEALED = "--encrypt --compress=1"


@dataclass
class Suite:
    name: str
    tests: list[str] = field(default_factory=list)  # unittest's names; none: the unit tests of RDMA
    only: str = ""  # the unit tests that are run, as --gtest_filter has them; empty: all
    but: str = ""   # those of them that are left out
    folder: str = "rdma"
    transport: str = ""  # what the end-to-end tests of tests/e2e copy by
    options: str = ""    # what they add to each command
    seconds: int = 600   # a suite that takes longer hangs, and has failed

    def command(self) -> list[str]:
        if not self.tests:
            return [os.path.join(os.environ["RDCP_BUILD_DIR"], "tests", "rdma_tests"), f"--gtest_filter={self.only}-{self.but}"]
        return [sys.executable, "-m", "unittest", "-v", *self.tests]

    def environment(self) -> dict[str, str]:
        added = {"PYTHONPATH": f"{TESTS / 'e2e'}:{TESTS / 'rdma'}"}
        if self.transport:
            added["RDCP_TEST_TRANSPORT"] = self.transport
        if self.options:
            added["RDCP_TEST_OPTIONS"] = self.options
        return os.environ | added


def over_rdma(name: str, *tests: str, options: str = "", seconds: int = 600) -> Suite:
    return Suite(name, list(tests), folder="e2e", transport="rdma", options=options, seconds=seconds)


def thorough(name: str, *tests: str, options: str = "") -> Suite:
    return over_rdma(name, *tests, options=options, seconds=3600)


# What moves many chunks takes seconds in a VM that is emulated. Four of its ten settings differ most.
LONG = ("ManyChunksArriveWhole", "TwoThreadsCopyManyChunks", "ASlowTargetBlocksTheSourceByCreditsOnly",
        "ATargetThatGoesInTheMiddleEndsTheSource")
LEFT_OUT = ":".join(f"*.{test}/{setting}" for test in LONG
                    for setting in ("Ipv4ThreadPool", "Ipv6IoUring", "Ipv6IoUringPacked", "Ipv4IoUringSealed",
                                    "ByHandThreadPool", "ByHandIoUringSealed"))
UNIT = Suite("unit", but=LEFT_OUT)
IWARP_HAS_NOT = ":".join(("*ByHand*", "*AMessageWithoutBytesIsAProtocolError", "*APeerThatSaysNothingIsLeftInPeace",
                          "*APeerWhoseDeviceAnswersNoMoreIsNoticedThoughThisSideOnlyWaits"))
# Over iWARP one setting, and not what iWARP has no way for, or does in another one.
UNIT_IWARP = Suite("unit", only="Rdma*:Streams/*/Ipv4IoUring", but=IWARP_HAS_NOT)
LOCKED_MEMORY = Suite("locked_memory", ["test_locked_memory"])

# What is put on hosts without rdcp has the providers of RDMA linked in.
WITH_AGENT = f"--rdcp-path {BUILD / f'rdcp-agent-{os.uname().machine}'}"

LISTS = {
    "one_host": [
        Suite("devices", ["test_devices"]), UNIT, LOCKED_MEMORY, over_rdma("copy", "test_copy.EverySize", "test_zero_copy"),
        Suite("no_cm", ["test_no_cm.OneHost"]), Suite("pipes", ["test_pipes"]),
        over_rdma("agent", "test_copy.EverySize.test_remote_to_remote", options=WITH_AGENT),
    ],
    "one_host_failures": [
        Suite("rails", ["test_rails"]), over_rdma("failures", "test_failures.Mounted.test_a_full_tmpfs"),
    ],
    "two_hosts": [
        Suite("two_hosts", ["test_two_hosts"]), Suite("pipeline", ["test_pipeline"], transport="rdma"),
        Suite("slow_link", ["test_slow_rdma"]), Suite("come_back", ["test_come_back"]), Suite("chain", ["test_chain"]),
        Suite("no_cm", ["test_no_cm.TwoHosts"]), Suite("counters", ["test_counters"]), over_rdma("copy", "test_fall_back"),
    ],
    "iwarp": [
        Suite("devices", ["test_devices.Devices.test_two_are_active_with_large_packets",
                          "test_devices.Devices.test_both_carry_ipv4_and_ipv6"]),
        UNIT_IWARP, over_rdma("copy", "test_copy.EverySize.test_local_to_remote", "test_copy.EverySize.test_remote_to_local"),
        Suite("pipes", ["test_pipes.OverRdma.test_every_byte_and_over_what",
                        "test_pipes.OverRdma.test_a_wrong_key_is_refused_and_the_wait_goes_on"]),
        Suite("rails", ["test_rails.Rails.test_a_device_is_deleted", "test_rails.Rails.test_two_copies_share_a_range_of_ports"]),
    ],
    "iwarp_two_hosts": [
        Suite("iwarp", ["test_iwarp"]), Suite("come_back", ["test_come_back.ComeBack.test_a_cable_that_is_mended"]),
    ],
    "placement": [Suite("placement", ["test_placement"])],
    "sanitized": [UNIT, LOCKED_MEMORY],
    # With scripts/test --thorough: the whole of what TCP has to pass.
    "one_host_thorough": [
        Suite("unit", seconds=3600),
        thorough("copy", "test_copy", "test_no_uring", "test_secrets"), thorough("tree", "test_tree"),
        thorough("rdpipe", "test_rdpipe.Files", "test_rdpipe.Streams.test_every_size_is_whole",
                  "test_rdpipe.Streams.test_each_stream_goes_over_rdma"),
        thorough("copy_wrapped", "test_copy.EverySize", options=SEALED), thorough("failures", "test_failures"),
        thorough("agent", "test_copy.EverySize", options=WITH_AGENT),
    ],
    "iwarp_thorough": [
        Suite("unit", but=IWARP_HAS_NOT, seconds=3600),
        thorough("copy", "test_copy.EverySize", "test_zero_copy"), thorough("failures", "test_failures.Mounted"),
        thorough("copy_wrapped", "test_copy.EverySize", options=SEALED), Suite("pipes", ["test_pipes"]),
        Suite("rails", ["test_rails"]),
    ],
    "two_hosts_thorough": [thorough("copy", "test_copy.EverySize")],
}


PASSED_LINE = re.compile(r"\[ RUN      \]|\[       OK \]|\[-{10}\]|.* \.\.\. ok$|Running main\(\)|Note: ")
SKIPPED_LINE = re.compile(r": Skipped$|^\[  SKIPPED \] .* ms\)$| \.\.\. skipped ")


def what_failed(output: str) -> str:
    return "\n".join(line for line in output.splitlines() if line and not PASSED_LINE.match(line))


def what_was_skipped(output: str) -> str:
    """GoogleTest says the reason on the line after the place."""
    lines = output.splitlines()
    return "\n".join(line for i, line in enumerate(lines)
                     if SKIPPED_LINE.search(line) or (i > 0 and lines[i - 1].endswith(": Skipped")))


def run(suite: Suite) -> tuple[bool, str]:
    """Whether it passed, and what it printed. The output goes to a file because a process that outlives the suite would keep
    a pipe open."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            done = subprocess.run(suite.command(), cwd=TESTS / suite.folder, env=suite.environment(), check=False,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=suite.seconds)
            passed, end = done.returncode == 0, f"exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            passed, end = False, f"not over after {suite.seconds} s"
        output.seek(0)
        return passed, f"{output.read()}\n{end}\n"


def main(name: str) -> int:
    failed = 0
    for suite in LISTS[name]:
        begin = time.monotonic()
        passed, output = run(suite)
        failed += not passed
        print(f"suite {name}.{suite.name}: {time.monotonic() - begin:.0f} s, {'passed' if passed else 'FAILED'}")
        shown = what_was_skipped(output) if passed else what_failed(output)
        if shown:
            print(shown)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
