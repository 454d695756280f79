"""What DST may be at each moment. Knows three trees (as snapshot.py has them): `old`, which was there before the run;
`final`, which the command promises; `found`, which is there now. Judges the last by the first two, and knows nothing of
the fault that came between."""

import re
from dataclasses import dataclass, fields, replace

from snapshot import Facts, differences

# What rdcp calls its own (tree/fs/own_names.h).
OWN_NAME = re.compile(rb"\.rdcp-[0-9a-f]{32}\.(part|journal|run)|\..*\.rdcp-[0-9a-f]{8}", re.DOTALL)
METADATA = ("mode", "uid", "gid", "mtime_ns", "xattrs")
# A number of names for one inode is right only when all of them are there.
NOT_YET = ("linked_with",)
# What a warning "not kept: ..." says, and which facts may then differ (a lost owner costs the set-id bits, too).
LOSSES = {"owner or group": ("uid", "gid", "mode"), "setuid and setgid bits": ("mode",), "extended attribute": ("xattrs",),
          "access control list": ("xattrs", "mode"), "ACL": ("xattrs", "mode"), "modification times": ("mtime_ns",)}
LOST_DEVICES = "device nodes"
# A failure of a file that is there: all of it that could be kept is. Names with odd bytes are printed in another way.
FAILED_TO_KEEP = re.compile(r"(?:keep the|list|get|read the) (.+?) of (/.+?)(?:: [^:]+)?$", re.MULTILINE)
NOT_KEPT = re.compile(r"warning: not kept: (.*) \(\d+ entr")


@dataclass
class Rules:
    """What kind of command it was."""
    deletes: bool = False   # --delete
    in_place: bool = False  # --inplace: a file that was there may be a mixture
    holes_hidden: bool = False  # SRC could not say where its holes are, so that they were read as zeros
    xattrs_hidden: bool = False  # SRC said that it has none
    content_only: bool = False  # a stream to a file: its mode and times are those of any new file


def is_own_name(path: bytes) -> bool:
    return OWN_NAME.fullmatch(path.rpartition(b"/")[2]) is not None


def litter_in(old: dict, final: dict, found: dict) -> list[bytes]:
    """Names of rdcp's own that nobody but it can have made."""
    return [path for path in sorted(found) if is_own_name(path) and path not in old and path not in final]


def differing(one: Facts, other: Facts, leaving_out=NOT_YET) -> list[str]:
    return [field.name for field in fields(Facts) if field.name not in ("blocks", *leaving_out)
            and getattr(one, field.name) != getattr(other, field.name)]


def judge_unfinished(old: dict, final: dict, found: dict, rules: Rules, err: str = "") -> list[str]:
    """After a run that did not end with 0. Each name is old, intact, or new, whole; nothing else is there. Of what stderr
    names, that metadata may be missing which it says could not be kept."""
    complaints = []
    told = with_what_was_told(final, found, err)
    own = set(litter_in(old, final, found))
    for path in sorted((old.keys() | final.keys() | found.keys()) - own):
        was, will, now = old.get(path), final.get(path), found.get(path)
        if any(beneath(path, name) for name in own):
            continue
        if was is None and will is None:
            complaints.append(f"{path!r} appeared: {now}")
        elif now is None:
            if was is not None and (will is not None or not rules.deletes):
                complaints.append(f"{path!r} was lost: it was {was}, and should become {will}")
        elif (problem := problem_with(was, will, now, rules)) and problem_with(was, will, told[path], rules):
            complaints.append(f"{path!r} {problem}")
    return complaints + deleted_too_early(old, final, found)


def with_what_was_told(final: dict, found: dict, err: str) -> dict:
    """The tree as it would be if what stderr says about metadata, at either side, were not so."""
    mended = dict(found)
    for what, subject in FAILED_TO_KEEP.findall(err):
        lost = [fact for kind, facts in LOSSES.items() if kind in what for fact in facts]
        for path, facts in found.items():
            printed = path.decode(errors="replace")
            if subject.endswith("/" + printed) or not printed.isprintable():
                for name in {path, *facts.linked_with} & final.keys() & found.keys():  # all names of that inode
                    mended[name] = replace(mended[name], **{fact: getattr(final[name], fact) for fact in lost})
    return mended


def beneath(path: bytes, folder: bytes) -> bool:
    return path.startswith(folder + b"/")


def problem_with(was: Facts | None, will: Facts | None, now: Facts, rules: Rules) -> str:
    """Nothing: it may be there as it is."""
    candidates = [one for one in (was, will) if one is not None]
    if any(not differing(one, now) for one in candidates):
        return ""
    if now.type == "directory" and any(one.type == "directory" for one in candidates):
        return ""  # its mode and times change while it is worked in
    if will is None:
        return f"is an extra and was changed: {differing(was, now)}; was {was}, is {now}"
    if rules.content_only and has_content_of(will, now):
        return ""
    if was is not None and has_content_of(was, will) and has_content_of(was, now):
        if rules.in_place and now.type == "file":  # it may have been written to, with what was there
            now = replace(now, mtime_ns=will.mtime_ns)
        return mixed_metadata(was, will, now)
    if now.type == "file":
        return problem_with_file(was, will, now, rules)
    if now.type == will.type and (now.link_target, now.device) == (will.link_target, will.device):
        return ""  # neither has a content that could be torn; its metadata may be still to come
    return f"is neither old nor new: {now}; old {was}, new {will}"


def problem_with_file(was: Facts | None, will: Facts, now: Facts, rules: Rules) -> str:
    if rules.in_place and was is not None and was.type == "file":
        return ""
    if has_content_of(will, now):
        return f"is whole, but lacks metadata: {differing(will, now)}; {now}, should be {will}"
    return f"is torn: {now}; old {was}, new {will}"


def has_content_of(one: Facts, other: Facts) -> bool:
    return all(getattr(one, name) == getattr(other, name)
               for name in ("type", "size", "content", "link_target", "device"))


def mixed_metadata(was: Facts, will: Facts, now: Facts) -> str:
    """Where only metadata is to change, it changes piece by piece in the same inode."""
    wrong = [name for name in METADATA if getattr(now, name) not in (getattr(was, name), getattr(will, name))]
    # Access lists and a mode are one thing: between their changes either may be seen with the other's bits.
    if set(wrong) <= {"xattrs", "mode"} and (was.xattrs or will.xattrs):
        return ""
    return f"has metadata that is neither old nor new: {wrong}; {now}, old {was}, new {will}" if wrong else ""


def deleted_too_early(old: dict, final: dict, found: dict) -> list[str]:
    """An extra may go only when all that SRC has is there."""
    gone = [path for path in old if path not in final and path not in found]
    missing = [path for path, will in final.items() if will.type != "directory"
               and (path not in found or not has_content_of(will, found[path]))]
    if gone and missing:
        return [f"{gone[0]!r} was removed although {missing[0]!r} is not there yet"]
    return []


def judge_success(final: dict, found: dict, err: str, rules: Rules, loss_allowed: bool) -> list[str]:
    """After exit 0: all is there, except for what a warning said, where the fault is one that loses metadata."""
    ignore, without_devices = set(), False
    if loss_allowed:
        for loss in NOT_KEPT.findall(err):
            without_devices = without_devices or LOST_DEVICES in loss
            ignore |= {name for kind, names in LOSSES.items() if kind in loss for name in names}
    if rules.content_only:
        ignore |= {"mode", "mtime_ns", "holes"}
    if rules.in_place or rules.holes_hidden:  # in place, what are zeros already is left alone
        ignore.add("holes")
        found = {path: replace(facts, blocks=0) for path, facts in found.items()}
    if rules.xattrs_hidden:
        ignore.add("xattrs")
    if without_devices:
        nodes = {path for path, facts in final.items() if "device" in facts.type}  # what is in the way of one stays
        final, found = ({path: facts for path, facts in tree.items() if path not in nodes} for tree in (final, found))
    return differences(final, found, tuple(ignore))


def judge_stderr(status: int, err: str, names: list[str]) -> list[str]:
    """Status 1 means that something could not be read or written, or that something did not suffice: it is named, with the
    cause. names: by which it may be recognized."""
    lines = [line for line in err.splitlines() if line.strip()]
    if status > 0 and not lines:
        return [f"exit {status} without a word on stderr"]
    names = [*names, "look up user ", "look up group ", "rdcp/options", "rdcp/config"]  # owners and settings are named, too
    if status == 1 and not any(": " in line and any(name in line for name in names) for line in lines):
        return [f"exit 1, and no line of stderr names a path with its cause: {err!r}"]
    return []
