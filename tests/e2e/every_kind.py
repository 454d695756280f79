"""A tree with one of everything that a filesystem can hold."""

import os
import socket
import stat
import struct
from pathlib import Path

from harness import CHUNK, is_root, make_file

YEAR_1931, YEAR_2100 = -1_230_768_000, 4_102_444_800

NAMES = [b"new\nline", b"carriage\rreturn", b"\x1b[31mred\x1b[0m", b"\xff\xfe not UTF-8 \xc3", b"x" * 255,
         "ü".encode() * 127, b"-rf", b"--agent", b"it's", b'"quoted"', b"*?[a-z]{1,2}", b" spaces  ", b"a:b",
         b"$(touch pwned)`id`", b"back\\slash", b"~", b"#", b"..." , b".hidden", b"\x01\x7f", b"tab\there",
         b".x.rdcp-12345678"]


def make_hostile_names(root: Path):
    """Files, directories and links whose names are a trap for somebody."""
    top = os.fsencode(root)
    os.mkdir(top)
    for i, name in enumerate(NAMES):
        Path(os.fsdecode(top + b"/" + name)).write_bytes(b"content of %d" % i)
        os.mkdir(top + b"/d" + name[:254])
        Path(os.fsdecode(top + b"/d" + name[:254] + b"/" + name)).write_bytes(b"")
        os.symlink(name, top + b"/l" + name[:254])


def make_deep(root: Path, depth: int = 200, name: str = "a-component-of-some-length"):
    """A path beyond PATH_MAX (4096 bytes), made and reached step by step."""
    root.mkdir()
    fd = os.open(root, os.O_RDONLY)
    for level in range(depth):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
        if level in (depth // 2, depth - 1):
            file = os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
            os.write(file, b"at the bottom")
            os.close(file)
            os.symlink("file", "link", dir_fd=fd)
    os.close(fd)


def make_links(root: Path):
    root.mkdir()
    (root / "folder" / "deeper").mkdir(parents=True)
    os.symlink("nowhere/at/all", root / "dangling")
    os.symlink("folder", root / "to-a-folder")
    os.symlink("/etc/passwd", root / "absolute")
    os.symlink("../" * 30 + "etc", root / "upwards")
    os.symlink("x" * 4000, root / "long")
    for size, name in ((10, "small"), (3 * CHUNK + 7, "large"), (0, "empty")):
        make_file(root / name, size, size + 1)
        os.link(root / name, root / "folder" / f"{name}-again")
        os.link(root / name, root / "folder" / "deeper" / f"{name}-once-more")
    if is_root:
        os.mkfifo(root / "linked-fifo")
        os.link(root / "linked-fifo", root / "folder" / "linked-fifo")


def make_sparse(root: Path):
    root.mkdir()
    _sparse(root / "large", 64 * CHUNK, [(0, 100), (20 * CHUNK, CHUNK), (50 * CHUNK + 5, 3)])
    _sparse(root / "only-a-hole", 1 << 36, [])
    _sparse(root / "ends-in-a-hole", 9 * CHUNK + 1, [(CHUNK, 10)])
    _sparse(root / "small", 40_000, [(20_000, 10)])
    _sparse(root / "small-hole", 20_000, [])


def _sparse(path: Path, size: int, extents: list):
    with open(path, "wb") as file:
        file.truncate(size)
        for start, length in extents:
            file.seek(start)
            file.write(b"d" * length)


def make_specials(root: Path):
    root.mkdir()
    os.mkfifo(root / "fifo", 0o640)
    os.chmod(root / "fifo", 0o622)
    folder = os.open(root, os.O_RDONLY)
    try:  # a socket's path is short, whatever the test's folder is called
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/socket")
    finally:
        os.close(folder)
    if is_root:
        os.mknod(root / "char-device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.mknod(root / "block-device", stat.S_IFBLK | 0o660, os.makedev(7, 200))


def make_modes(root: Path):
    root.mkdir()
    for mode in (0o000, 0o400, 0o644, 0o755, 0o4755, 0o2755, 0o6711, 0o1644, 0o777):
        make_file(root / f"file-{mode:04o}", 100, mode)
        os.chmod(root / f"file-{mode:04o}", mode)
    make_file(root / "large-4755", 3 * CHUNK, 1)
    os.chmod(root / "large-4755", 0o4755)
    for mode in (0o555, 0o500, 0o1777, 0o2775, 0o700):
        folder = root / f"folder-{mode:04o}"
        folder.mkdir()
        (folder / "within").write_text("x")
        (folder / "sub").mkdir()
        os.chmod(folder, mode)
    (root / "empty").mkdir()


def make_xattrs(root: Path):
    root.mkdir()
    make_file(root / "small", 100, 1)
    make_file(root / "large", 3 * CHUNK, 2)
    (root / "folder").mkdir()
    (root / "folder" / "within").write_text("x")
    os.symlink("small", root / "link")
    for name in ("small", "large", "folder"):
        os.setxattr(root / name, "user.text", b"words")
        os.setxattr(root / name, "user.binary", bytes(range(256)))
        os.setxattr(root / name, "user.empty", b"")
        os.setxattr(root / name, "user.name=with \n odd", b"\0")
    if is_root:
        os.setxattr(root / "small", "trusted.secret", b"1")
        os.setxattr(root / "link", "trusted.of-the-link", b"2", follow_symlinks=False)


def make_acls(root: Path):
    root.mkdir()
    make_file(root / "small", 100, 3)
    make_file(root / "large", 3 * CHUNK, 4)
    (root / "folder").mkdir()
    # An access list: owner, a named user, group, a named group, mask, others.
    def access(owner: int) -> bytes:
        return _acl((0x01, owner, None), (0x02, 5, 1), (0x04, 4, None), (0x08, 7, 2), (0x10, 7, None), (0x20, 0, None))
    default = _acl((0x01, 7, None), (0x02, 7, 3), (0x04, 5, None), (0x10, 7, None), (0x20, 5, None))
    for name, owner in (("small", 6), ("large", 6), ("folder", 7)):
        os.setxattr(root / name, "system.posix_acl_access", access(owner))
    os.setxattr(root / "folder", "system.posix_acl_default", default)
    (root / "folder" / "inherits").write_text("x")


def _acl(*lines) -> bytes:
    """The kernel's form (linux/posix_acl_xattr.h): version 2, then tag, permissions, id for each line."""
    undefined = 0xFFFFFFFF
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, permissions, undefined if number is None else number)
        for tag, permissions, number in lines)


def make_times(root: Path):
    root.mkdir()
    times = {"with-nanoseconds": 1_600_000_000_123_456_789, "epoch": 0, "one-ns": 1,
             "before-1970": YEAR_1931 * 10**9 + 999_999_999, "just-before-1970": -1,
             "far-future": YEAR_2100 * 10**9 + 1}
    for name, when in times.items():
        make_file(root / name, 20, 5)
        make_file(root / f"{name}-large", 3 * CHUNK, 6)
        (root / f"{name}-folder").mkdir()
        (root / f"{name}-folder" / "within").write_text("x")
        os.symlink("x", root / f"{name}-link")
        for path in (name, f"{name}-large", f"{name}-folder", f"{name}-link"):
            os.utime(root / path, ns=(when, when), follow_symlinks=False)


def make_owners(root: Path):
    """Root only. By numbers that have names everywhere (daemon, bin), and by one that has none."""
    root.mkdir()
    for name, uid, gid in (("daemon", 1, 1), ("bin", 2, 2), ("nameless", 54321, 54322), ("mixed", 1, 54322)):
        make_file(root / name, 30, uid)
        make_file(root / f"{name}-large", 2 * CHUNK, uid)
        os.mkdir(root / f"{name}-folder")
        os.symlink("x", root / f"{name}-link")
        for path in (name, f"{name}-large", f"{name}-folder", f"{name}-link"):
            os.chown(root / path, uid, gid, follow_symlinks=False)


PARTS = {"names": make_hostile_names, "deep": make_deep, "links": make_links, "sparse": make_sparse,
         "specials": make_specials, "modes": make_modes, "xattrs": make_xattrs, "acls": make_acls,
         "times": make_times} | ({"owners": make_owners} if is_root else {})
