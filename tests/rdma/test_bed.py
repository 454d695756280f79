"""The test bed itself, seen from outside: what a command does in the VM comes back, and nothing stays."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
REPO = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPO / "scripts" / "lib"))

import rdma_vm  # noqa: E402
import rdma_vm_siw  # noqa: E402

PROGRAM = REPO / "scripts" / "rdma-vm"


def machines_of(folder: Path) -> list[int]:
    """The qemus whose job lies in this folder."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(b"qemu") and os.fsencode(folder) in words:
            found.append(int(entry))
    return found


class Bed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := rdma_vm.available():
            raise unittest.SkipTest(reason)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdcp-bed-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *words) -> subprocess.Popen:
        process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(self.folder)}, text=True)
        self.addCleanup(process.kill)
        return process

    def check_nothing_stays(self):
        deadline = time.monotonic() + 5
        while machines_of(self.folder) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(machines_of(self.folder), [])

    def test_output_status_folder_and_environment_are_handed_through(self):
        script = 'echo "$RDCP_WORD in $PWD"; echo there >&2; sleep 1000 & exit 7'
        process = subprocess.Popen([PROGRAM, "--timeout", "120", "--", "bash", "-c", script], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=REPO / "src", env={**os.environ, "RDCP_WORD": "two  words",
                                                          "TMPDIR": str(self.folder)})
        out, err = process.communicate()
        self.assertEqual((process.returncode, out, err), (7, f"two  words in {REPO}/src\n", "there\n"))
        self.check_nothing_stays()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_panic_is_told(self):
        with self.assertRaisesRegex(rdma_vm.VmError, "sysrq triggered crash"):
            rdma_vm.run(["sh", "-c", "echo c >/proc/sysrq-trigger"], timeout=120)

    def test_a_result_by_a_wrong_clock_does_not_count(self):
        with mock.patch.object(rdma_vm, "clock_words", return_value="tsc_early_khz=700000"):
            with self.assertRaisesRegex(rdma_vm.VmError, "the VM's clock counted [0-9]+ s where [0-9]+ s passed"):
                rdma_vm.run(["sleep", "5"], timeout=120)

    def test_what_soft_iwarp_lacks_is_told(self):
        for name, what in (("headers", "no package linux-headers-.*: run scripts/setup"), ("source", "no source of siw in ")):
            with self.subTest(name), mock.patch.object(rdma_vm_siw, name, return_value=self.folder / "nothing"):
                if name == "source" and not rdma_vm_siw.headers(rdma_vm_siw.find_kernel()).is_dir():
                    self.skipTest("no headers here")
                self.assertRegex(rdma_vm.available("siw"), what)
                with self.assertRaisesRegex(rdma_vm.VmError, what):
                    rdma_vm.run_job(rdma_vm.Job(["true"], device="siw"), print, print)

    def test_a_module_that_cannot_be_built_is_told(self):
        source = self.folder / "source"
        source.mkdir()
        (source / "Makefile").write_text("obj-m := no_such_source.o\n")
        kernel = rdma_vm_siw.find_kernel()
        if not rdma_vm_siw.headers(kernel).is_dir():
            self.skipTest("no headers here")
        with mock.patch.object(rdma_vm_siw, "source", return_value=source), \
                mock.patch.object(rdma_vm_siw, "REPO", self.folder), \
                self.assertRaisesRegex(rdma_vm_siw.SiwError, "siw cannot be built against (.|\n)*no_such_source"):
            rdma_vm_siw.module(kernel)

    def test_time_is_bounded(self):
        process = self.start("--timeout", "5", "--", "sleep", "1000")
        _, err = process.communicate()
        self.assertEqual((process.returncode, err), (124, "rdma-vm: still running after 5 s: ended\n"))
        self.check_nothing_stays()

    def test_killing_it_ends_the_machines(self):
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(how.name):
                process = self.start("--hosts", "2", "--", "sleep", "1000")
                deadline = time.monotonic() + 20
                while len(machines_of(self.folder)) < 2 and time.monotonic() < deadline:
                    time.sleep(0.02)
                self.assertEqual(len(machines_of(self.folder)), 2, "the machines do not come up")
                process.send_signal(how)
                process.communicate()
                self.check_nothing_stays()


if __name__ == "__main__":
    unittest.main()
