"""What rdcp --doctor tells of the counters of the devices: which of them grew during its own transfer between two hosts."""

import json
import re
import subprocess
import unittest

from copying import VmCopyTest  # puts the harness on the path

TRANSFERS = 10  # of a second each
LOST = "packets were lost, came out of order or were marked during this: "


class Counters(VmCopyTest):
    hosts = 2

    def told(self) -> list[str]:
        """Of both hosts."""
        report = json.loads(self.rdcp("--doctor", "--json", "--transport", "rdma", "--via", "rxe0", "dest").out)
        return [note for path in report["transfers"] for note in path.get("notes", []) if LOST in note]

    def test_what_was_sent_again_is_told(self):
        subprocess.run(["tc", "qdisc", "add", "dev", "eth0", "root", "netem", "loss", "2%"], check=True)
        self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", "eth0", "root"], check=True)
        # Where other tests take the processors a transfer has so few packets that none may be lost.
        told = next((told for told in (self.told() for _ in range(TRANSFERS)) if told), [])
        self.assertTrue(told, f"nothing was lost in {TRANSFERS} transfers")
        for note in told:
            self.assertRegex(note.partition(LOST)[2], r"^(rxe0/1 \w+ \d+(, )?)+$")
        # What this host lost is seen as a gap by the other one.
        self.assertTrue(any(re.search("out_of_seq|seq_err", note) for note in told), told)


if __name__ == "__main__":
    unittest.main()
