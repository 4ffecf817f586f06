"""The prose of README, pages and answers: sentences that a busy reader follows at first reading."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from evenkeel_lab.report.documented_numbers import FENCED

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[2]
STUDIES = sorted(ROOT.glob("investigations/*/study.toml"))
GUIDES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("howto", "install", "tutorial_accounts", "tutorial_change")),
]
MOST_WORDS, MOST_LINES = 35, 200
INTERVAL = re.compile(r"\[[-+]?[\d.,]+(?: [a-z%]+)?, [-+]?[\d.,]+[^\]]*\]|\{[\w/]+: [^}]+\}")
# After an abbreviation, a sentence goes on.
END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<=[.!?:])\**\s+(?=[A-Z`\[*{])")
RIDDLES = re.compile(
    r"\b(nobody|whoever|somebody|(?:is|are) (?:told|asked)|so (?:much|many|long|soon)|of which nothing)\b",
    re.IGNORECASE,
)


def paragraphs(markdown: str) -> list[str]:
    """Return the running text of a page: no code, tables, headings or quotes; each item of a list by itself."""
    text = FENCED.sub("\n", markdown)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    kept = [block for block in blocks if not re.match(r"\s*(?:#|\||>|<!--)", block)]
    return [" ".join(re.sub(r"\]\([^)]*\)", "]", block).split()) for block in kept]


def sentences(markdown: str) -> list[str]:
    return [sentence for paragraph in paragraphs(markdown) for sentence in END.split(paragraph) if sentence]


def answers() -> list[tuple[str, str]]:
    texts = []
    for path in STUDIES:
        study = tomllib.loads(path.read_text())
        texts += [
            (f"{path.parent.name}.{part}", study[part]) for part in ("short", "advice", "answer") if part in study
        ]
    return texts


PROSE = [(path.name, path.read_text()) for path in GUIDES] + answers()


@pytest.mark.parametrize(("name", "text"), PROSE, ids=[name for name, _ in PROSE])
def test_no_sentence_is_too_long_or_has_two_intervals(name: str, text: str) -> None:
    for sentence in sentences(text):
        assert len(re.findall(r"[\w'`]+(?:[-/.][\w`]+)*", INTERVAL.sub("x", sentence))) <= MOST_WORDS, sentence
        assert len(INTERVAL.findall(sentence)) <= 1, sentence


@pytest.mark.parametrize(("name", "text"), PROSE, ids=[name for name, _ in PROSE])
def test_no_sentence_has_to_be_decoded(name: str, text: str) -> None:
    found = RIDDLES.search(" ".join(paragraphs(text)))
    assert found is None, found


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MOST_LINES


REPORTS = sorted(ROOT.glob("reports/*.md"))


@pytest.mark.parametrize("page", REPORTS, ids=[page.stem for page in REPORTS])
def test_an_answer_states_the_direction_that_was_measured(page: Path) -> None:
    # An effect whose measured direction is not the one of its sentence keeps its sign.
    lines = page.read_text().partition("\n## ")[0].splitlines()
    answer = " ".join(line for line in lines if not line.startswith("!["))
    assert not re.findall(r"\b(?:is|was|are|only|throughput|mean) [-+]\d[^.]*", answer)
