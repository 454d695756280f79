"""The page that a point's processes share with the campaign (fault.c): the order to do harm, and the counts of calls."""

import mmap
import os
import struct
from pathlib import Path

CALLS, NAME_BYTES = 96, 24
ROLES = ("near", "source", "target", "local agent")
ACTIONS = ("nothing", "error", "short", "signal", "cut", "stall", "flip", "slow")
ORDER = struct.Struct(f"{NAME_BYTES}siiqqii")
OUTCOME = struct.Struct("4I")
NAMES_AT = ORDER.size + OUTCOME.size
COUNTS_AT = NAMES_AT + CALLS * NAME_BYTES
SIZE = COUNTS_AT + len(ROLES) * CALLS * 8


class Page:
    """Made anew, without an order, at `path`."""

    def __init__(self, path: Path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(SIZE)
            self.memory = mmap.mmap(file.fileno(), SIZE)

    def order(self, role: str, call: str, action: str, nth: int, times: int, error: int, haste: int = 1):
        """Wipes what was counted. nth: at which call; 0: at the next ones, once the order is there. haste:
        so many times faster than the world's is the clock of all processes."""
        self.memory[:] = bytes(SIZE)
        self.order_now(role, call, action, nth, times, error, haste)

    def order_now(self, role: str, call: str, action: str, nth: int, times: int, error: int, haste: int = 1):
        """The same while processes run, which go on counting."""
        self.memory[:ORDER.size] = ORDER.pack(call.encode(), ROLES.index(role), ACTIONS.index(action), nth, times, error, haste)

    def no_order(self):
        self.memory[:] = bytes(SIZE)

    def outcome(self) -> tuple[int, int, int, int]:
        """fired, by which process, the signal by which one of them crashed (0: none did), the number of its role."""
        return OUTCOME.unpack_from(self.memory, ORDER.size)

    def counts(self) -> dict[tuple[str, str], int]:
        """How often each role made each call; "any" is all of its calls."""
        names = [self.memory[NAMES_AT + i * NAME_BYTES:NAMES_AT + (i + 1) * NAME_BYTES].rstrip(b"\0").decode()
                 for i in range(CALLS)]
        numbers = struct.unpack_from(f"{len(ROLES) * CALLS}Q", self.memory, COUNTS_AT)
        return {(role, names[i]): numbers[r * CALLS + i]
                for r, role in enumerate(ROLES) for i in range(CALLS) if names[i] and numbers[r * CALLS + i]}

    def close(self):
        self.memory.close()
        os.unlink(self.path)
