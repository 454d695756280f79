"""What may go wrong, and what rdcp may say then. Drawn by a seed from what a dry run counted."""

import errno
import random
import signal
from dataclasses import dataclass

OK, FILES, USAGE, HOST, DATA, DIGEST = range(6)
FOR_EVER = -1

# What each call may plausibly say.
ERRORS = {
    "fstat": "EIO ESTALE ENOMEM", "fstatat": "EIO ESTALE EACCES ENOMEM", "stat": "EIO EACCES", "statx": "EIO ENOSYS EPERM",
    "read": "EIO EINTR ESTALE", "pread": "EIO EINTR ESTALE", "pwrite": "EIO ENOSPC EDQUOT EFBIG EINTR",
    "write": "EIO ENOSPC EDQUOT EINTR", "pwritev2": "EIO ENOSPC EDQUOT EOPNOTSUPP",
    "ftruncate": "EIO ENOSPC EDQUOT EFBIG EINTR",
    "unlinkat": "EIO EACCES EPERM EROFS EBUSY", "mkdirat": "ENOSPC EDQUOT EACCES EROFS EIO EMLINK ENOMEM",
    "symlinkat": "ENOSPC EDQUOT EACCES EROFS EIO", "mknodat": "ENOSPC EDQUOT EPERM EROFS EIO",
    "linkat": "ENOSPC EDQUOT EPERM EMLINK EROFS EIO EACCES", "renameat": "ENOSPC EDQUOT EACCES EPERM EROFS ESTALE EIO",
    "renameat2": "ENOSPC EDQUOT EACCES EPERM EROFS ESTALE EIO", "fchmod": "EIO EPERM EROFS ENOSPC",
    "fchmodat": "EIO EPERM EROFS",
    "fchownat": "EPERM EIO EDQUOT EROFS", "futimens": "EIO EPERM EROFS", "utimensat": "EIO EPERM EROFS",
    "fsetxattr": "ENOSPC EDQUOT EOPNOTSUPP EPERM EIO", "fremovexattr": "EIO ENOSPC EPERM",
    "flistxattr": "EIO EOPNOTSUPP ESTALE",
    "fgetxattr": "EIO ESTALE", "fsync": "EIO ENOSPC EDQUOT", "fdatasync": "EIO ENOSPC EDQUOT", "syncfs": "EIO ENOSPC EDQUOT",
    "flock": "ENOLCK", "fallocate": "ENOSPC EDQUOT EOPNOTSUPP EIO EFBIG EINTR",
    "close": "EIO ENOSPC EDQUOT EINTR", "open": "EMFILE ENFILE ENOMEM EACCES EIO EINTR",
    "openat": "EMFILE ENFILE ENOMEM EACCES EPERM EIO ESTALE ENOSPC EDQUOT EROFS EINTR",
    "openat2": "EMFILE ENFILE ENOMEM EACCES EPERM EIO ESTALE ENOSPC EDQUOT EROFS EINTR EAGAIN",
    "readdir": "EIO ESTALE ENOMEM", "getdents64": "EIO ESTALE ENOMEM", "readlinkat": "EIO ESTALE EACCES",
    "ficlonerange": "EOPNOTSUPP EXDEV EIO ENOSPC EDQUOT EINVAL",
    "copy_file_range": "EOPNOTSUPP EXDEV EIO ENOSPC EDQUOT EINVAL EINTR",
    "thread": "EAGAIN ENOMEM", "pipe2": "EMFILE ENFILE", "eventfd": "EMFILE ENFILE ENOMEM", "epoll_create1": "EMFILE ENOMEM",
    "signalfd": "EMFILE ENFILE",
    "socket": "EMFILE ENFILE ENOBUFS EACCES", "socketpair": "EMFILE ENFILE ENOBUFS", "mmap": "ENOMEM",
    "sendmsg": "ECONNRESET EPIPE ENOBUFS ENOMEM EINTR EAGAIN ETIMEDOUT EHOSTUNREACH",
    "send": "ECONNRESET EPIPE ENOBUFS EINTR EAGAIN", "recvmsg": "ECONNRESET ENOMEM EINTR EAGAIN ETIMEDOUT EHOSTUNREACH",
    "accept4": "EMFILE ENFILE ECONNABORTED EINTR EAGAIN", "connect": "ECONNREFUSED ETIMEDOUT ENETUNREACH EADDRNOTAVAIL",
    "bind": "EADDRINUSE EACCES", "listen": "EADDRINUSE", "setsockopt": "ENOPROTOOPT ENOMEM", "getsockopt": "ENOBUFS",
    "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM", "fork": "EAGAIN ENOMEM",
    "completion": "EIO ENOSPC EDQUOT ECANCELED EINTR EAGAIN ESTALE", "uring_init": "ENOMEM EPERM ENOSYS EMFILE",
    "uring_buffers": "ENOMEM EOPNOTSUPP", "uring_files": "ENOMEM EMFILE", "uring_submit": "EINTR EAGAIN EBUSY",
    "lseek": "EIO EINVAL ESTALE", "llistxattr": "EIO ESTALE EOPNOTSUPP", "getxattr": "EIO ESTALE",
    "setxattr": "EIO ENOSPC EPERM", "removexattr": "EIO EPERM", "chmod": "EIO EPERM", "timerfd": "EMFILE ENFILE",
    "fstatfs": "EIO ENOSYS", "getrandom": "EINTR ENOSYS", "sync_file_range": "EIO ENOSPC",
}
PASSING = ("EINTR", "EAGAIN", "EBUSY", "EWOULDBLOCK")  # nobody may be told so for ever
TRANSFERS = ("read", "pread", "pwrite", "write", "copy_file_range", "completion")
# What nobody may notice: calls that are made again, and what a kernel or a file system need not have.
HARMLESS = {
    **{call: "EINTR EAGAIN" for call in ("read", "pread", "pwrite", "write", "sendmsg", "recvmsg", "completion", "poll",
                                         "ppoll", "accept4", "uring_submit")},
    "send": "EINTR",  # for EAGAIN is what a blocking socket says when its time is over
    "ficlonerange": "EOPNOTSUPP EXDEV EINVAL", "copy_file_range": "EOPNOTSUPP EXDEV EINVAL EINTR",
    "fallocate": "EOPNOTSUPP EINTR", "ftruncate": "EINTR", "flock": "ENOLCK", "statx": "ENOSYS EPERM",
    "openat2": "EAGAIN",
    "uring_init": ERRORS["uring_init"], "uring_buffers": ERRORS["uring_buffers"], "uring_files": ERRORS["uring_files"],
    "uring_submit": ERRORS["uring_submit"],
}
# These are made on what is copied and on where it goes to: a failure is one of a file, and ends no connection.
ON_FILES = ("pread", "pwrite", "pwritev2", "ftruncate", "unlinkat", "mkdirat", "symlinkat", "mknodat", "linkat", "renameat",
            "renameat2", "fchmod", "fchmodat", "fchownat", "futimens", "utimensat", "fsetxattr", "fremovexattr", "flistxattr",
            "fgetxattr", "fsync", "fdatasync", "syncfs", "flock", "fallocate", "openat2", "readdir", "getdents64", "readlinkat",
            "ficlonerange", "copy_file_range", "completion", "lseek", "llistxattr", "getxattr", "setxattr", "removexattr")
SIGNALS = {signal.SIGKILL: 5, signal.SIGTERM: 3, signal.SIGINT: 2, signal.SIGHUP: 1, signal.SIGSTOP: 2}
# These may cost metadata, which a warning says then; other errors are failures of the file.
LOSING_CALLS = ("fchownat", "fsetxattr", "fremovexattr", "flistxattr", "fgetxattr", "futimens", "utimensat", "mknodat", "fchmod",
                "llistxattr", "getxattr", "setxattr", "removexattr", "chmod", "fchmodat")

FAMILIES = {"signal": 22, "error": 55, "short": 7, "cut": 6, "flip": 4, "stall": 1, "stop": 1, "limit": 5, "full": 4}
# Of the clock, where somebody must wait for a limit: the longest (25 s) is over in 2.5 s. A quicker one makes a machine that
# is busy miss the shortest (10 s for a handshake).
HASTE = 10
# Of prlimit(1), and what is drawn from.
LIMITS = {"nofile": (6, 80), "fsize": (0, 700_000), "as": (40_000_000, 1_500_000_000), "memlock": (0, 1_000_000),
          "stack": (100_000, 4_000_000)}


@dataclass
class Fault:
    family: str
    role: str
    call: str
    action: str
    nth: int
    times: int = 1
    error: int = 0    # or the signal, or which byte
    # "limit": call is the resource, nth its limit. "full": call is "size" or "nr_inodes", nth what is free at first.

    @property
    def kind(self) -> str:
        """For the table at the end."""
        if self.family == "stop":
            return f"{self.role} stopped for good"
        if self.family in ("limit", "full"):
            return f"{self.family}: {self.call}"
        if self.action == "signal":
            return f"{signal.Signals(self.error).name} to {self.role}"
        return f"{self.action} in {self.call}"

    @property
    def haste(self) -> int:
        return HASTE if self.family in ("stall", "stop") else 1

    @property
    def is_in_calls(self) -> bool:
        """The preloaded library does it."""
        return self.family not in ("limit", "full")

    @property
    def limits_the_command(self) -> bool:
        """What the user starts has the limit from its first moment on, for the agent in it has no other."""
        return self.family == "limit" and self.role in ("near", "local agent")

    @property
    def hides_holes(self) -> bool:
        return self.call == "lseek"

    @property
    def loses_metadata(self) -> bool:
        return self.action == "error" and self.call in LOSING_CALLS

    def __str__(self):
        if not self.is_in_calls:
            return f"{self.family}: {self.call} {self.nth} in {self.role}"
        what = {"error": errno.errorcode.get(self.error, ""), "signal": signal.Signals(self.error).name
                if self.action == "signal" else ""}.get(self.action, "")
        often = "" if self.times == 1 else " and ever after" if self.times == FOR_EVER else f" and {self.times - 1} more"
        what += " for good" if self.family == "stop" else ""
        return f"{self.action} {what} at call {self.nth} of {self.call}{often} in {self.role}".replace("  ", " ")

    @property
    def is_harmless(self) -> bool:
        is_named = self.action == "error" and errno.errorcode[self.error] in harmless_errors(self.call)
        return is_named or self.action == "short"

    @property
    def leaves_own_names(self) -> bool:
        """What rdcp cannot remove stays, for --clean to find."""
        return self.action == "error" and self.call == "unlinkat"

    def hides_xattrs(self, source_roles: tuple) -> bool:
        """The source seems to have none."""
        return (self.action == "error" and self.role in source_roles and self.call in ("flistxattr", "llistxattr")
                and self.error == errno.EOPNOTSUPP)

    def statuses(self, usual: int, is_stream: bool) -> set[int]:
        """What the program that the user started may end with. usual: what it ends with if nothing goes wrong. is_stream:
        what goes wrong at one end is a stream that was cut short at the other."""
        if self.is_harmless:
            return {usual}
        if not is_stream and (self.family == "full" or (self.action == "error" and self.call in ON_FILES)):
            return {usual, FILES, DATA} if self.call == "completion" else {usual, FILES}  # it may be one of a stream
        if self.action == "signal" and self.role == "near":
            number = self.error
            ended = {-number, 128 + number}
            if number == signal.SIGSTOP:  # for good: the others have ended, perhaps before the first word with them
                ended = {HOST, DATA} if self.family == "stop" else set()
            return {usual} | ended if number != signal.SIGKILL else {-number}
        if self.limits_the_command:  # 127: of the loader, which found no room for a library
            return {usual, FILES, HOST, DATA, 127, -signal.SIGKILL, -signal.SIGSEGV}
        if self.action == "flip":
            return {usual, FILES, HOST, DATA, DIGEST}
        return {usual, FILES, HOST, DATA}


def harmless_errors(call: str) -> set[str]:
    """As errno.errorcode has them; some have two names."""
    return {errno.errorcode[getattr(errno, name)] for name in HARMLESS.get(call, "").split()}


def draw_fault(chance: random.Random, counts: dict, has_pipes: bool, families: tuple = tuple(FAMILIES)) -> Fault:
    roles = sorted({role for role, _ in counts})
    while True:
        family = chance.choices(families, [FAMILIES[name] for name in families])[0]
        role, place = chance.choice(roles), chance.random()
        calls = sorted(call for of, call in counts if of == role)
        fault = None
        if family == "limit":
            call = chance.choice(sorted(LIMITS))
            return Fault(family, role, call, "nothing", chance.randrange(*LIMITS[call]))
        if family == "full":
            call = chance.choice(("size", "size", "nr_inodes"))
            free = int(chance.choice((2 << 20, 200_000)) * place) if call == "size" else int(60 * place)
            return Fault(family, "target", call, "nothing", free)
        if family == "stop":
            fault = Fault(family, role, "any", "signal", 0, 1, int(signal.SIGSTOP))
        elif family == "signal":
            number = chance.choices(list(SIGNALS), list(SIGNALS.values()))[0]
            fault = Fault(family, role, "any", "signal", 0, 1, int(number))
        elif family == "error":
            if calls := [call for call in calls if call in ERRORS]:
                fault = draw_error(chance, role, chance.choice(calls), has_pipes)
        elif family == "short":
            # What a pipe took cannot be taken back, so a completion that says less than is true would be a lie.
            usable = [call for call in calls if call in TRANSFERS and not (has_pipes and call == "completion")]
            if usable:
                fault = Fault(family, role, chance.choice(usable), "short", 0, chance.choice((1, 1, 5)))
        elif usable := [call for call in calls if call in ("sendmsg", "recvmsg")]:
            call = "sendmsg" if family == "flip" else chance.choice(usable)
            if (role, call) in counts:
                fault = Fault(family, role, call, family, 0, 1, chance.randrange(1 << 20))
        if fault:
            fault.nth = 1 + int(place * counts[role, fault.call])
            return fault


def draw_error(chance: random.Random, role: str, call: str, has_pipes: bool) -> Fault:
    names = ERRORS[call].split()
    if has_pipes and call == "completion":  # it would be made again, and the pipe's bytes are gone: no kernel says so
        names = [name for name in names if name not in (*PASSING, "ECANCELED")]
    name = chance.choice(names)
    times = chance.choice((1, 1, 3)) if name in PASSING else chance.choice((1, 1, FOR_EVER))
    return Fault("error", role, call, "error", 0, times, getattr(errno, name))
