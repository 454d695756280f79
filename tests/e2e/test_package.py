"""What cpack makes of this build: a Debian package without faults, and an archive that runs from where it is unpacked."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from debians import make_package
from harness import BUILD, EXIT_OK, MIB, RDCP, REPO, CopyTest

INSTALLED_MAX = 12 * MIB
LINKS = ("rdsend", "rdrecv", "rdpipe")


class Package(CopyTest):
    def setUp(self):
        super().setUp()
        for program in ("cpack", "dpkg-deb", "gzip"):
            if not shutil.which(program):
                self.skipTest(f"no {program}")

    def unpacked(self, generator: str) -> Path:
        folder = self.disk / "unpacked"
        folder.mkdir()
        if generator == "DEB":
            subprocess.run(["dpkg-deb", "-x", make_package(self.disk), folder], check=True)
            return folder / "usr"
        subprocess.run(["cpack", "-G", "TGZ", "--config", BUILD / "CPackConfig.cmake", "-B", self.disk], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "-xzf", next(self.disk.glob("rdcp-*.tar.gz")), "-C", folder], check=True)
        return next(folder.iterdir())

    def test_all_is_in_its_place_and_small(self):
        top = self.unpacked("DEB")
        for program in ("rdcp", *LINKS):
            self.assertTrue((top / "bin" / program).exists(), program)
            self.assertEqual((top / "bin" / program).is_symlink(), program in LINKS)
            self.assertIn(program.upper().encode(), subprocess.run(
                ["zcat", top / "share/man/man1" / f"{program}.1.gz"], check=True, stdout=subprocess.PIPE).stdout)
            for completion in (f"bash-completion/completions/{program}", f"zsh/site-functions/_{program}",
                               f"fish/vendor_completions.d/{program}.fish"):
                self.assertTrue((top / "share" / completion).is_file(), completion)
        for name in ("copyright", "changelog.gz", "NEWS.gz", "README.md"):
            self.assertTrue((top / "share/doc/rdcp" / name).is_file(), name)
        files = [path for path in top.rglob("*") if path.is_file() and not path.is_symlink()]
        self.assertLess(sum(path.stat().st_size for path in files), INSTALLED_MAX)
        agent = f"rdcp-agent-{os.uname().machine}"
        self.assertLessEqual({f"{agent}.zst", f"{agent}.sha256"}, {path.name for path in files})

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        found = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", make_package(self.disk)],
                               capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_faults_of_memory_end_the_program(self):
        """Canaries of stacks, bounds of containers, and tables of functions that cannot be written once it runs."""
        said = subprocess.run(["readelf", "-W", "-d", "--dyn-syms", RDCP], check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"\(FLAGS_1\).* NOW")
        self.assertIn("__stack_chk_fail", said)
        self.assertIn("__glibcxx_assert_fail", said)

    def test_the_archive_runs_from_where_it_is(self):
        top = self.unpacked("TGZ")
        tree = self.source / "tree"
        tree.mkdir()
        for i in range(20):
            self.make_file(tree / f"file-{i}", i * 100_000)
        done = subprocess.run([top / "bin" / "rdcp", "-F", self.sshd.config, "-r", f"{tree}/", f"dest:{self.target}/copy"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, EXIT_OK, done)
        self.assert_same_tree(tree, self.target / "copy")

    def test_the_spec_installs_and_names_every_file(self):
        """It takes the programs that are built. rpmbuild refuses a file that is installed and not named, and the reverse."""
        if not shutil.which("rpmbuild"):
            self.skipTest("no rpmbuild")
        done = subprocess.run(
            ["rpmbuild", "-bi", "--short-circuit", "--build-in-place", "--nodeps", "--with", "agent",
             "--define", f"build_folder {BUILD}", "--define", f"_topdir {self.disk}/rpm", "scripts/rdcp.spec"],
            cwd=REPO, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Processing files: rdcp-", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
