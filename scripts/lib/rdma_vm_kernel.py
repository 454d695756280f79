"""The kernel of the RDMA test VM: Debian's own, unpacked into a cache folder and never installed; and its initramfs."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

META_PACKAGE = "linux-image-amd64"
BUSYBOX = Path("/bin/busybox")  # of busybox-static: an initramfs has no libraries

# What the initramfs loads before there is a root. All else is loaded from the unpacked package, by name, in the VM.
BOOT_MODULES = ("virtio_pci", "virtio_console", "virtio_rng", "9pnet_virtio", "9p", "overlay")

# Of the package's 400 MB: what a machine without hardware can use.
UNPACKED = ("./boot/vmlinuz-*", "./lib/modules/*/modules.*", *(
    f"./lib/modules/*/kernel/{folder}" for folder in (
        "arch", "block", "crypto", "drivers/block", "drivers/char/hw_random", "drivers/char/virtio_console.ko",
        "drivers/infiniband", "drivers/net/dummy.ko", "drivers/net/veth.ko", "drivers/net/net_failover.ko",
        "drivers/net/virtio_net.ko", "drivers/virtio", "fs", "lib", "mm", "net")))


@dataclass(frozen=True)
class Kernel:
    folder: Path  # has vmlinuz and lib/modules/VERSION
    version: str

    @property
    def image(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def modules(self) -> Path:
        return self.folder / "lib" / "modules"


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rdcp-vm"


def find_kernel() -> Kernel | None:
    """The newest one that was fetched."""
    for folder in sorted(cache_folder().glob("kernel-*"), key=lambda path: path.stat().st_mtime, reverse=True):
        for modules in folder.glob("lib/modules/*"):
            return Kernel(folder, modules.name)
    return None


def missing() -> str | None:
    """Why no VM can be started here; None if one can."""
    if platform.machine() != "x86_64":
        return f"the RDMA test VM is made for x86_64, not {platform.machine()}"
    if not shutil.which("qemu-system-x86_64"):
        return "no qemu-system-x86_64 here: run scripts/setup"
    if not BUSYBOX.exists():
        return "no busybox-static here: run scripts/setup"
    if not find_kernel():
        return f"no kernel for the RDMA test VM in {cache_folder()}: run scripts/setup"
    return None


def fetch_kernel() -> Kernel:
    """Downloads and unpacks the package that linux-image-amd64 stands for. Raises CalledProcessError or RuntimeError."""
    depends = subprocess.run(["apt-cache", "depends", "--important", META_PACKAGE], capture_output=True, text=True,
                             check=True).stdout
    packages = [line.split()[-1] for line in depends.splitlines() if "Depends: linux-image-" in line]
    if not packages:
        raise RuntimeError(f"apt knows no {META_PACKAGE}: apt-get update, then try again")
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as scratch:
        subprocess.run(["apt-get", "-q", "download", packages[0]], cwd=scratch, check=True)
        archive = next(Path(scratch).glob("*.deb"))
        unpacked = Path(scratch, "unpacked")
        _unpack(archive, unpacked)
        target = cache / f"kernel-{packages[0].removeprefix('linux-image-')}"
        shutil.rmtree(target, ignore_errors=True)
        unpacked.rename(target)
    return find_kernel()


def _unpack(archive: Path, folder: Path):
    folder.mkdir()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as package:
        subprocess.run(["tar", "-x", "--no-same-owner", "--wildcards", *UNPACKED], stdin=package.stdout, cwd=folder,
                       check=False, stderr=subprocess.DEVNULL)  # a pattern that matches nothing is no error here
    images = list(folder.glob("boot/vmlinuz-*"))
    if package.returncode != 0 or len(images) != 1:
        raise RuntimeError(f"{archive.name} does not hold one kernel")
    images[0].rename(folder / "vmlinuz")
    (folder / "boot").rmdir()
    version = next(folder.glob("lib/modules/*")).name
    subprocess.run([BUSYBOX, "depmod", "-b", folder, version], check=True)


def initramfs(kernel: Kernel, init_script: Path) -> Path:
    """Made once for each kernel and init script."""
    script = init_script.read_bytes()
    key = hashlib.sha256(script + repr((BOOT_MODULES, BUSYBOX.stat().st_mtime)).encode()).hexdigest()[:16]
    path = kernel.folder / f"initramfs-{key}"
    if path.exists():
        return path
    files = {"init": script, "bin/busybox": BUSYBOX.read_bytes()}
    order = _load_order(kernel, BOOT_MODULES)
    files["modules.list"] = "".join(f"/modules/{module.name}\n" for module in order).encode()
    files |= {f"modules/{module.name}": module.read_bytes() for module in order}
    with tempfile.NamedTemporaryFile(dir=kernel.folder, delete=False) as temporary:
        temporary.write(_cpio(files))
    os.rename(temporary.name, path)
    return path


def _load_order(kernel: Kernel, names) -> list[Path]:
    """These modules and all that they need, in an order in which they can be loaded."""
    folder = kernel.modules / kernel.version
    needs, paths = {}, {}
    for line in (folder / "modules.dep").read_text().splitlines():
        module, _, rest = line.partition(":")
        paths[Path(module).stem] = folder / module
        needs[Path(module).stem] = [Path(other).stem for other in rest.split()]
    order: list[str] = []

    def visit(name: str):
        if name not in paths or name in order:  # not in the list: built into this kernel
            return
        for other in needs[name]:
            visit(other)
        order.append(name)

    for name in names:
        visit(name)
    return [paths[name] for name in order]


def _cpio(files: dict[str, bytes]) -> bytes:
    """An archive in the kernel's format: cpio's "newc" (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    folders = sorted({str(parent) for name in files for parent in Path(name).parents if str(parent) != "."})
    entries = [(name, 0o040755, b"") for name in folders]
    entries += [(name, 0o100755, data) for name, data in files.items()]
    out = bytearray()

    def padded(data: bytes):
        out.extend(data)
        out.extend(bytes(-len(out) % 4))

    for number, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        padded(b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0")
        padded(data)
    return bytes(out)
