"""The demo's second half: trees, an sshd, copies, proofs, rates. Started by scripts/demo, which builds first."""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from sshd import LocalSshd  # noqa: E402
from trees import GIB, make_model_cache, make_node_modules, parse_size, tree_size  # noqa: E402

CIPHER = "aes128-gcm@openssh.com"  # scp at its fastest


def parse_arguments():
    parser = argparse.ArgumentParser(prog="demo", description="Copies two real-looking trees through a real sshd.")
    parser.add_argument("--rdcp", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=parse_size, default=2 * GIB, help="of the model cache (default 2GiB)")
    parser.add_argument("--files", type=int, default=55_000, help="in the node_modules tree (default 55000)")
    parser.add_argument("--dir", help="where the trees are made and copied to (default $TMPDIR or /tmp)")
    parser.add_argument("--keep", action="store_true", help="leave the trees and copies in place")
    return parser.parse_args()


def say(text: str):
    print(f"\n== {text}", flush=True)


def run(command: list) -> float:
    """Runs a command for all to see, and returns its seconds."""
    words = [os.fspath(word) for word in command]
    print("$ " + shlex.join(words), flush=True)
    started = time.monotonic()
    subprocess.run(words, check=True)
    return time.monotonic() - started


def prove_same(source: Path, copy: Path):
    """By two tools that know nothing of rdcp: contents and links, then all that rsync can tell, times to the ns."""
    for command in (["diff", "-r", "--no-dereference", source, copy],
                    ["rsync", "-naicHAX", "--modify-window=-1", "--delete", f"{source}/", f"{copy}/"]):
        words = [os.fspath(word) for word in command]
        print("$ " + shlex.join(words), flush=True)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode or done.stdout or done.stderr:
            sys.exit(f"demo: the copy is not the same:\n{done.stdout[:2000]}{done.stderr[:2000]}")
    print("identical: neither tool found a difference")


def copy_and_compare(name: str, source: Path, folder: Path, rdcp: Path, ssh: LocalSshd):
    files, size = tree_size(source)
    say(f"{name}: {files} files, {size / 1e9:.2f} GB, by rdcp")
    copy = folder / "copy" / source.name
    rdcp_seconds = run([rdcp, "-r", "-v", "-F", ssh.config, "--rdcp-path", rdcp, source, f"dest:{copy.parent}"])
    prove_same(source, copy)
    shutil.rmtree(copy)

    say(f"{name}: the same by scp -r")
    scp_seconds = run(["scp", "-q", "-r", "-p", "-F", ssh.config, "-c", CIPHER, source, f"dest:{copy.parent}"])
    followed = tree_size(copy)[1] - size
    shutil.rmtree(copy)
    print(f"{name:14} {'seconds':>8} {'GB/s':>7} {'files/s':>8} {'x scp':>7}")
    for tool, seconds in (("rdcp", rdcp_seconds), ("scp", scp_seconds)):
        print(f"  {tool:12} {seconds:8.2f} {size / 1e9 / seconds:7.3f} {files / seconds:8.0f} "
              f"{scp_seconds / seconds:7.2f}")
    if followed > 0:
        print(f"  (scp does not keep symlinks: it copied {followed / 1e9:.2f} GB twice)")


def main():
    options = parse_arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, _: sys.exit(128 + signum))
    folder = Path(tempfile.mkdtemp(prefix="rdcp-demo-", dir=options.dir))
    try:
        need, free = int(options.size * 3.2) + 10**9, shutil.disk_usage(folder).free
        if free < need:
            sys.exit(f"demo: {folder} has {free / 1e9:.1f} GB free and {need / 1e9:.1f} GB are needed: "
                     "choose another folder (--dir) or a smaller tree (--size)")
        (folder / "ssh").mkdir()
        (folder / "copy").mkdir()
        say("Making the trees")
        trees = {"model cache": make_model_cache(folder, options.size),
                 "node_modules": make_node_modules(folder, options.files)}
        say("Starting an sshd on a loopback port, with keys of its own")
        with LocalSshd(folder / "ssh") as ssh:
            print(f"listening on {ssh.address} port {ssh.port}; ssh's options are in {ssh.config}")
            for name, tree in trees.items():
                copy_and_compare(name, tree, folder, options.rdcp, ssh)
        say("Done")
    except subprocess.CalledProcessError as error:
        sys.exit(f"demo: {shlex.join(map(str, error.cmd))} ended with exit status {error.returncode}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
