"""What a tree is, entry by entry, so that two trees can be compared to the last bit of metadata."""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass, field

TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket", stat.S_IFCHR: "char device", stat.S_IFBLK: "block device"}

BLOCK = 1 << 16


@dataclass
class Facts:
    """One entry. `blocks` (512 bytes each) is compared apart, since filesystems round differently."""
    type: str
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    size: int = 0
    device: int = 0
    link_target: bytes = b""
    content: str = ""
    holes: list = field(default_factory=list)   # data extents of a sparse file
    xattrs: dict = field(default_factory=dict)  # ACLs are among them, as system.posix_acl_*
    linked_with: tuple = ()                     # all its names inside the tree, where there is more than one
    blocks: int = field(default=0, compare=False)


def snapshot(root) -> dict[bytes, Facts]:
    """Facts by path beneath root; b"" is the root itself. Works for paths beyond PATH_MAX and unreadable modes."""
    entries: dict[bytes, Facts] = {}
    groups: dict[tuple, list[bytes]] = {}
    root = os.fsencode(root)
    parent = os.open(os.path.dirname(root) or b".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        _visit(parent, os.path.basename(root), b"", entries, groups)
    finally:
        os.close(parent)
    for names in groups.values():
        if len(names) > 1:
            for name in names:
                entries[name].linked_with = tuple(sorted(names))
    return entries


def _visit(parent: int, name: bytes, path: bytes, entries: dict, groups: dict):
    facts, inode = _facts(parent, name)
    entries[path] = facts
    if facts.type != "directory":
        groups.setdefault(inode, []).append(path)
        return
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        for child in sorted(map(os.fsencode, os.listdir(folder))):
            _visit(folder, child, path + b"/" + child if path else child, entries, groups)
    finally:
        os.close(folder)


def _facts(parent: int, name: bytes):
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    kind = TYPES[stat.S_IFMT(status.st_mode)]
    facts = Facts(kind, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns,
                  blocks=status.st_blocks)
    if kind == "symlink":
        facts.link_target = os.readlink(name, dir_fd=parent)
    elif kind in ("char device", "block device"):
        facts.device = status.st_rdev
    elif kind == "file":
        facts.size = status.st_size
        facts.content, facts.holes = _content(parent, name, status)
    facts.xattrs = _xattrs(b"/proc/self/fd/%d/%s" % (parent, name))
    return facts, (status.st_dev, status.st_ino)


def _content(parent: int, name: bytes, status):
    """A digest of all blocks that are not zeros, so that holes cost nothing, and the data extents of a sparse file."""
    digest = hashlib.blake2b()
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        extents = _data_extents(fd, status.st_size)
        for block in sorted({i for start, end in extents for i in range(start // BLOCK, -(-end // BLOCK))}):
            data = os.pread(fd, BLOCK, block * BLOCK)
            if data.count(0) != len(data):
                digest.update(b"%d:" % block + data)
    finally:
        os.close(fd)
    is_sparse = status.st_blocks * 512 < status.st_size
    return digest.hexdigest(), extents if is_sparse else []


def _data_extents(fd: int, size: int) -> list:
    extents, position = [], 0
    while position < size:
        try:
            start = os.lseek(fd, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                break
            raise
        position = os.lseek(fd, start, os.SEEK_HOLE)
        extents.append((start, position))
    return extents


def _xattrs(path: bytes) -> dict:
    try:
        names = os.listxattr(path, follow_symlinks=False)
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EACCES):
            return {}
        raise


def differences(wanted: dict, found: dict, ignore: tuple = ()) -> list[str]:
    """Lines that say what differs; none: the trees are the same. `ignore`: names of Facts that need not match."""
    lines = [f"{_short(path)} is missing" for path in sorted(wanted.keys() - found.keys())]
    surplus = sorted(found.keys() - wanted.keys())
    lines += [f"{_short(path)} should not be there ({found[path].type})" for path in surplus]
    for path in sorted(wanted.keys() & found.keys()):
        one, other = wanted[path], found[path]
        for name in Facts.__dataclass_fields__:
            if name not in ignore and name != "blocks" and getattr(one, name) != getattr(other, name):
                lines.append(f"{_short(path)}: {name} is {getattr(other, name)!r}, should be {getattr(one, name)!r}")
        # A filesystem may round up what it allocates, but a hole must not have become zeros on the disk.
        if one.holes and other.blocks > one.blocks + 256:
            lines.append(f"{_short(path)}: takes {other.blocks} blocks, should take {one.blocks}")
    return lines


def _short(path: bytes) -> str:
    return repr(path if len(path) < 200 else path[:80] + b" [...] " + path[-100:])
