"""Random trees with every kind of entry, and random changes to them. All is drawn from one seeded Random."""

import os
import random
import shutil
import stat
from pathlib import Path

from harness import is_root

NAMES = ["a", "b", "c", "D", "e e", "f\nf", "ü", "-rf", "*", "A", "x" * 200, "l'1", "g", "h", ".k"]
YEAR_1931, YEAR_2100 = -1_230_768_000, 4_102_444_800
BASE_TIME = 1_700_000_000


class Tree:
    """The tree at `root`, as bytes paths are not needed: all names are UTF-8."""

    def __init__(self, root: Path, rng: random.Random):
        self.root, self.rng = root, rng

    def directories(self) -> list[Path]:
        found = [self.root]
        for folder, names, _ in os.walk(self.root):
            found += [Path(folder, name) for name in names if not Path(folder, name).is_symlink()]
        return found

    def entries(self) -> list[Path]:
        found = []
        for folder, names, files in os.walk(self.root):
            found += [Path(folder, name) for name in names + files]
        return found

    def somewhere(self) -> Path:
        return self.rng.choice(self.directories()) / self.rng.choice(NAMES)

    def fill(self, count: int):
        for _ in range(count):
            self.make(self.somewhere())
        for path in self.entries():
            self.set_time(path)

    def change(self, count: int):
        for _ in range(count):
            self.rng.choice([self.step_make, self.step_make, self.step_edit, self.step_edit, self.step_remove,
                             self.step_mode, self.step_time, self.step_xattr, self.step_owner, self.step_rename,
                             self.step_link, self.step_acl, self.step_case])()

    def make(self, path: Path):
        """Makes one entry in place of what is there."""
        if os.path.lexists(path):
            remove(path)
        kind = self.rng.choice(["file"] * 6 + ["large", "sparse", "directory", "directory", "symlink", "symlink",
                                               "fifo", "device", "loop"])
        if kind == "directory":
            path.mkdir()
        elif kind == "symlink":
            path.symlink_to(self.rng.choice(["nowhere", "a", "../b", "/etc", "x" * 300]))
        elif kind == "loop":
            path.symlink_to(path.name)
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "device" and is_root:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, self.rng.randrange(3, 9)))
        elif kind == "sparse":
            with open(path, "wb") as file:
                file.truncate(self.rng.randrange(1, 500_000))
                file.seek(self.rng.randrange(1, 400_000))
                file.write(b"data")
        else:
            size = self.rng.randrange(150_000, 700_000) if kind == "large" else self.rng.choice([0, 1, 100, 5000])
            path.write_bytes(self.rng.randbytes(size))

    def set_time(self, path: Path):
        seconds = self.rng.choice([YEAR_1931, YEAR_2100, BASE_TIME, BASE_TIME + self.rng.randrange(10**6)])
        time = seconds * 10**9 + self.rng.choice([0, 1, 999_999_999, self.rng.randrange(10**9)])
        os.utime(path, ns=(0, time), follow_symlinks=False)

    def tell_apart(self, other: Path):
        """Gives a file another time where its size and time are by chance those of a different file of that name in the tree
        `other`: who looks at no more than these cannot know."""
        for path in filter(is_file, self.entries()):
            there = other / path.relative_to(self.root)
            if not os.path.lexists(there) or not is_file(there):
                continue
            while looks(path) == looks(there) and path.read_bytes() != there.read_bytes():
                self.set_time(path)

    def pick(self, wanted) -> Path | None:
        fitting = [path for path in self.entries() if wanted(path)]
        return self.rng.choice(fitting) if fitting else None

    def step_make(self):
        self.make(self.somewhere())

    def step_edit(self):
        path = self.pick(is_file)
        if path is None:
            return
        data = bytearray(path.read_bytes())
        how = self.rng.choice(["append", "cut", "one byte", "anew"])
        if how == "append":
            data += self.rng.randbytes(self.rng.choice([1, 1000]))
        elif how == "cut":
            del data[len(data) // 2:]
        elif how == "one byte" and data:
            data[self.rng.randrange(len(data))] ^= 1
        else:
            data = self.rng.randbytes(self.rng.choice([10, 3000]))
        if how == "anew":
            path.unlink()
        path.write_bytes(data)

    def step_remove(self):
        path = self.pick(lambda _: True)
        if path is not None:
            remove(path)

    def step_mode(self):
        path = self.pick(lambda path: not path.is_symlink())
        if path is not None:
            modes = [0o755, 0o700, 0o555, 0o1777] if is_directory(path) else [0o644, 0o600, 0o755, 0o4755, 0o2711, 0o400]
            path.chmod(self.rng.choice(modes))

    def step_time(self):
        path = self.pick(lambda _: True)
        if path is not None:
            self.set_time(path)

    def step_xattr(self):
        path = self.pick(lambda path: is_file(path) or is_directory(path))
        if path is None:
            return
        name = self.rng.choice(["user.one", "user.two"])
        if name in os.listxattr(path) and self.rng.random() < 0.5:
            os.removexattr(path, name)
        else:
            os.setxattr(path, name, self.rng.randbytes(self.rng.choice([0, 1, 60])))

    def step_acl(self):
        path = self.pick(lambda path: is_file(path) or is_directory(path))
        if path is None:
            return
        lines = [(0x01, 6, 0xFFFFFFFF), (0x02, self.rng.choice([4, 6]), self.rng.choice([1, 1234])),
                 (0x04, 4, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)]
        raw = (2).to_bytes(4, "little")
        for tag, permissions, who in lines:
            raw += tag.to_bytes(2, "little") + permissions.to_bytes(2, "little") + who.to_bytes(4, "little")
        os.setxattr(path, "system.posix_acl_access", raw)

    def step_owner(self):
        path = self.pick(lambda _: True)
        if path is not None and is_root:
            os.chown(path, self.rng.choice([0, 1, 1234]), self.rng.choice([0, 1, 4321]), follow_symlinks=False)

    def step_rename(self):
        path = self.pick(lambda _: True)
        to = self.somewhere()
        if path is None or to == path or path in to.parents or to in path.parents:
            return
        if os.path.lexists(to):
            remove(to)
        path.rename(to)

    def step_case(self):
        path = self.pick(lambda path: path.name.swapcase() != path.name)
        if path is not None and not os.path.lexists(path.with_name(path.name.swapcase())):
            path.rename(path.with_name(path.name.swapcase()))

    def step_link(self):
        path = self.pick(is_file)
        to = self.somewhere()
        if path is None or to == path or to in path.parents:
            return
        if os.path.lexists(to):
            remove(to)
        os.link(path, to)


def is_file(path: Path) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def looks(path: Path) -> tuple[int, int]:
    facts = os.lstat(path)
    return facts.st_size, facts.st_mtime_ns


def is_directory(path: Path) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def remove(path: Path):
    if is_directory(path):
        shutil.rmtree(path)
    else:
        path.unlink()
