"""Single files and simple trees, in every direction, and where they land."""

import contextlib
import json
import os
import stat
import subprocess
import unittest
from pathlib import Path

from harness import (CHUNK, DEFAULT_CHUNK, EXIT_DATA, EXIT_FILES, EXIT_USAGE, MIB, RDCP, CopyTest, has_rdma, is_root,
                     needs_root)

SIZES = {"0": 0, "1": 1, "4095": 4095, "4096": 4096, "4097": 4097, "chunk-1": CHUNK - 1, "chunk": CHUNK,
         "chunk+1": CHUNK + 1, "several chunks": 37 * CHUNK + 123}


class EverySize(CopyTest):
    """direction x size x ring: each direction copies all sizes at once, and the far file size by size."""

    def setUp(self):
        super().setUp()
        for name, size in SIZES.items():
            self.make_file(self.source / name, size, seed=size)

    def check(self, source: str, target: str):
        for ring in ("io_uring", "threads"):
            landing = self.target / ring
            landing.mkdir()
            with self.subTest(ring=ring):
                done = self.copy("-v", "--ring", ring, "--chunk-size", "64K", "--streams", "2",
                                 *[f"{source}{self.source}/{name}" for name in SIZES], f"{target}{landing}")
                self.assertIn("io_uring" if ring == "io_uring" else "thread pool", done.err)
                for name in SIZES:
                    self.assert_same_file(self.source / name, landing / name)
        with self.subTest("one file at a time, default chunks"):
            for name in ("0", "4097", "several chunks"):
                alone = self.target / f"alone {name}"
                self.copy(f"{source}{self.source}/{name}", f"{target}{alone}")
                self.assert_same_file(self.source / name, alone)

    def test_local_to_remote(self):
        self.check("", "dest:")

    def test_remote_to_local(self):
        self.check("dest:", "")

    def test_remote_to_remote(self):
        self.check("dest:", "other:")

    def test_local_to_local(self):
        self.check("", "")

    def test_the_default_chunk_size(self):
        for size in (DEFAULT_CHUNK - 1, DEFAULT_CHUNK, DEFAULT_CHUNK + 1, 24 * DEFAULT_CHUNK + 4097):
            file = self.make_file(self.source / f"big-{size}", size)
            self.copy(file, f"dest:{self.target}")
            self.assert_same_file(file, self.target / file.name)

    def test_to_disk_past_the_page_cache(self):
        for size in (4097, 5 * DEFAULT_CHUNK + 4097):
            file = self.make_file(self.disk / f"file-{size}", size)
            self.copy("--cache", "bypass", file, f"dest:{self.disk}/copy-{size}")
            self.assert_same_file(file, self.disk / f"copy-{size}")


class Uris(CopyTest):
    def ssh_port(self) -> str:
        told = subprocess.run(["ssh", "-F", str(self.sshd.config), "-G", "dest"], capture_output=True, text=True, check=True)
        return next(line.split()[1] for line in told.stdout.splitlines() if line.startswith("port "))

    def test_the_port_goes_to_ssh_and_the_path_is_decoded(self):
        port = self.ssh_port()
        file = self.make_file(self.source / "a b+%", 10)
        self.copy("-P", "1", file, f"scp://dest:{port}/{self.target}/x%2By%20")
        self.assert_same_file(file, self.target / "x+y ")
        self.copy(f"ssh://dest:{port}/{self.source}/a%20b%2b%25", self.target)
        self.assert_same_file(file, self.target / "a b+%")
        self.copy("--check", f"scp://dest:{port}/{self.source}/a+b%2b%25", f"scp://dest/{self.target}/x%2By+")

    def test_a_wrong_one_is_refused_before_anything_is_done(self):
        file = self.make_file(self.source / "file", 10)
        for word, why in (("scp://dest:0/x", "1 to 65535"), ("scp://dest/%zz", "hexadecimal"), ("rsync://dest/x", "no rsync://"),
                          ("scp:///x", "is empty")):
            self.fails(EXIT_USAGE, file, word, says=(why, word))
        self.assertEqual(list(self.target.iterdir()), [])


class HostSettings(CopyTest):
    def settings(self, text: str, name: str = "config") -> dict:
        file = self.disk / "rdcp" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o644)
        return {"env": {**os.environ, "XDG_CONFIG_HOME": str(self.disk)}}

    def test_the_first_that_matches_counts_and_is_shown(self):
        env = self.settings('[host "gpu* !gpu9"]\nstreams = 8\n[host *]\nstreams=2\nbwlimit = 1G\nencrypt=never\n')
        self.settings("--encrypt\n--data-port 7000\n", "options")
        config = f"{self.disk}/rdcp/config"
        for host, streams in (("GPU1", f"8 ({config}:2)"), ("gpu9", f"2 ({config}:4)"), ("me@x", f"2 ({config}:4)")):
            out = self.copy("--print-config", host, **env).out.decode().splitlines()
            for line in (f"streams {streams}", f"bwlimit 1G ({config}:5)", f"encrypt never ({config}:6)",
                         f"data-port 7000 ({self.disk}/rdcp/options)", "via auto (default)"):
                self.assertIn(line, out)
        self.assertIn("streams as given (command line)", self.copy("--print-config", "x", "--streams", "3", **env).out.decode())

    def test_settings_hold_for_a_copy_and_the_command_line_counts_more(self):
        file = self.make_file(self.source / "file", 10)
        env = self.settings("[host dest]\ntransport = rdma\n[host *]\nvia = nowhere\n")
        self.fails(EXIT_USAGE if has_rdma else EXIT_DATA, file, f"dest:{self.target}/a", **env)
        self.fails(EXIT_USAGE, "--transport", "tcp", file, f"dest:{self.target}/a", says=("use interface nowhere", "there are: "), **env)
        self.copy("--transport", "tcp", "--via", "127.0.0.1", file, f"dest:{self.target}/b", **env)
        self.copy(file, self.target / "c", **env)

    def test_what_is_wrong_is_named_with_file_and_line(self):
        file = self.make_file(self.source / "file", 10)
        for line in ("x", "delete = 1", "streams = 0", "streams =", "[host]", "[host !a]", "[hosts a]", "[host a/b]",
                     "transport=x", "[gpu"):
            env = self.settings(f"# first\n{line}\n")
            self.fails(EXIT_USAGE, file, f"dest:{self.target}/a", says=(f"{self.disk}/rdcp/config:2:",), **env)
        env = self.settings("streams = 2\n")
        (self.disk / "rdcp/config").chmod(0o664)
        self.fails(EXIT_USAGE, file, f"dest:{self.target}/a", says=("written by others", "rdcp/config"), **env)
        (self.disk / "rdcp/config").unlink()
        self.settings("--no-encrypt\n", "options")
        self.copy(file, self.target / "here", **env)
        (self.target / "here").unlink()
        for mode in (0o664, 0o646):
            (self.disk / "rdcp/options").chmod(mode)
            self.fails(EXIT_USAGE, file, self.target / "here", says=("written by others", "rdcp/options"), **env)
        if is_root:
            (self.disk / "rdcp/options").chmod(0o644)
            os.chown(self.disk / "rdcp/options", 65534, 65534)
            self.fails(EXIT_USAGE, file, self.target / "here", says=("written by others", "rdcp/options"), **env)
        self.assertEqual(list(self.target.iterdir()), [])


class Landing(CopyTest):
    """The README's table of where a copy lands."""

    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.make_file(self.tree / "one", 10)
        self.make_file(self.tree / "sub" / "two", 5000)
        self.file = self.make_file(self.source / "file", 100)

    def test_a_tree_becomes_a_missing_dst(self):
        self.copy("-r", self.tree, f"dest:{self.target}/new")
        self.assert_same_tree(self.tree, self.target / "new")

    def test_a_tree_goes_into_an_existing_dst(self):
        self.copy("-r", self.tree, f"dest:{self.target}")
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_a_slash_means_the_contents(self):
        self.copy("-r", f"{self.tree}/", f"dest:{self.target}")
        self.assert_same_tree(self.tree, self.target)

    def test_a_slash_into_a_missing_dst(self):
        self.copy("-r", f"{self.tree}/", f"dest:{self.target}/new")
        self.assert_same_tree(self.tree, self.target / "new")

    def test_a_rerun_with_slash_never_nests(self):
        for _ in range(2):
            self.copy("-r", f"{self.tree}/", f"dest:{self.target}/new")
        self.assert_same_tree(self.tree, self.target / "new")

    def test_a_rerun_into_an_existing_dst_overwrites(self):
        for _ in range(2):
            self.copy("-r", self.tree, f"dest:{self.target}")
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_dot_means_the_contents(self):
        self.copy("-r", ".", f"dest:{self.target}", cwd=self.tree)
        self.assert_same_tree(self.tree, self.target)

    def test_dot_as_dst(self):
        self.copy("-r", f"dest:{self.tree}", ".", cwd=self.target)
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_a_relative_remote_path_starts_at_home(self):
        relative = os.path.relpath(self.target, Path.home())
        self.copy(self.file, f"dest:{relative}")
        self.assert_same_file(self.file, self.target / "file")

    def test_a_file_becomes_a_missing_dst(self):
        self.copy(self.file, f"dest:{self.target}/renamed")
        self.assert_same_file(self.file, self.target / "renamed")

    def test_a_file_replaces_a_file(self):
        self.make_file(self.target / "old", 9000)
        self.copy(self.file, f"dest:{self.target}/old")
        self.assert_same_file(self.file, self.target / "old")

    def test_a_missing_dst_with_a_slash_is_not_a_file_name(self):
        done = self.rdcp(self.file, f"dest:{self.target}/missing/")
        self.assertNotEqual(done.status, 0)
        self.assertFalse((self.target / "missing").is_file())

    def test_several_into_a_directory(self):
        self.copy("-r", self.file, self.tree, f"dest:{self.target}")
        self.assert_same_file(self.file, self.target / "file")
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_several_from_several_hosts(self):
        other = self.make_file(self.source / "other", 3 * CHUNK)
        third = self.make_file(self.source / "third", 5)
        self.copy("-r", "--transport", "auto", self.file, f"dest:{self.tree}", f"dest:{third}", f"other:{other}",
                  self.target)  # the first of them goes over no network
        for file in (self.file, other, third):
            self.assert_same_file(file, self.target / file.name)
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_several_from_several_hosts_need_a_directory(self):
        done = self.rdcp(self.file, f"dest:{self.file}", self.target / "missing")
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertFalse((self.target / "missing").exists())

    def test_several_into_a_file_is_an_error(self):
        other = self.make_file(self.source / "other", 3)
        self.make_file(self.target / "plain", 50)
        done = self.rdcp(self.file, other, f"dest:{self.target}/plain")
        self.assertIn(done.status, (EXIT_FILES, EXIT_USAGE), done)
        self.assertEqual((self.target / "plain").stat().st_size, 50)

    def test_a_tree_onto_a_file_is_an_error(self):
        self.make_file(self.target / "plain", 50)
        done = self.rdcp("-r", self.tree, f"dest:{self.target}/plain")
        self.assertIn(done.status, (EXIT_FILES, EXIT_USAGE), done)
        self.assertIn("plain", done.err)
        self.assertEqual((self.target / "plain").stat().st_size, 50)

    def test_a_directory_without_r_says_so(self):
        done = self.rdcp(self.tree, f"dest:{self.target}")
        self.assertNotEqual(done.status, 0)
        self.assertIn("-r", done.err)
        self.assertEqual(list(self.target.iterdir()), [])

    def test_a_missing_source(self):
        self.fails(EXIT_FILES, self.source / "missing", f"dest:{self.target}", says=("missing",))

    def test_a_missing_source_among_others_leaves_the_others(self):
        self.fails(EXIT_FILES, self.source / "missing", self.file, f"dest:{self.target}", says=("missing",))
        self.assert_same_file(self.file, self.target / "file")

    def test_ssh_is_said_to_carry_and_encrypt_the_data(self):
        done = self.copy("-v", "--json", "--via", "ssh", self.file, f"dest:{self.target}")
        self.assertIn(" over ssh, which encrypts it; ", done.err)
        result = json.loads(done.out.splitlines()[-1])
        self.assertEqual((set(result["streams"]), result["encrypted"]), ({"ssh, which encrypts it"}, True))

    def test_colons(self):
        odd = self.make_file(self.source / "a:b", 10)
        self.copy("./a:b", f"dest:{self.target}", cwd=self.source)
        self.copy(odd, f"dest:{self.target}/c:d")
        self.copy(f"dest:{self.target}/c:d", "./e:f", cwd=self.target)
        for name in ("a:b", "c:d", "e:f"):
            self.assert_same_file(odd, self.target / name)

    def test_the_source_itself_is_not_destroyed(self):
        before = self.file.read_bytes()
        self.rdcp(self.file, self.file)
        self.assertEqual(self.file.read_bytes(), before)


class Streams(CopyTest):
    """'-' and things that are no regular files."""

    def test_stdin_to_remote(self):
        for size in (0, 1, CHUNK + 1, 5 * DEFAULT_CHUNK + 17):
            data = self.make_file(self.source / "data", size)
            self.copy("-", f"dest:{self.target}/from-stdin", stdin=data.read_bytes())
            self.assert_same_file(data, self.target / "from-stdin")

    def masked(self, here: int, there: int = 0o022) -> tuple[tuple, dict]:
        """Words and options for a run with these umasks."""
        far = self.disk / "far-rdcp"
        far.write_text(f"#!/bin/sh\numask {there:o}\nexec {RDCP} \"$@\"\n")
        far.chmod(0o755)
        return ("--rdcp-path", far), {"preexec_fn": lambda: os.umask(here)}

    def test_standard_input_obeys_the_umask(self):
        copy = self.target / "copy"
        fifo = self.source / "fifo"
        for here, there, to, mode in ((0o077, 0o022, "", 0o600), (0o027, 0o022, "", 0o640), (0o002, 0, "", 0o664),
                                      (0o077, 0o022, "dest:", 0o600), (0o022, 0o077, "dest:", 0o600),
                                      (0o002, 0o027, "dest:", 0o640), (0, 0, "dest:", 0o666)):
            words, options = self.masked(here, there)
            for source in ("-", fifo, f"dest:{fifo}"):
                with self.subTest(here=oct(here), there=oct(there), to=to, source=source):
                    # A new one each time: a ring of io_uring may hold the last one open for a moment after its
                    # process has ended (seen on Linux 6.1), and a writer would find that reader.
                    fifo.unlink(missing_ok=True)
                    os.mkfifo(fifo)
                    data = {"stdin": b"secret"} if source == "-" else {}
                    with contextlib.ExitStack() as stack:
                        if source != "-":
                            stack.enter_context(subprocess.Popen(["sh", "-c", f"echo secret > '{fifo}'"]))
                        self.copy(*words, source, f"{to}{copy}", **data, **options)
                    self.assertEqual(oct(copy.stat().st_mode & 0o7777), oct(mode))
                    copy.unlink()

    def test_standard_input_keeps_the_mode_of_what_it_replaces(self):
        copy = self.make_file(self.target / "copy", 10)
        for mode in (0o600, 0o644):
            for to in ("", "dest:"):
                copy.chmod(mode)
                words, options = self.masked(0o002)
                self.copy(*words, "-", f"{to}{copy}", stdin=b"more", **options)
                self.assertEqual((copy.read_bytes(), oct(copy.stat().st_mode & 0o7777)), (b"more", oct(mode)))

    def test_remote_to_stdout(self):
        for size in (0, 1, CHUNK + 1, 5 * DEFAULT_CHUNK + 17):
            data = self.make_file(self.source / "data", size)
            done = self.copy(f"dest:{data}", "-")
            self.assertTrue(done.out == data.read_bytes(), f"{size} bytes arrived as {len(done.out)}")

    def test_holes_come_out_of_stdout_as_zeros(self):
        data = self.source / "sparse"
        with open(data, "wb") as file:
            file.truncate(3 * MIB)
            for offset in (0, MIB + 5, 2 * MIB):
                file.seek(offset)
                file.write(b"data")
        done = self.copy(f"dest:{data}", "-")
        self.assertTrue(done.out == data.read_bytes())

    def test_descriptors_of_the_shell(self):
        """The agent has none of them, so they become its standard streams."""
        data = self.make_file(self.source / "data", 5 * DEFAULT_CHUNK + 17)
        got = self.target / "got"
        for place in ("", "dest:"):
            for words in (f"<(cat {data}) {place}{got}", f"/dev/stdin {place}{got} < {data}", f"/dev/fd/5 {place}{got} 5< {data}",
                          f"{place}{data} /dev/fd/1 > {got}", f"{place}{data} /proc/self/fd/1 | cat > {got}",
                          f"{place}{data} /dev/fd/5 5> {got}"):
                with self.subTest(words):
                    done = subprocess.run(["bash", "-c", f'"$@" {words}', "bash", *self.command()], capture_output=True,
                                          timeout=60, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
                    self.assert_same_file(data, got)
                    got.unlink()
            # The shell does not wait for what reads, so its end is the end of that.
            os.mkfifo(got)
            done = subprocess.run(["bash", "-c", f'"$@" {place}{data} >(cat > {got}) & cat {got}; wait $!', "bash",
                                   *self.command()], capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertTrue(done.stdout == data.read_bytes())
            got.unlink()
        self.fails(EXIT_USAGE, data, "/dev/fd/77", says=("/dev/fd/77", "Bad file descriptor"))
        self.fails(EXIT_USAGE, data, "/dev/fd/3", says=("/dev/fd/3", "Bad file descriptor"))  # one of rdcp's own

    def test_a_link_to_what_the_agent_is_told_through(self):
        """Whoever reads it takes the coordinator's words, and both wait for ever."""
        for fd, name in enumerate(("stdin", "stdout")):
            link = self.source / name
            link.symlink_to(f"/proc/self/fd/{fd}")
            done = self.fails(EXIT_FILES, f"dest:{link}", self.target / "got")
            if "No such device or address" not in done.err:  # sshd gives sockets to its commands, not pipes
                self.assertIn(f"{link}: leads to a stream of rdcp itself", done.err)
            self.assertFalse((self.target / "got").exists())
        self.fails(EXIT_FILES, "dest:/dev/../dev/stdin", self.target / "got")

    def test_a_link_to_a_descriptor_is_not_replaced(self):
        """As /dev/stdout is one, which root could lose."""
        data = self.make_file(self.source / "data", 10)
        out = self.target / "stdout"
        out.symlink_to("/proc/self/fd/1")
        second = self.target / "second"
        second.symlink_to("stdout")
        for place in ("", "dest:"):
            for link in (out, second):
                for stdout in ("/dev/null", self.disk / "file"):
                    with open(stdout, "w", encoding="utf-8") as file:
                        done = subprocess.run(self.command(data, f"{place}{link}"), stdout=file, stderr=subprocess.PIPE,
                                              timeout=60, check=False)
                    self.assertEqual(done.returncode, EXIT_FILES, done)
                    self.assertIn(b"is neither a file nor a directory", done.stderr)
                    self.assertTrue(link.is_symlink())
        self.assertEqual(os.readlink(out), "/proc/self/fd/1")
        null = self.target / "null"
        null.symlink_to("/dev/null")
        self.copy(data, f"dest:{null}")
        self.assertTrue(null.is_symlink())

    def test_a_local_file_to_stdout_of_a_closed_pipe(self):
        data = self.make_file(self.source / "data", 8 * DEFAULT_CHUNK)
        shell = '"$@" | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}'
        done = subprocess.run(["bash", "-c", shell, "bash", *self.command(f"dest:{data}", "-")],
                              capture_output=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)

    def test_a_symlink_named_as_source_is_kept(self):
        (self.source / "link").symlink_to("nowhere")
        self.copy("-r", self.source / "link", f"dest:{self.target}")
        self.assertEqual(os.readlink(self.target / "link"), "nowhere")

    @needs_root
    def test_dev_null_stays_a_device(self):
        null = self.target / "null"  # a node of our own: a failure must not harm the machine
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        big = self.make_file(self.source / "big", 3 * DEFAULT_CHUNK)
        done = self.copy("-v", big, f"dest:{null}")
        self.assertTrue(stat.S_ISCHR(null.stat().st_mode), "the device was replaced")
        self.assertRegex(done.err, r"(?m)^Bandwidth \d+\.\d{3} GB/s$")

    @needs_root
    def test_a_device_as_source_is_read(self):
        zero = self.source / "null"
        os.mknod(zero, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        self.copy("--copy-devices", zero, f"dest:{self.target}/empty")
        self.assertTrue((self.target / "empty").is_file())


class Bandwidth(CopyTest):
    def test_a_copy_within_the_kernel_keeps_to_the_limit(self):
        """It could be done in no time. The last eighth of a second's bytes need not be waited for."""
        for folder in (self.disk, self.memory):
            file = self.make_file(folder / "file", 4 * MIB)
            done = self.copy("--bwlimit", "4MiB", file, folder / "copy")
            self.assertGreater(done.seconds, 0.8, folder)
            self.assert_same_file(file, folder / "copy")


class Words(CopyTest):
    """What it says, and where."""

    def test_verbose_ends_with_the_bandwidth(self):
        file = self.make_file(self.source / "file", DEFAULT_CHUNK)
        done = self.copy("-v", file, f"dest:{self.target}")
        self.assertEqual(done.out, b"")
        self.assertRegex(done.err.splitlines()[-1], r"^Bandwidth \d+\.\d{3} GB/s$")
        self.assertNotIn("\r", done.err)

    def test_silence_is_the_default(self):
        file = self.make_file(self.source / "file", DEFAULT_CHUNK)
        for options in ((), ("-q",)):
            done = self.copy(*options, file, f"dest:{self.target}")
            self.assertEqual((done.out, done.err), (b"", ""))

    def test_progress_can_be_forced(self):
        file = self.make_file(self.source / "file", 4 * DEFAULT_CHUNK)
        self.assertIn("\r", self.copy("--progress", file, f"dest:{self.target}").err)

    def test_usage_errors(self):
        for words in ((), ("one",), ("--no-such-option", "a", "b"), ("--chunk-size", "5", "a", "b"),
                      ("--transport", "rdma", "a", "b"), ("-", "-")):
            with self.subTest(words=words):
                self.assertEqual(self.rdcp(*words).status, EXIT_USAGE)

    def test_help_is_short(self):
        text = self.rdcp("--help").out.decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertLessEqual(len(text.splitlines()), 100)


if __name__ == "__main__":
    unittest.main()
