"""Every command of the README, run as it stands there: on hosts of this machine (scripts/lib/stage.py) that ssh knows by the
README's names. A block of ```sh or ```crontab runs on the first host, one line after the other; the lines of a ```console
block run at once, up to an empty line, each on the host whose prompt it has. A line starts where the one before has left the
files."""

import re
import subprocess
import unittest

from harness import BUILD, MIB, REPO, is_root, make_file

from network import own_network  # in scripts/lib, as harness has it
from snapshot import differences, snapshot
from stage import Stage, why_no_mounts
from trees import make_model_cache, make_node_modules

README = REPO / "README.md"
NEAR = "here"
HOSTS = (NEAR, "gpu7", "gpu1", "gpu2", "store", "backup", "live", "hosta", "hostb", "fs1", "fs2", "caps", "logs")
KINDS = {"sh", "console", "crontab", "text"}  # text: no commands
# Commands that do not run here, by their beginnings, each with the reason.
NOT_RUN = {
    "./scripts/setup --build &&": "needs apt, and builds for minutes; scripts/bare-debian runs setup in a bare Debian",
    "./scripts/demo": "needs apt, and builds for minutes; scripts/bare-debian runs it in a bare Debian",
    "./scripts/test": "would run this test; scripts/bare-debian runs it in a bare Debian",
    "(cd build && cpack -G DEB) && apt install": "changes this machine; test_package.py installs it in a bare Debian",
    "rdcp -r --launcher": "needs Slurm or pods; test_launchers.py has these",
}
# A stand-in for a program that no Debian has without a kernel module: a pool is a file.
ZFS = """#!/bin/sh
case $1 in
  send) exec cat "$HOME/pool" ;;
  recv) exec cat > "$HOME/received" ;;
esac
exit 2
"""
# Exit statuses other than 0 that a command may have.
ALSO_GOOD = {"rdcp --doctor": {1}}  # it finds problems here: this machine has no RDMA device


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """The kinds and lines of all fenced blocks."""
    return [(kind, lines.splitlines())
            for kind, lines in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def without_comment(line: str) -> str:
    return re.sub(r"\s+# .*", "", line)


def reason_not_to_run(command: str) -> str | None:
    return next((reason for start, reason in NOT_RUN.items() if command.startswith(start)), None)


class Blocks(unittest.TestCase):
    def test_every_command_is_in_a_block_of_a_known_kind(self):
        text = README.read_text()
        self.assertEqual({kind for kind, _ in blocks(text)} - KINDS, set())
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        self.assertNotIn("```", outside, "a fence without its other end")
        self.assertEqual([line for line in outside.splitlines() if line.startswith("    ") and line.strip()], [],
                         "an indented block, which no test runs")

    def test_each_reason_not_to_run_is_still_needed(self):
        lines = [line for _, found in blocks(README.read_text()) for line in found]
        for start in NOT_RUN:
            with self.subTest(start):
                self.assertTrue(any(line.startswith(start) for line in lines))

    def test_pictures_are_there(self):
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text()):
            self.assertIn("<svg", (REPO / name).read_text()[:1000], name)


@unittest.skipUnless(is_root, "hosts in chroots need root")
class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why := why_no_mounts():
            raise unittest.SkipTest(why)
        cls.enterClassContext(own_network())  # the README's ports are free in it
        cls.stage = cls.enterClassContext(Stage("/var/tmp", BUILD, *HOSTS))
        cls.near = cls.stage.near
        home = cls.near.home
        make_model_cache(home / "models", 20 * MIB)
        make_model_cache(home / ".cache/huggingface/hub", 10 * MIB)
        for name in ("src", "set"):
            (home / name).mkdir()
            make_node_modules(home / name, 400)
        (home / "project/src").mkdir(parents=True)
        (home / "project/src/main.o").write_text("an object that a rule keeps")
        (home / "project/other.o").write_text("an object that a rule leaves out")
        for name in ("weights.safetensors", "disk.img", "big", "myfile"):
            make_file(home / name, 20 * MIB + 77)
        hosts = cls.stage.hosts
        (hosts["gpu1"].home / ".cache/huggingface").mkdir(parents=True)
        make_model_cache(hosts["gpu1"].folder / "data/set1", 10 * MIB)
        (hosts["gpu1"].home / "logs").mkdir()
        make_file(hosts["gpu1"].home / "logs/today.txt", 100)
        make_model_cache(hosts["store"].folder / "set1", 10 * MIB)
        make_file(hosts["hosta"].home / "disk.img", 20 * MIB)
        (hosts["fs1"].home / "textfile").write_text("plain words\n")
        for host in hosts.values():
            program = host.folder / "opt/rdcp/zfs"
            program.write_text(ZFS)
            program.chmod(0o755)
            make_file(host.home / "pool", 2 * MIB + 5)
        for name in ("hosta", "hostb"):
            (hosts[name].home / ".pipe").write_text("a key that both have\n")
            (hosts[name].home / ".pipe").chmod(0o600)

    def start(self, host: str, command: str) -> subprocess.Popen:
        return subprocess.Popen(self.stage.hosts[host].command(command), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, process: subprocess.Popen, command: str) -> str:
        words, _ = process.communicate(timeout=120)
        allowed = {0}.union(*(more for start, more in ALSO_GOOD.items() if command.startswith(start)))
        self.assertIn(process.returncode, allowed, f"{command}:\n{words}")
        return words

    def at_once(self, lines: list[str]) -> list[str]:
        """Runs lines with prompts at once, and returns their commands."""
        commands = [line.split("$ ", 1) for line in lines]
        started = [(command, self.start(host, command)) for host, command in commands]
        for command, process in started:
            with self.subTest(command):
                self.finish(process, command)
        return [command for _, command in commands]

    def same(self, near: str, host: str, far: str):
        lines = differences(snapshot(self.near.home / near), snapshot(self.stage.hosts[host].folder / far), ())
        self.assertEqual(lines, [], f"{near} and {host}:/{far}")

    def test_as_they_stand(self):
        ran, said = [], {}
        for kind, lines in blocks(README.read_text()):
            if kind == "console":
                for group in "\n".join(lines).split("\n\n"):
                    ran += self.at_once(group.splitlines())
            elif kind in ("sh", "crontab"):
                for line in lines:
                    command = line if kind == "sh" else line.split(maxsplit=5)[5]
                    if reason_not_to_run(command):
                        continue
                    with self.subTest(command):
                        said[without_comment(command)] = self.finish(self.start(NEAR, command), command)
                    ran.append(command)
        self.assertGreater(len(ran), 25)
        self.assertEqual(said.get(next(each for each in said if each.startswith("flock"))), "", "a good mirror is silent")
        self.same("models", "gpu7", "root/models")
        self.same(".cache/huggingface/hub", "gpu1", "root/.cache/huggingface/hub")
        self.same("weights.safetensors", "gpu1", "data/weights.safetensors")
        self.same("set", "store", "set")
        self.same("disk.img", "store", "data/disk.img")
        self.same("src", NEAR, "root/dst")
        hosts = self.stage.hosts
        self.assertTrue((hosts["gpu1"].home / "project/src/main.o").exists())
        self.assertFalse((hosts["gpu1"].home / "project/other.o").exists())
        self.assertEqual((hosts["live"].home / "pool").read_bytes(), (hosts["backup"].home / "received").read_bytes())
        self.assertEqual((hosts["hosta"].home / "disk.img").read_bytes(), (hosts["hostb"].home / "copy.img").read_bytes())
        self.assertEqual((hosts["fs2"].home / "TEXTFILE").read_text(), "PLAIN WORDS\n")


if __name__ == "__main__":
    unittest.main()
