"""Books: one question that takes several investigations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import books, find, known, name_of, read_book, template

if TYPE_CHECKING:
    from pathlib import Path

BOOK = """
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
def place(tmp_path: Path) -> Path:
    book = tmp_path / "investigations" / "overhead"
    for chapter in ("bug", "fix"):
        (book / chapter).mkdir(parents=True)
        (book / chapter / "investigation.toml").write_text(template(chapter))
    (book / "book.toml").write_text(BOOK)
    return tmp_path


def test_chapters_are_investigations_under_the_name_of_their_book(place: Path) -> None:
    assert list(books(place)) == ["overhead"]
    assert list(known(place)) == ["overhead/bug", "overhead/fix"]
    folder = find("overhead/bug", place)
    assert name_of(folder) == "overhead/bug"
    assert read_book(books(place)["overhead"]).chapters == ["bug", "fix"]


def test_a_folder_that_its_book_does_not_name_is_no_chapter(place: Path) -> None:
    path = place / "investigations" / "overhead" / "book.toml"
    path.write_text(BOOK.replace('["bug", "fix"]', '["fix"]').replace('chapter = "bug"', 'chapter = "fix"'))
    assert list(known(place)) == ["overhead/fix"]


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ('["bug", "fix"]', '["bug", "fix", "bug"]', ("a chapter is named twice", "")),
        ('quick = ["fix"]', 'quick = ["fix", "fix"]', ("a chapter is named twice", "")),
        ('figure = "cpu_ms"', 'figure = "error_rate"', ("error_rate is a share", "Cures are ranked by factors")),
        ('["bug", "fix"]', '["bug", "fixx"]', ("there is no chapter 'fix'", "Did you mean fixx?")),
        ('"bug", "fix"]', '"bug", "fix", "more"]', ("there is no chapter 'more'", "")),
        (
            'figure = "cpu_ms"',
            'figure = "cpu_mss"',
            ("there is no figure 'cpu_mss'", "Did you mean cpu_ms?"),
        ),
        ("[0.1, 0.5]", "[0.5, 0.1]", ("between: the first effect is the smaller one", "")),
        ("limits", "limit", ("there is no field 'limit'", "Did you mean limits?")),
        ('quick = ["fix"]', 'quick = ["fast"]', ("there is no chapter 'fast'", "")),
        ('title = "Callback overhead"', "", ("title is missing", "A few words.")),
        (
            'source = "a seed"',
            'source = "a seed"\ntold = "measured"',
            ("a claim is one of an effect, a share or a factor", ""),
        ),
        ('does = "Update."', 'does = "Update."\ntold = "share"', ("cures are told as effects", "Leave `told` out")),
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
            ('limits = ["One', f'answer = "It is {{{quotation}}}."\nlimits = ["One', told)
            for quotation, told in [
                ("bug on p50", ("{bug on p50} quotes nothing", "Write {CHAPTER: ARM, FIGURE}")),
                ("bugs: on, p50", ("there is no chapter 'bugs'", "Did you mean bug?")),
                ("bug: no, p50", ("bug never compares 'no' with 'off'", "It compares on against off")),
                ("bug: on, thruput", ("there is no figure 'thruput'", "Did you mean throughput?")),
                ("bug: on, p50}}", ("a brace stands alone: }}.", "Write {CHAPTER: ARM, FIGURE}")),
                ("bug: share of updates", ("bug takes no 'updates' apart", "It has no [ablation].")),
            ]
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_cure(place: Path, was: str, becomes: str, told: tuple[str, str]) -> None:
    path = place / "investigations" / "overhead" / "book.toml"
    assert was in BOOK
    path.write_text(BOOK.replace(was, becomes, 1))
    with pytest.raises(WrongUse) as refused:
        read_book(path.parent)
    assert told[0] in refused.value.what
    assert told[1] in refused.value.hint
