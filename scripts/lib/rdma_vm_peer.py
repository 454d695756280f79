"""Runs in the second host of the RDMA test VM: an sshd with throw-away keys that the first host can reach as `dest`."""

import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True
from sshd import LocalSshd  # noqa: E402

job = Path("/run/rdma-vm")
(job / "ssh").mkdir()
with LocalSshd(job / "ssh", address="10.77.0.2", also="fd77::2", port=22):
    (job / "ready.2").touch()
    threading.Event().wait()  # until the machine is switched off
