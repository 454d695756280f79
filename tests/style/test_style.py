"""Facts about the sources that a reader relies on."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
ROOM_FILES_MOST = 25
LARGER_ROOMS = {"io": "one thought, the ring and what it needs, without a wall to put in it"}

# Files that may be longer than LINES_MOST (sources) or HEADER_LINES_MOST (headers), each with its reason.
LINES_MOST = 400
HEADER_LINES_MOST = 150
LONGER = {
    "src/io/ring.h": "the ring's whole interface with its awaitables; half of it is comments",
    "src/net/stream/stream.h": "the stream's whole interface with its accounts; half of it is comments",
}
# System calls whose failure makes something else than was wanted.
CALLS_THAT_ANSWER = (
    "dup2?", "eventfd_(?:read|write)", "fallocate", "fchmod(?:at)?", "fchown(?:at)?", "fcntl", "fdatasync", "flock",
    "fstat(?:at)?", "fsync", "ftruncate", "futimens", "getpeername", "getrlimit", "getsockname", "getsockopt", "ioctl",
    "link(?:at)?", "lseek", "mkdir(?:at)?", "mkfifoat", "mknodat", "p?read", "p?write", "p?writev", "rename(?:at2?)?",
    "rmdir", "setrlimit", "setsockopt", "symlinkat", "syncfs", "unlink(?:at)?", "utimensat")
# Words of our own that stood for what has a name in this field, or an ordinary one.
OTHER_WORDS = {
    "unheard": "reply cache", "given_back": "retransmit queue", "crew": "stream supervisor",
    "asker": "compare requester", "pacer": "rate limiter", "old_file": "basis file", "like_files": "basis candidates",
    "envelope": "record layer", "link_watch": "compression controller", "dial": "connect attempt",
    "agent_place": "agent config", "held_path": "directory cursor"}
# Beginnings of a comment that answer a question which nobody has asked.
ANSWERS = re.compile(r"(?:Of|What) |(?:None|True|False):")
FUNCTION_LINES_MOST = 60
PARAMETERS_MOST = 5
COLLABORATORS_MOST = 12
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}


def files(*patterns: str) -> list[Path]:
    found = []
    for folder, folders, names in os.walk(REPO):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("build")]
        found += [Path(folder, name) for name in names if any(Path(name).match(pattern) for pattern in patterns)]
    return sorted(found)


def name_of(path: Path) -> str:
    return str(path.relative_to(REPO))


def sources(*tops: str) -> list[Path]:
    return [path for path in files("*.cpp", "*.h") if name_of(path).split("/")[0] in (tops or ("src", "tests"))]


def shell_scripts() -> list[Path]:
    found = []
    for path in files("*"):
        if path.suffix == ".sh":
            found.append(path)
        elif not path.suffix and path.is_file() and os.access(path, os.X_OK):
            with open(path, "rb") as file:
                if re.match(rb"#!.*\b(ba)?sh\b", file.readline()):
                    found.append(path)
    return found


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def rooms() -> dict[str, list[str]]:
    """The rooms of src in their order, each with those that it may include: the table in CMakeLists.txt."""
    found = {}
    for room, rest in re.findall(r"^rdcp_room\((\S+)([^)]*)\)", (REPO / "CMakeLists.txt").read_text(), re.MULTILINE):
        uses = re.search(r"USES(.*?)(?:WITHOUT|PACKAGES|$)", rest, re.DOTALL)
        found[room] = uses[1].split() if uses else []
    return found


def includes(path: Path) -> list[str]:
    """What a source includes of ours, as it names it."""
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)


def comments_of(path: Path) -> list[tuple[int, str]]:
    """The comments on lines of their own, each with the number of its first line, joined to one line."""
    found, inside = [], False
    for number, line in enumerate(lines_of(path), 1):
        comment = re.match(r"\s*//+ ?(.*)", line)
        if comment and inside:
            found[-1] = (found[-1][0], f"{found[-1][1]} {comment[1]}")
        elif comment:
            found.append((number, comment[1]))
        inside = bool(comment)
    return found


def matches(paths: list[Path], pattern: str) -> list[str]:
    expression = re.compile(pattern)
    return [f"{name_of(path)}:{number}: {line.strip()}" for path in paths
            for number, line in enumerate(lines_of(path), 1) if expression.search(line)]


class Style(unittest.TestCase):
    def assert_none(self, findings: list[str], what: str):
        self.assertFalse(findings, f"{what}:\n" + "\n".join(findings))

    def test_there_is_something_to_look_at(self):
        self.assertGreater(len(sources("src")), 20)
        self.assertGreater(len(shell_scripts()), 2)

    def test_includes_point_down(self):
        """A room includes itself and the rooms that CMakeLists.txt says it uses, which stand before it."""
        uses = rooms()
        order = list(uses)
        findings = []
        for room, used in uses.items():
            findings += [f"{room} uses {other}, which does not stand before it" for other in used
                         if other not in order or order.index(other) >= order.index(room)]
        included = {room: set() for room in uses}
        for path in sources("src"):
            room = name_of(path.parent).removeprefix("src/")
            if room not in uses and room != "cli":  # src/cli itself has the four programs
                findings.append(f"{name_of(path)} is in no room")
                continue
            for other in includes(path):
                included.get(room, set()).add(str(Path(other).parent))
                if room in uses and str(Path(other).parent) not in {room, *uses[room]}:
                    findings.append(f"{name_of(path)} includes {other}")
        for room, used in uses.items():
            findings += [f"{room} uses {other}, but includes nothing of it" for other in used
                         if other not in included[room]]
        self.assert_none(findings, "against the table of the rooms in CMakeLists.txt")

    def test_no_header_includes_itself(self):
        included = {name_of(path): [f"src/{name}" for name in includes(path)] for path in sources("src")}
        done, circles = set(), []

        def follow(name: str, way: list[str]):
            if name in way:
                circles.append(" -> ".join([*way[way.index(name):], name]))
            elif name not in done:
                done.add(name)
                for other in included.get(name, []):
                    follow(other, [*way, name])

        for name in included:
            follow(name, [])
        self.assert_none(circles, "circles of includes")

    def test_classes_have_few_collaborators(self):
        """Of a header with its source: the other headers whose types it names. Not io's, which is beneath all, nor
        messages', which are only data. A name that several headers define tells nothing."""
        without_text = re.compile(r'//[^\n]*|^\s*#[^\n]*|"(?:\\\\.|[^"\\\\\n])*"', re.MULTILINE)
        code = {name_of(path): without_text.sub("", path.read_text(encoding="utf-8")) for path in sources("src")}
        headers = [name for name in code if name.endswith(".h")]
        defined = {}
        for name in headers:
            for type_name in re.findall(r"^(?:class|struct|enum class|using)\s+(\w+)\b(?!\s*;)", code[name], re.MULTILINE):
                defined.setdefault(type_name, set()).add(name)
        homes = {type_name: min(names) for type_name, names in defined.items() if len(names) == 1}
        self.assertGreater(len(homes), 300)
        findings = []
        for name in headers:
            used = set(re.findall(r"\w+", code[name] + code.get(name.removesuffix(".h") + ".cpp", "")))
            others = {homes[word] for word in used & homes.keys()} - {name}
            no_others = ["src/io/", "src/tree/messages/"] + ["src/cli/"] * (not name.startswith("src/cli/"))
            others = {other for other in others if not other.startswith(tuple(no_others))}
            if len(others) > COLLABORATORS_MOST:
                findings.append(f"{name}: {len(others)}: {' '.join(sorted(others))}")
        self.assert_none(findings, f"more than {COLLABORATORS_MOST} others")

    def test_rooms_are_small_and_described(self):
        text = "\n".join(lines_of(REPO / "ARCHITECTURE.md"))
        findings = []
        for room in rooms():
            count = sum(name_of(path.parent) == f"src/{room}" for path in sources("src"))
            if count > ROOM_FILES_MOST and room not in LARGER_ROOMS:
                findings.append(f"{room}: {count} files, {ROOM_FILES_MOST} at most")
            if not re.search(rf"^\| `{room}` \|", text, re.MULTILINE):
                findings.append(f"{room} has no line in ARCHITECTURE.md")
        self.assert_none(findings, "rooms")

    def test_tests_mirror_the_rooms(self):
        whole = {"tests/tree/copy"}  # copies from end to end in one process
        findings = []
        for path in sources("tests"):
            layer, *rest = name_of(path.parent).removeprefix("tests/").split("/")
            if layer in ("io", "net", "tree", "cli") and rest and name_of(path.parent) not in whole:
                if not (REPO / "src" / layer / "/".join(rest)).is_dir():
                    findings.append(name_of(path))
        self.assert_none(findings, "tests in a folder that is no room")

    def test_files_can_be_held_in_the_head(self):
        findings = []
        for path in sources("src"):
            most = HEADER_LINES_MOST if path.suffix == ".h" else LINES_MOST
            count = len(lines_of(path))
            if count > most and name_of(path) not in LONGER:
                findings.append(f"{name_of(path)}: {count} lines, {most} at most")
        self.assert_none(findings, "too long")
        stale = [name for name in LONGER if len(lines_of(REPO / name)) <= HEADER_LINES_MOST]
        self.assert_none(stale, "listed as longer, but they are not")

    def test_functions_fit_a_screen(self):
        findings = []
        for path in sources("src"):
            lines = lines_of(path)
            for first, line in enumerate(lines):
                if not re.match(r"[A-Za-z_]", line) or "(" not in line or line.startswith(("namespace", "constexpr std::array")):
                    continue
                head = next((at for at in range(first, len(lines)) if re.search(r"[{;]\s*(//.*)?$", lines[at])), None)
                if head is None or not lines[head].rstrip().endswith("{"):
                    continue
                end = next(at for at in range(head, len(lines)) if lines[at].startswith("}"))
                if end - first + 1 > FUNCTION_LINES_MOST:
                    findings.append(f"{name_of(path)}:{first + 1}: {end - first + 1} lines")
        self.assert_none(findings, f"functions of more than {FUNCTION_LINES_MOST} lines")

    def test_parameter_lists_are_short(self):
        declaration = re.compile(r"\b([A-Za-z_]\w*)\(((?:[^()]|\([^()]*\))*)\)\s*(?:const\b|override\b|noexcept\b|\s)*[{;:]")
        a_parameter = re.compile(r"^\s*(?:const\s+)?[A-Za-z_][\w:]*(?:<.*>)?(?:\s+const)?\s*[&*]*\s+[&*]*[A-Za-z_]\w*\s*(?:=.*)?$",
                                 re.DOTALL)
        findings = []
        for path in sources("src"):
            text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            for found in declaration.finditer(text):
                depth, parts = 0, [""]
                for letter in found[2]:
                    depth += (letter in "<({[") - (letter in ">)}]")
                    if letter == "," and depth == 0:
                        parts.append("")
                    else:
                        parts[-1] += letter
                if len(parts) > PARAMETERS_MOST and all(a_parameter.match(part) for part in parts):
                    findings.append(f"{name_of(path)}: {found[1]}() has {len(parts)}")
        self.assert_none(findings, f"more than {PARAMETERS_MOST} parameters: some of them belong together")

    def test_comments_say_what_they_are_about(self):
        """No comment, nor a sentence in it, is an answer without its question ("None: nothing is learnt.")."""
        findings = []
        for path in sources("src"):
            for number, text in comments_of(path):
                first, *further = re.split(r"(?<=[.:?!]) +(?=[A-Z])", text)
                answers = ANSWERS.match(first) or any(re.match(r"Of |(?:None|True|False):", said) for said in further)
                if answers:
                    findings.append(f"{name_of(path)}:{number}: {text[:100]}")
        self.assert_none(findings, "begin with a subject and a verb")

    def test_things_have_the_names_of_the_field(self):
        """As a type (OldFile), a name (old_file, old_file_, old_files) or a file; comments are for readers to judge."""
        findings = []
        for word, instead in OTHER_WORDS.items():
            camel = "".join(part.capitalize() for part in word.split("_"))
            name = re.compile(rf"\b(?:{camel}s?|(?:\w+_)?{word}s?_?)\b")
            for path in sources("src"):
                code = [re.sub(r'//.*|"(?:[^"\\]|\\.)*"', "", line) for line in lines_of(path)]
                findings += [f"{name_of(path)}:{number}: {found[0]}: say {instead}" for number, line in enumerate(code, 1)
                             if (found := name.search(line))]
                if re.fullmatch(rf"{word}s?", path.stem):
                    findings.append(f"{name_of(path)}: say {instead}")
        self.assert_none(findings, "words that only this code knows")

    def test_architecture_is_short(self):
        path = REPO / "ARCHITECTURE.md"
        self.assertTrue(path.exists(), "ARCHITECTURE.md is missing")
        self.assertLessEqual(len(lines_of(path)), 200)

    def test_headers_have_their_guard(self):
        findings = [name_of(path) for path in sources() if path.suffix == ".h" and "#pragma once" not in lines_of(path)]
        self.assert_none(findings, "without #pragma once")

    def test_nothing_is_left_for_later(self):
        paths = sources() + files("*.py", "*.sh", "CMakeLists.txt", "*.cmake") + shell_scripts()
        self.assert_none(matches(paths, r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b"), "promises in the code")

    def test_tests_do_not_sleep_and_none_is_switched_off(self):
        unit_tests = [path for path in sources("tests") if "/bench/" not in str(path)]  # a link of a bench takes time
        self.assert_none(matches(unit_tests, r"DISABLE[D]_|\bslee[p]_for\(|\busl[e]ep\("), "in unit tests")

    def test_no_macros_of_our_own(self):
        # Feature tests of libc and of a header must be macros.
        self.assert_none(matches(sources("src"), r"^\s*#\s*define\s+(?!_GNU_SOURCE|XXH_)"), "macros")

    def test_threads_are_started_at_one_place(self):
        paths = [path for path in sources("src") if name_of(path) not in ("src/io/thread.h", "src/io/thread.cpp")]
        self.assert_none(matches(paths, r"std::j?thread\b|std::async\b|pthread_create"),
                         "threads whose start may throw: io::Thread::start() tells an error")

    def test_no_answer_of_a_system_call_is_dropped(self):
        """A statement that is such a call alone: its answer is looked at, or dropped by (void), with the reason."""
        calls = "|".join(CALLS_THAT_ANSWER)
        statement = re.compile(rf"(?:[;{{}}]|\bcase [\w:]+:|\bdefault:|\belse|(?<!\(void)\))\s*::({calls})\(")
        findings = []
        for path in sources("src"):
            text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            findings += [f"{name_of(path)}:{text.count(chr(10), 0, found.start(1)) + 1}: ::{found[1]}"
                         for found in statement.finditer(text)]
        self.assert_none(findings, "answers that nobody looks at")

    def test_names_go_only_with_a_permit(self):
        """What removes a name, or puts something in its place, asks for a RemovalPermit or for a name of rdcp's own."""
        door = "src/tree/fs/removal_permit.cpp"
        calls = r"(?<!\w)::(unlink(at)?|rmdir|rename(at2?)?)\(|\b(std|fs|filesystem)::(remove(?!_pointer)|rename)"
        allowed = [
            # Two names are exchanged by one call, by what has asked the removal gate for all that goes with one of them.
            ("src/tree/mirror/make_way.cpp", "::renameat2(directory, from.c_str(), directory, to.c_str(), flags)"),
            # --remove-source-files asks for this, and the target has just taken what goes.
            ("src/tree/source/source_remover.cpp", "::unlinkat(directory, name, 0)"),
            # The same process has made this directory, for one socket and beside no tree.
            ("src/cli/launch/shared_session.cpp", "std::filesystem::remove_all(directory_, ignored)"),
            # An empty directory of that kind, which a run that was killed has left there.
            ("src/cli/launch/shared_session.cpp", "::rmdir(path.c_str())")]
        found = [line for line in matches([path for path in sources("src") if name_of(path) != door], calls)
                 if not any(line.startswith(file) and call in line for file, call in allowed)]
        self.assert_none(found, "removes or replaces past the one door")

    def test_names_from_the_wire_become_paths_at_one_place(self):
        """EntryPath::of_own() is for rooms that no peer's name comes into: what walks this host's own tree."""
        own = ("src/tree/meta/", "src/tree/plan/", "src/tree/walk/", "src/tree/check/")
        paths = [path for path in sources("src") if not name_of(path).startswith(own)]
        self.assert_none(matches(paths, r"\bof_own\("), "paths that AdmittedNames has not admitted")

    def test_outputs_are_written_at_one_place(self):
        self.assert_none(matches(sources("src"), r"\b(std::)?(fputs|fwrite|fprintf|puts|printf|fflush)\(|std::c(out|err)\b"),
                         "not by write_all(), which waits where the descriptor does not")

    def test_one_place_writes_to_the_terminal(self):
        gate = ("src/cli/text/output.cpp", "src/cli/text/output.h", "src/cli/agents/delivery.cpp",
                "src/cli/serve/bridge_end.cpp")  # the last two to pipes
        paths = [path for path in sources("src") if name_of(path).startswith("src/cli/") and name_of(path) not in gate]
        # Two pipes of our own are written by write(2): what a child could not do, and what ends a hop.
        self.assert_none(matches(paths, r"\bwrite_all\(|fmt::print\b|\bdprintf\(|::write\((?!errors,|stop_write_)|\bperror\("),
                         "past the gate that escapes what a peer said")

    def test_the_build_downloads_nothing(self):
        paths = files("CMakeLists.txt", "*.cmake", "CMakePresets.json", "*.sh") + shell_scripts()
        downloads = r"Fetch[C]ontent|External[P]roject|\bcu[r]l\b|\bwge[t]\b|git[ ]clone .*://"
        self.assert_none(matches(paths, downloads), "downloads")

    def test_the_version_is_the_same_everywhere(self):
        version = re.search(r"project\(rdcp VERSION ([0-9.]+)", (REPO / "CMakeLists.txt").read_text())[1]
        places = {"src/cli/text/version.h": r'kVersion = "([^"]+)"', "scripts/rdcp.spec": r"(?m)^Version: *(\S+)",
                  "scripts/lib/debian/changelog": r"rdcp \(([^)]+)\)", "CHANGELOG.md": r"(?m)^## (\S+)",
                  "README.md": r"rdcp_([0-9.]+)_amd64"}
        places |= {f"src/cli/{program}.1": r'"rdcp ([0-9.]+)"' for program in ("rdcp", "rdsend", "rdrecv", "rdpipe")}
        for path, pattern in places.items():
            with self.subTest(path):
                found = re.search(pattern, (REPO / path).read_text())
                self.assertEqual(found and found[1], version)

    def test_shell_scripts_parse(self):
        for path in shell_scripts():
            with self.subTest(name_of(path)):
                done = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_python_parses(self):
        for path in files("*.py") + [REPO / "scripts" / "bench"]:
            with self.subTest(name_of(path)):
                compile(path.read_bytes(), str(path), "exec")

    def test_every_rule_of_security_has_a_test(self):
        """SECURITY.md's tables: all rules and promises are there, and the doors and tests that they name exist."""
        tests = {f"{suite}.{name}" for path in sources("tests")
                 for suite, name in re.findall(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)", path.read_text(encoding="utf-8"))}
        for path in files("test_*.py"):
            tests |= {f"{path.stem}.{name}" for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))}
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in lines_of(REPO / "SECURITY.md") if re.match(r"\| P?\d+ \|", line)]
        self.assertEqual([row[0] for row in rows], [str(n) for n in range(1, 31)] + [f"P{n}" for n in range(1, 7)])
        findings = []
        for number, _, doors, named in rows:
            units = re.findall(r"`([^`]+)`", doors)
            findings += [f"{number}: no unit {unit}" for unit in units if not list((REPO / "src").glob(f"{unit}.*"))]
            findings += [f"{number}: no test {name}" for name in named.split(", ") if name not in tests]
        # Whoever has taken over a part: what each cannot do is shown by tests.
        parts = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in lines_of(REPO / "SECURITY.md") if re.match(r"\| (a|an|our|the|another) ", line)]
        self.assertGreater(len(parts), 5)
        findings += [f"{part}: no test {name}" for part, _, _, named in parts for name in named.split(", ") if name not in tests]
        self.assert_none(findings, "named in SECURITY.md")

    @unittest.skipUnless(shutil.which("clang-format"), "no clang-format here")
    def test_clang_format(self):
        done = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources()], capture_output=True, text=True,
                              check=False, cwd=REPO)
        self.assertEqual(done.returncode, 0, done.stderr[:4000])


if __name__ == "__main__":
    unittest.main()
