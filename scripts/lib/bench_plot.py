"""Bar charts of a benchmark's JSON as SVG, readable on a light and on a dark page: one for each workload and target, and
some with several of them for a README. An SVG is text, and these are bars: no plotting program is needed."""

import json
from html import escape
from pathlib import Path

from bench_peers import SSH_TRUE

WIDTH, LABELS, NUMBERS = 720, 150, 90  # in pixels: of the chart, and of what stands left and right of the bars
BAR, GAP, TITLE, EDGE = 18, 6, 32, 16
OURS = ("rdcp", "rdcp --encrypt", "rdsend", "rdsend --encrypt")
# Charts of several workloads and targets, with the tools that are in them.
MAIN_CHARTS = {
    "copies.svg": (("rdcp", "scp", "rsync", "tar+ssh", "tar+nc", "cp"),
                   (("big", "disk"), ("model", "disk"), ("small", "disk"), ("small", "tmpfs"))),
    "long-paths.svg": (("rdcp", "scp", "rsync", "tar | ssh", "lftp", "rclone", "lftp -P 16", "rclone, 16"),
                       (("wan", "100ms-0"), ("wan", "100ms-0.1"), ("wan", "20ms-1"), ("wan a first copy", "100ms-0"),
                        ("wan nothing to do", "100ms-0")))}
NAMES = {"rsync": "rsync -a", "scp": "scp -r", "tar+ssh": "tar | ssh", "tar+nc": "tar | nc (in clear)",
         "cp": "cp -a (no network)"}
WORKLOADS = {"big": "One large file", "model": "A model cache", "small": "Many small files",
             "delta": "A file of which an old version is there", "stream": "A stream", "wan": "One file",
             "wan a first copy": "Many small files, net of ssh's login",
             "wan nothing to do": "The same with nothing to do, net of ssh's login"}
TARGETS = {"tmpfs": "into memory (tmpfs)", "disk": "until it is on the disk", "null": "to /dev/null",
           "command": "into a command"}
STYLE = """<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 } .note { font-size: 11px; fill: #59636e } .page { fill: #ffffff }
  .bar { fill: #afb8c1 } .ours { fill: #0969da } .span { stroke: #59636e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note { fill: #9198a1 } .page { fill: #0d1117 }
    .bar { fill: #484f58 } .ours { fill: #4493f8 } .span { stroke: #9198a1 } }
</style>"""


def _title(row: dict) -> str:
    size = row["bytes"]
    amount = f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
    if row["files"] > 1:
        amount = f"{row['files']:,} files, {amount}"
    where = row.get("where") or TARGETS.get(row["target"], row["target"])
    return f"{WORKLOADS.get(row['workload'], row['workload'])} ({amount}), {where}"


def _notes(report: dict) -> list[str]:
    """What was measured where, a line each: without it a chart says nothing."""
    how = (f"Seconds; shorter is better. Medians of {report['runs']} runs; a line spans all runs. {report['cpus']} CPUs, "
           f"Linux {report['kernel'].split('-')[0]}, {'two network namespaces' if report['veth'] else 'loopback'}, "
           f"TCP {report['congestion']}.")
    return [how, *report.get("notes", [])]


def _text(x: float, y: float, words: str, kind: str = "plain", anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def _panel(rows: list[dict], top: float) -> tuple[list[str], float]:
    """The bars of one workload and target from `top` on, the fastest first, and where the next panel begins."""
    scale = (WIDTH - LABELS - NUMBERS) / max(row["max_seconds"] for row in rows)
    parts, y = [_text(EDGE, top + 20, _title(rows[0]), "title")], top + TITLE
    for row in sorted(rows, key=lambda row: row["median_seconds"]):
        first, length, last = (row[f"{which}_seconds"] * scale for which in ("min", "median", "max"))
        kind = "ours" if row["peer"] in OURS else "bar"
        parts += [_text(LABELS - 8, y + 14, NAMES.get(row["peer"], row["peer"]), anchor="end"),
                  f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" class="{kind}"/>',
                  f'<line x1="{LABELS + first:.1f}" x2="{LABELS + last:.1f}" y1="{y + BAR / 2}" y2="{y + BAR / 2}" '
                  'class="span"/>',
                  _text(LABELS + last + 8, y + 14, f"{row['median_seconds']:.2f}")]
        y += BAR + GAP
    return parts, y + GAP


def draw(panels: list[list[dict]], report: dict) -> str:
    """An SVG of panels one below the other; a panel is the series of one workload and target."""
    y, parts = EDGE / 2, []
    for rows in panels:
        bars, y = _panel(rows, y)
        parts += bars
    notes = _notes(report)
    height = y + 12 + 16 * len(notes)
    described = "Seconds, shorter is better. " + " ".join(
        f"{_title(rows[0])}: " + ", ".join(f"{row['peer']} {row['median_seconds']:.2f}" for row in rows) + "."
        for rows in panels)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img">',
        f"<title>{escape(described)}</title>", STYLE,
        f'<rect width="{WIDTH}" height="{height:.0f}" rx="6" class="page"/>',
        *parts, *(_text(EDGE, y + 12 + 16 * i, note, "note") for i, note in enumerate(notes)), "</svg>", ""])


def _read(path: Path) -> tuple[dict, dict[tuple[str, str], list[dict]]]:
    """The report, and its series by workload and target. Raises RuntimeError where it is not a report of ours."""
    try:
        report = json.loads(path.read_text())
        groups: dict[tuple[str, str], list[dict]] = {}
        for row in report["series"]:
            if row["peer"] != SSH_TRUE:
                groups.setdefault((row["workload"], row["target"]), []).append(row)
        _notes(report)
        return report, groups
    except OSError as error:
        raise RuntimeError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"{path} is not what scripts/bench --json writes: {error!r}") from error


def plot(path: Path, folder: Path) -> list[Path]:
    """Draws the report at `path` into `folder`, and returns the charts: bench-WORKLOAD-TARGET.svg, and those of MAIN_CHARTS
    for which the report has something; long paths, which are many, are in the latter alone. Raises RuntimeError when `path`
    has no series."""
    report, groups = _read(path)
    if not groups:
        raise RuntimeError(f"{path} has no series to draw")
    charts = {f"bench-{workload}-{target}.svg": [rows] for (workload, target), rows in groups.items()
              if not workload.startswith("wan")}
    for name, (tools, wanted) in MAIN_CHARTS.items():
        chosen = [[row for row in groups.get(group, []) if row["peer"] in tools] for group in wanted]
        if panels := [rows for rows in chosen if rows]:
            charts[name] = panels
    folder.mkdir(parents=True, exist_ok=True)
    for name, panels in charts.items():
        (folder / name).write_text(draw(panels, report))
    return [folder / name for name in charts]
