"""The charts that scripts/bench --plot draws: every series is in one, bars are as long as their seconds."""

import json
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "scripts" / "bench"
SVG = "{http://www.w3.org/2000/svg}"


def series(workload: str, target: str, peer: str, median: float) -> dict:
    return {"workload": workload, "target": target, "peer": peer, "files": 1, "bytes": 2 << 30,
            "min_seconds": 0.5 * median, "median_seconds": median, "max_seconds": 2 * median}


def report(*rows: dict) -> dict:
    return {"congestion": "cubic", "veth": False, "runs": 3, "cpus": 2, "kernel": "6.1.0-13-amd64", "series": rows}


class Plot(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="rdcp-plot-")))
        self.file = self.folder / "report.json"

    def bench(self, *words) -> subprocess.CompletedProcess:
        return subprocess.run([BENCH, "--plot", *words], capture_output=True, text=True, timeout=60)

    def test_each_series_has_a_chart_and_the_main_one_has_the_copies(self):
        self.file.write_text(json.dumps(report(
            series("big", "disk", "rdcp", 1), series("big", "disk", "scp", 3), series("big", "disk", "ssh true", 0.3),
            series("big", "disk", "socat", 2), series("stream", "null", "rdsend", 1))))
        done = self.bench(self.file, self.folder / "charts")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {path.name for path in (self.folder / "charts").iterdir()}
        self.assertEqual(names, {"bench-big-disk.svg", "bench-stream-null.svg", "copies.svg"})
        self.assertEqual({Path(line).name for line in done.stdout.splitlines()}, names)
        main = xml.parse(self.folder / "charts" / "copies.svg").getroot()
        ours, other = (rect for rect in main.iter(f"{SVG}rect") if rect.get("class") != "page")
        self.assertEqual((ours.get("class"), other.get("class")), ("ours", "bar"), "the fastest is first")
        self.assertAlmostEqual(float(other.get("width")) / float(ours.get("width")), 3, places=2)
        words = [text.text for text in main.iter(f"{SVG}text")]
        self.assertIn("scp -r", words)
        self.assertNotIn("socat", words)
        self.assertTrue(any("2 CPUs" in each and "loopback" in each for each in words), words)
        self.assertIn("prefers-color-scheme: dark", main.find(f"{SVG}style").text)

    def test_long_paths_have_a_chart_of_their_own(self):
        rows = [series("wan", target, peer, seconds) | {"where": where}
                for target, where in (("100ms-0.1", "over 100 ms, 0.1 % of packets lost"), ("20ms-0", "over 20 ms"))
                for peer, seconds in (("rdcp", 4), ("scp", 40))]
        self.file.write_text(json.dumps(report(*rows) | {"notes": ["What took over a minute was ended."]}))
        self.assertEqual(self.bench(self.file, self.folder / "charts").returncode, 0)
        self.assertEqual([path.name for path in (self.folder / "charts").iterdir()], ["long-paths.svg"])
        chart = xml.parse(self.folder / "charts" / "long-paths.svg").getroot()
        titles = [text.text for text in chart.iter(f"{SVG}text") if text.get("class") == "title"]
        self.assertEqual(titles, ["One file (2.15 GB), over 100 ms, 0.1 % of packets lost"])
        notes = [text for text in chart.iter(f"{SVG}text") if text.get("class") == "note"]
        self.assertEqual([note.text for note in notes[1:]], ["What took over a minute was ended."])
        self.assertLess(float(notes[1].get("y")), float(chart.get("height")))

    def test_without_a_folder_the_charts_are_beside_the_report(self):
        self.file.write_text(json.dumps(report(series("delta", "tmpfs", "rdcp", 1))))
        self.assertEqual(self.bench(self.file).returncode, 0)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"report.json", "bench-delta-tmpfs.svg"})

    def test_what_is_not_a_report_is_refused_with_its_name(self):
        for text in ("", "{}", "[]", json.dumps(report()), json.dumps(report({"peer": "rdcp"}))):
            self.file.write_text(text)
            done = self.bench(self.file, self.folder / "charts")
            self.assertEqual(done.returncode, 1, text)
            self.assertIn(str(self.file), done.stderr)
            self.assertFalse((self.folder / "charts").exists())
        self.assertIn("No such file", self.bench(self.folder / "none").stderr)
        self.assertEqual(self.bench("a", "b", "c").returncode, 2)


if __name__ == "__main__":
    unittest.main()
