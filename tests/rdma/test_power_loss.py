"""A target that loses its power: the VM is killed in the middle of copies, and boots again with the same disk."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path[:0] = [str(REPO / "scripts" / "lib"), str(REPO / "tests" / "e2e")]

import rdma_vm  # noqa: E402
from trees import MIB, Noise  # noqa: E402

RDCP = Path(os.environ.get("RDCP_BUILD_DIR", REPO / "build" / "release")).resolve() / "rdcp"
TIMEOUT = 400.0
RECORDS = 200  # chunks of the large file that are recorded when the power goes

# A remote shell that stays on this host.
SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec sh -c "$*"
"""

# Runs until the power goes, or says so when it did not come to the point. The copies stand still while the disk is flushed,
# which takes long on a busy machine; they are slow, so that none is over before the power goes.
BEFORE = """
modprobe() {{ /run/sbin/modprobe "$@" || exit 9; }}
modprobe {kind}
mkdir -p /run/disk && mount -t {kind} /dev/vdb /run/disk || exit 9
copy() {{ {rdcp} -e {shell} --rdcp-path {rdcp} --chunk-size 64K "$@"; }}
copy --fsync -r {tree} h:/run/disk/flushed || exit 8
copy --fsync -r --bwlimit 1MiB {tree} h:/run/disk/flushing &
copy -r --bwlimit 1MiB {tree}/ h:/run/disk/unflushed &
copy --bwlimit 1MiB {big} h:/run/disk/big &  # takes 40 s: a busy machine may not look for half a minute
copying=$!
until_recorded() {{
  until [ "$(stat -c %s /run/disk/.rdcp-*.journal 2>/dev/null || echo 0)" -ge $((512 + 48 * $1)) ]; do
    kill -0 $copying || exit 11
    sleep 0.05
  done
}}
until_recorded $(({records} / 2))
busybox killall -STOP rdcp
sync -f /run/disk  # so that something is on the disk, and something is not
busybox killall -CONT rdcp
until_recorded {records}
echo POWER IS LOST
sleep 1000
"""

AFTER = """
/run/sbin/modprobe {kind}
mkdir -p /run/disk && mount -t {kind} /dev/vdb /run/disk || exit 9
diff -r {tree} /run/disk/flushed || exit 2
[ ! -e /run/disk/flushed/missing ] || exit 3
whole=0
for path in $(cd /run/disk/flushing 2>/dev/null && find . -type f -name 'file*'); do
  cmp {tree}/$path /run/disk/flushing/$path || exit 4
  whole=$((whole + 1))
done
[ ! -e /run/disk/big ] || exit 5
ls -A /run/disk
ls /run/disk/.rdcp-*.run >/dev/null || exit 10  # a copy that was over would be none that is gone on with
{rdcp} -v -e {shell} --rdcp-path {rdcp} --chunk-size 64K {big} h:/run/disk/big || exit 6
cmp {big} /run/disk/big || exit 7
{rdcp} -e {shell} --rdcp-path {rdcp} -r {tree} h:/run/disk/flushing || exit 6
diff -r {tree} /run/disk/flushing || exit 7
{rdcp} -e {shell} --rdcp-path {rdcp} -r {tree}/ h:/run/disk/unflushed || exit 6
diff -r {tree} /run/disk/unflushed || exit 7  # size and time of what was never flushed are not trusted
echo "$whole files were whole"
"""


class PowerIsLost(Exception):
    pass


class Power(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := rdma_vm.available():
            raise unittest.SkipTest(reason)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdcp-power-")  # /var/tmp is another one in the VM
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tree, self.big = self.folder / "tree", self.folder / "big"
        self.tree.mkdir()
        noise = Noise(3, 2 * MIB)
        for i in range(60):
            noise.write(self.tree / f"file-{i}", 70_000 if i % 4 else 3 * MIB + i)
        noise.write(self.big, 40 * MIB + 777)
        self.shell = self.folder / "shell"
        self.shell.write_text(SHELL)
        self.shell.chmod(0o755)

    def boot(self, script: str, disk: Path, **words) -> tuple[int, str]:
        text = script.format(rdcp=RDCP, shell=self.shell, tree=self.tree, big=self.big, records=RECORDS, **words)
        output = bytearray()

        def take(piece: bytes):
            output.extend(piece)
            if b"POWER IS LOST" in output:
                raise PowerIsLost  # ends the emulator as a plug that is pulled does

        try:
            status = rdma_vm.run_job(rdma_vm.Job(["bash", "-c", text], timeout=TIMEOUT, disk=disk), take, take)
        except PowerIsLost:
            return 0, "power"
        return status, output.decode(errors="replace")

    def lose_power(self, kind: str, *make):
        disk = self.folder / "disk"
        with open(disk, "wb") as file:
            file.truncate(600 * MIB)
        subprocess.run([*make, disk], check=True, capture_output=True)
        status, output = self.boot(BEFORE, disk, kind=kind)
        self.assertEqual((status, output), (0, "power"))
        status, output = self.boot(AFTER, disk, kind=kind)
        self.assertEqual(status, 0, output)
        print(output)

    def test_ext4(self):
        self.lose_power("ext4", "/sbin/mke2fs", "-q", "-t", "ext4")

    def test_xfs(self):
        if not os.access("/sbin/mkfs.xfs", os.X_OK):
            self.skipTest("no xfsprogs here: run scripts/setup")
        self.lose_power("xfs", "/sbin/mkfs.xfs", "-q")


if __name__ == "__main__":
    unittest.main()
