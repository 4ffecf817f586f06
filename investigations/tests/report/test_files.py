"""`evenkeel report`: written files, drift, and refused input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.profiling.profile import write as write_profile
from evenkeel_lab.report import render
from evenkeel_lab.report.plots import FIGURES
from evenkeel_lab.runner.results.summary import read, write

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.runner.results.summary import Summary

TOML = """
title = "{title}"
question = "Is it slower?"
hypothesis = "It is not."
baseline = "off"
[arms.off]
about = "without callbacks"
[arms.on]
about = "with one"
prometheus = "stock"
[figures.p50]
margin = {margin}
primary = true
[session]
looks = [6]
"""
TITLE = "What a callback costs"
# A configuration of matplotlib that would change every plot.
HOSTILE = """
font.family: serif
font.size: 23
text.usetex: True
axes.formatter.use_locale: True
axes.facecolor: red
axes.unicode_minus: False
timezone: Asia/Tokyo
svg.fonttype: none
svg.hashsalt: other
path.simplify: False
figure.dpi: 300
savefig.dpi: 300
savefig.bbox: tight
savefig.transparent: True
"""
OTHER_MACHINE = {
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
    "PYTHONHASHSEED": "7",
    # Emulate an older processor, where logarithms and sums differ in their last bits.
    "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
    "OPENBLAS_CORETYPE": "Prescott",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F",
}


def briefly(summary: Summary) -> Summary:
    return replace(summary, sketches={name: {} for name in summary.sketches})


@pytest.fixture
def project(tmp_path: Path, simulate: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two investigations, of which the first is measured, without sketches to keep plots few."""
    for name in ("case", "waiting"):
        folder = tmp_path / "investigations" / name
        folder.mkdir(parents=True)
        (folder / "investigation.toml").write_text(TOML.format(title=TITLE, margin=0.05))
    write(briefly(simulate()), tmp_path / "investigations" / "case" / "summary.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli(["report", *arguments])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_measured_investigations_have_a_page_and_the_index_lists_the_others(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = report(capsys)
    assert (code, out.split()) == (0, ["reports/index.md", "reports/case.md"])
    assert set(contents(project / "reports")) == {"index.md", "case.md", "case/forest.svg", "case/order.svg"}
    index = (project / "reports" / "index.md").read_text()
    assert "| [Is it slower?](case.md) | on: material (p50 +" in index
    assert "- waiting: Is it slower?" in index
    assert report(capsys, "--check")[0] == 0


def test_the_overview_is_made_with_the_reports(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding = "[[findings]]\nsays = 'with it'\ninvestigation = 'case'\narm = 'on'\nmetric = 'p50'\n"
    (project / "investigations" / "overview.toml").write_text(finding)
    _, out, _ = report(capsys)
    assert "reports/overview.md" in out.split()
    assert "(overview.md)" in (project / "reports" / "index.md").read_text()
    assert (project / "reports" / "overview" / "effects.svg").is_file()
    assert report(capsys, "--check")[0] == 0


def test_drifted_files_are_listed_and_rewritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(capsys)
    reports = project / "reports"
    made = contents(reports)
    (reports / "case.md").write_text("by hand")
    (reports / "case" / "order.svg").unlink()
    code, out, err = report(capsys, "--check")
    assert code == 1
    assert sorted(out.splitlines()) == [
        "reports/case.md: differs",
        "reports/case/order.svg: missing",
    ]
    assert "make reports" in err
    report(capsys)
    assert contents(reports) == made


def test_files_of_a_deleted_investigation_are_removed_with_a_message(
    project: Path, simulate: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    report(capsys, "--html")
    reports, folder = project / "reports", project / "investigations"
    kept = contents(reports)
    write(briefly(simulate(name="waiting")), folder / "waiting" / "summary.json")
    report(capsys, "--html")
    gone = [f"reports/{name}" for name in contents(reports) if name not in kept]
    assert {"reports/waiting.md", "reports/waiting.html", "reports/waiting/order.svg"} <= set(gone)
    (folder / "waiting" / "summary.json").unlink()
    code, out, _ = report(capsys, "--check")
    left_over = {line.removesuffix(": left over") for line in out.splitlines() if line.endswith(": left over")}
    assert (code, left_over) == (1, {name for name in gone if not name.endswith(".html")})
    assert "removed" not in report(capsys, "case")[2]
    _, _, err = report(capsys)
    assert all(f"removed {name}, which belongs to no report any more" in err for name in gone)
    assert set(contents(reports)) == set(kept)


def test_files_without_the_marker_are_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(capsys, "--html")
    reports = project / "reports"
    (reports / "notes.md").write_text("x\n")
    (reports / "mine.html").write_text("x\n")
    (reports / "mine").mkdir()
    (reports / "mine" / "a.svg").write_text("<svg/>\n")
    (reports / "folder.md").mkdir()
    for copied, into in (("case.md", "then.md"), ("case/order.svg", "case/then.svg"), ("case.html", "then.html")):
        (reports / into).write_bytes((reports / copied).read_bytes())
    before = contents(reports)
    assert report(capsys, "--check")[:2] == (0, "")
    report(capsys)
    assert contents(reports) == before


def test_the_marker_is_invisible_and_keeps_plots_valid_xml(
    project: Path, simulate: Any, profile: Profile, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = replace(profile, arms={"a--b": profile.arms["on"]})
    write_profile(odd, project / "investigations" / "case" / "profile.json")
    assert report(capsys)[0] == 0
    for path in (project / "reports" / "case").glob("*.svg"):
        ET.parse(path)  # noqa: S314  # our own file
    assert (project / "reports" / "case" / "flame-a--b.svg").is_file()
    assert (project / "reports" / "case.md").read_text().split("\n")[-3] == ""


def test_invalid_and_changed_investigations_are_marked_in_their_pages(
    project: Path, simulate: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project / "investigations" / "case"
    write(briefly(simulate(effects={"again": 1.2})), folder / "summary.json")
    (folder / "investigation.toml").write_text(TOML.format(title=TITLE, margin=0.07))
    assert report(capsys)[0] == 0
    page = (project / "reports" / "case.md").read_text()
    assert page.startswith("# Invalid: ")
    assert "- **changed**: The file has been changed since the measurement." in page
    assert "on: material (invalid) (p50 +" in (project / "reports" / "index.md").read_text()


def test_only_named_investigations_are_rendered(
    project: Path, simulate: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write(briefly(simulate(name="waiting")), project / "investigations" / "waiting" / "summary.json")
    assert report(capsys, "waiting")[1].split() == ["reports/index.md", "reports/waiting.md"]
    assert not (project / "reports" / "case.md").exists()
    assert report(capsys, "--check", "waiting")[0] == 0
    assert report(capsys, "--check")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["waiting"], "evenkeel investigate waiting"),
        (["cas"], "Did you mean case?"),
        (["--check", "--html"], "do not go together"),
    ],
)
def test_wrong_use_is_an_error_with_a_hint(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, _, err = report(capsys, *arguments)
    assert code == 2
    assert words in err
    assert not (project / "reports").exists()


@pytest.mark.parametrize(
    ("changed", "words"), [({"schema": 99}, "of schema 99"), ({"name": "../else"}, "not of 'case'")]
)
def test_a_summary_of_another_schema_or_investigation_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], words: str
) -> None:
    path = project / "investigations" / "case" / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    code, _, err = report(capsys)
    assert code == 2
    assert words in err


def test_outside_of_a_project_the_error_has_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = report(capsys)
    assert code == 2
    assert "Go to the project's folder." in err


@pytest.mark.slow
@pytest.mark.thorough
def test_reports_are_identical_in_another_process_with_another_configuration(project: Path, simulate: Any) -> None:
    summary = project / "summary.json"
    write(simulate(), summary)
    render(read(summary), project / "here")
    (project / "matplotlibrc").write_text(HOSTILE)
    code = (
        "import sys; from pathlib import Path; from evenkeel_lab.report import render; "
        "from evenkeel_lab.runner.results.summary import read; render(read(Path(sys.argv[1])), Path(sys.argv[2]))"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(summary), str(project / "there")],
        env=os.environ | OTHER_MACHINE | {"MATPLOTLIBRC": str(project / "matplotlibrc")},
        check=True,
    )
    assert contents(project / "there") == contents(project / "here")


# Plots of an ablation, of a queue and of drills.
NOT_OF_EVERY_SESSION = ("parts", "queue", "lanes")


class Tags(HTMLParser):
    """Parser that collects what a browser would fetch or execute."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def test_an_html_page_is_one_file_without_scripts_or_external_resources(
    project: Path, simulate: Any, profile: Profile, capsys: pytest.CaptureFixture[str]
) -> None:
    nasty = "<script>alert(1)</script> ![x](https://e.org/x.png) [y](https://e.org)"
    write(
        simulate({"question": nasty, "title": nasty, "hypothesis": nasty}),
        project / "investigations" / "case" / "summary.json",
    )
    write_profile(profile, project / "investigations" / "case" / "profile.json")
    assert "reports/case.html" in report(capsys, "--html")[1]
    html = (project / "reports" / "case.html").read_text()
    tags = Tags()
    tags.feed(html)
    assert (
        tags.names.count("svg")
        == tags.names.count("figure")
        == len(FIGURES) - len(NOT_OF_EVERY_SESSION) + len(profile.arms)
    )
    assert not {"script", "img", "link", "iframe", "object", "image", "use:href"} & set(tags.names)
    references = [value for name, value in tags.attributes if name in {"href", "src", "xlink:href"}]
    assert references
    assert all(value.startswith("#") for value in references)
    assert "url(#" in html
    assert "url(h" not in html
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for value in references} <= set(ids)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    words = [value for name, value in tags.attributes if name == "aria-label"]
    assert len(words) == len(FIGURES) - len(NOT_OF_EVERY_SESSION) + len(profile.arms)
    assert all(words)
    assert sum(label.startswith("Flame graph of ") for label in words) == len(profile.arms)
