"""Studies: one question that takes several investigations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import find, known, name_of, read_study, studies, template

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
title = "Callback overhead"
question = "What does it cost?"
method = "Duets."
limits = ["One machine."]
chapters = ["bug", "fix"]
quick = ["fix"]

[[claims]]
source = "a seed"
says = "it is slower"
chapter = "bug"
arm = "on"
figure = "p50"
between = [0.1, 0.5]

[[cures]]
does = "Update."
chapter = "fix"
arm = "on"
figure = "cpu_ms"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    study = tmp_path / "investigations" / "overhead"
    for chapter in ("bug", "fix"):
        (study / chapter).mkdir(parents=True)
        (study / chapter / "investigation.toml").write_text(template(chapter))
    (study / "study.toml").write_text(STUDY)
    return tmp_path


def test_chapters_are_investigations_under_the_name_of_their_study(project: Path) -> None:
    assert list(studies(project)) == ["overhead"]
    assert list(known(project)) == ["overhead/bug", "overhead/fix"]
    folder = find("overhead/bug", project)
    assert name_of(folder) == "overhead/bug"
    assert read_study(studies(project)["overhead"]).chapters == ["bug", "fix"]


def test_a_folder_that_its_study_does_not_name_is_no_chapter(project: Path) -> None:
    path = project / "investigations" / "overhead" / "study.toml"
    path.write_text(STUDY.replace('["bug", "fix"]', '["fix"]').replace('chapter = "bug"', 'chapter = "fix"'))
    assert list(known(project)) == ["overhead/fix"]


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ('["bug", "fix"]', '["bug", "fix", "bug"]', ("a chapter is named twice", "")),
        ('quick = ["fix"]', 'quick = ["fix", "fix"]', ("a chapter is named twice", "")),
        ('figure = "cpu_ms"', 'figure = "error_rate"', ("error_rate is a share", "Cures are ranked by factors")),
        ('["bug", "fix"]', '["bug", "fixx"]', ("there is no chapter 'fix'", "Did you mean fixx?")),
        ('"bug", "fix"]', '"bug", "fix", "more"]', ("there is no chapter 'more'", "")),
        (
            'figure = "cpu_ms"',
            'figure = "cpu_mss"',
            ("there is no metric 'cpu_mss'", "Did you mean cpu_ms?"),
        ),
        ("[0.1, 0.5]", "[0.5, 0.1]", ("between: the first effect must be the smaller one", "")),
        ("limits", "limit", ("there is no field 'limit'", "Did you mean limits?")),
        ('quick = ["fix"]', 'quick = ["fast"]', ("there is no chapter 'fast'", "")),
        ('title = "Callback overhead"', "", ("title is missing", "A few words.")),
        (
            'source = "a seed"',
            'source = "a seed"\nform = "measured"',
            ("form: expected effect, share or factor", ""),
        ),
        ('does = "Update."', 'does = "Update."\nform = "share"', ("the form of a cure is effect", "Leave `form` out")),
        ('limits = ["One', 'limits = ["{bug: no, p50 as measured}", "One', ("bug has no arm 'no'", "Did you mean on?")),
        (
            'limits = ["One',
            'limits = ["{bug: on against off, p50 as measured}", "One',
            ("p50 as measured is on's own", "Leave `against off` out."),
        ),
        (
            'limits = ["One',
            'limits = ["{bug: on, error_rate as a factor}", "One',
            ("error_rate is a share itself", "Leave `as a factor` out."),
        ),
        ('arm = "on"', 'arm = "no"', ("bug never compares 'no' with 'off'", "It compares on against off; again")),
        (
            'arm = "on"',
            'arm = "on"\nagainst = "again"',
            ("bug never compares 'on' with 'again'", "It compares on against off"),
        ),
        ('figure = "p50"', 'figure = "loop_lag"', ("bug does not judge 'loop_lag'", "")),
        *(
            ('limits = ["One', f'answer = "It is {{{quotation}}}."\nlimits = ["One', message)
            for quotation, message in [
                ("bug on p50", ("{bug on p50} is no quotation", "Write {CHAPTER: ARM, METRIC}")),
                ("bugs: on, p50", ("there is no chapter 'bugs'", "Did you mean bug?")),
                ("bug: no, p50", ("bug never compares 'no' with 'off'", "It compares on against off")),
                ("bug: on, thruput", ("there is no metric 'thruput'", "Did you mean throughput?")),
                ("bug: on, p50}}", ("a brace stands alone: }}.", "Write {CHAPTER: ARM, METRIC}")),
                ("bug: share of updates", ("bug has no switch 'updates'", "It has no [ablation].")),
            ]
        ),
    ],
)
def test_an_invalid_value_is_an_error_with_a_hint(
    project: Path, was: str, becomes: str, message: tuple[str, str]
) -> None:
    path = project / "investigations" / "overhead" / "study.toml"
    assert was in STUDY
    path.write_text(STUDY.replace(was, becomes, 1))
    with pytest.raises(WrongUse) as raised:
        read_study(path.parent)
    assert message[0] in raised.value.what
    assert message[1] in raised.value.hint
