"""The kernel module of Soft-iWARP (siw) for the RDMA test VM, whose kernel, Debian's own, is built without it.

Debian's package of the kernel's source has it. It is 140 MB, of which 300 KB are kept, beside the kernel; they are built
against the installed headers of that kernel. What building leaves is in the folder build of this checkout.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rdma_vm_kernel import Kernel, cache_folder, find_kernel, missing

REPO = Path(__file__).resolve().parent.parent.parent
DRIVER = "drivers/infiniband/sw/siw"
HEADERS_KEPT = Path("/usr/src")


class SiwError(RuntimeError):
    """The module could not be made."""


def headers(kernel: Kernel) -> Path:
    return HEADERS_KEPT / f"linux-headers-{kernel.version}"


def source(kernel: Kernel) -> Path:
    return cache_folder() / f"siw-{kernel.version}"


def missing_siw() -> str | None:
    """Why no VM with Soft-iWARP can be started here; None if one can."""
    if reason := missing():
        return reason
    kernel = find_kernel()
    if not headers(kernel).is_dir():
        return (f"no package linux-headers-{kernel.version}, against which siw is built: run scripts/setup (if Debian has it no "
                f"more, remove {kernel.folder} before)")
    if not source(kernel).is_dir():
        return f"no source of siw in {source(kernel)}: run scripts/setup"
    return None


def fetch_source():
    """Downloads the kernel's source, of the version that the headers are of if apt still has it, and keeps the driver. Raises
    CalledProcessError or RuntimeError."""
    kernel = find_kernel()
    if source(kernel).is_dir():
        return
    package = f"linux-source-{'.'.join(kernel.version.split('.')[:2])}"
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache_folder()) as scratch:
        if not _download(package, f"={_version_of(headers(kernel).name)}", scratch):
            _download(package, "", scratch, check=True)
        driver = _unpack(next(Path(scratch).glob("*.deb")), scratch)
        driver.rename(source(kernel))


def _version_of(package: str) -> str:
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True).stdout


def _download(package: str, version: str, folder: str, check: bool = False) -> bool:
    words = ["apt-get", "-q", "download", package + version]
    return subprocess.run(words, cwd=folder, check=check).returncode == 0


def _unpack(archive: Path, folder: str) -> Path:
    """The archive holds one more, of the whole source."""
    inner = f"./usr/src/{archive.name.split('_')[0]}.tar.xz"
    stages = [["dpkg-deb", "--fsys-tarfile", archive], ["tar", "-xO", inner], ["xz", "-dc"],
              ["tar", "-x", "--no-same-owner", "--wildcards", f"*/{DRIVER}/*"]]
    with contextlib.ExitStack() as stack:
        before = None
        for words in stages:
            stage = stack.enter_context(subprocess.Popen(words, cwd=folder, stdin=before, stdout=subprocess.PIPE))
            if before:
                before.close()  # so that a stage whose reader is gone ends
            before = stage.stdout
        before.read()
    found = list(Path(folder).glob(f"*/{DRIVER}"))
    if len(found) != 1:
        raise RuntimeError(f"{archive.name} does not hold {DRIVER}")
    return found[0]


def module(kernel: Kernel) -> Path:
    """Built once, even if several ask at the same time. Raises SiwError."""
    folder = REPO / "build" / f"siw-{kernel.version}"
    folder.parent.mkdir(exist_ok=True)
    made = folder / "siw.ko"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(source(kernel), folder)
            words = ["make", "-C", headers(kernel), f"M={folder}", "CONFIG_RDMA_SIW=m", "modules"]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False, env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"})
            if done.returncode != 0 or not made.exists():
                raise SiwError(f"siw cannot be built against {headers(kernel)}:\n{done.stdout}")
    return made
