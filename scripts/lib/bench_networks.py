"""What a firewall costs: for each network the way that the data takes, how long a small file takes there, and how fast a
large one goes against scp, encrypted and not. The other host is a network namespace with nft rules; ssh has its own choice of
cipher for both; the tools take turns in one run; medians count."""

import contextlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_machine import warm_memory
from network import second_network, set_firewall
from sshd import LocalSshd
from trees import GIB, make_file

SSH_PORT = 2222
DROP, REFUSE = "drop", "reject with tcp reset"
# What the other host's firewall does to what comes in and to what goes out, besides ssh.
NETWORKS = {
    "nothing is closed": ("", ""),
    "inward refused": (REFUSE, ""),
    "inward dropped": (DROP, ""),
    "both ways refused": (REFUSE, REFUSE),
    "both ways dropped": (DROP, DROP),
}
WAYS = {"through ssh": "through ssh", "not reached": "the far host connects", "": "this host connects"}


def timed(command: list) -> tuple[float, str]:
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return time.monotonic() - begin, done.stderr


def way_of(said: str) -> str:
    return next(way for sign, way in WAYS.items() if sign in said)


def measure_networks(options) -> int:
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-bench-", dir=options.tmpfs))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        keys = folder / "keys"
        keys.mkdir()
        size = min(options.size, GIB)
        large, small = folder / "large", folder / "small"
        make_file(large, size)
        make_file(small, 1000)
        if not options.no_warm:
            stack.enter_context(warm_memory([large], 3 * size / GIB))
        address, inside = stack.enter_context(second_network())
        ssh = stack.enter_context(LocalSshd(keys, address, port=SSH_PORT, inside=inside, quick=False))
        rdcp = [options.rdcp, "-F", ssh.config, "--rdcp-path", options.rdcp, "-v"]
        tools = {"rdcp": rdcp, "rdcp --no-encrypt": [*rdcp, "--no-encrypt"],
                 "scp": ["scp", "-q", "-F", ssh.config]}
        print(f"{'network':20} {'way':24} {'small file':>10} {size / 1e9:5.2f} GB " + "".join(f"{name:>20}" for name in tools))
        for network, (inward, outward) in NETWORKS.items():
            set_firewall(inside, SSH_PORT, *([f"meta l4proto tcp {what}"] if what else [] for what in (inward, outward)))
            samples: dict[str, list[float]] = {name: [] for name in ("small", *tools)}
            for run in range(options.runs):
                seconds, said = timed([*rdcp, small, f"dest:{folder}/copy"])
                samples["small"].append(seconds)
                names = list(tools)
                for name in names[run % len(names):] + names[:run % len(names)]:
                    samples[name].append(timed([*tools[name], large, f"dest:{folder}/copy"])[0])
                    (folder / "copy").unlink()
            medians = {name: statistics.median(times) for name, times in samples.items()}
            rates = "".join(f"{medians[name]:11.2f} s ({medians['scp'] / medians[name]:.2f})" for name in tools)
            print(f"{network:20} {way_of(said):24} {medians['small']:8.2f} s {'':9} {rates}", flush=True)
    print("in brackets: how many times as fast as scp", file=sys.stderr)
    return 0
