"""Escaping of foreign text: any content is rendered as plain text."""

from __future__ import annotations

from html import unescape

from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from evenkeel_lab.report.markdown import code, items, paragraph, prose, table, text

# As a code host renders it: with tables and strikethrough.
READ = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ANYTHING = st.text(st.characters(exclude_categories=["C"], exclude_characters="`"), min_size=1)
MARKUP = st.text("*_[]()<>&;#|\\~$!-+=1.:amp \"'/", min_size=1)
LINES = (ANYTHING | MARKUP).filter(str.strip)


def as_text(raw: str) -> str:
    return " ".join("".join(character for character in " ".join(raw.split()) if character.isprintable()).split())


def read(html: str) -> str:
    return as_text(unescape(html.removeprefix("<p>").removesuffix("</p>\n")))


@given(LINES)
def test_a_paragraph_renders_as_it_was_written(raw: str) -> None:
    assert read(READ.render(paragraph(text(raw)))) == as_text(raw)


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=3))
def test_a_table_keeps_its_cells(rows: list[tuple[str, str]]) -> None:
    made = table(("a", "b"), [[text(cell) for cell in row] for row in rows], {"b"})
    tokens = READ.parse(made)
    assert [token.type for token in tokens].count("tr_open") == 1 + len(rows)
    cells = [read(READ.renderInline(token.content)) for token in tokens if token.type == "inline"]
    assert cells == ["a", "b", *(as_text(cell) for row in rows for cell in row)]
    assert len({len(line) for line in made.splitlines()}) == 1


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1).filter(str.strip))
def test_code_renders_as_it_was_written(raw: str) -> None:
    (inline,) = (token for token in READ.parse(code(raw)) if token.type == "inline")
    assert inline.children is not None
    assert [(child.type, child.content) for child in inline.children] == [("code_inline", " ".join(raw.split()))]


def test_code_within_a_text_stays_code() -> None:
    assert text("What `user: *none*` costs") == "What `user: *none*` costs"
    assert text("a stray ` is none") == "a stray \\` is none"


def test_strong_emphasis_is_kept_in_prose_and_other_markup_is_not() -> None:
    assert prose("**A *new* cause.** It takes 2 * 3 ms, `a ** b ** c`.") == (
        r"**A \*new\* cause.** It takes 2 \* 3 ms, `a ** b ** c`."
    )


def test_long_lines_are_folded_and_no_fold_makes_a_list() -> None:
    raw = " ".join(["word"] * 21 + ["-", "1.", "+", "#", "="] * 20)
    folded = paragraph(text(raw))
    assert max(map(len, folded.splitlines())) <= 112
    assert READ.render(folded).count("<") == 2
    assert items(["a b"]) == "- a b"


def test_a_number_stays_on_the_line_of_its_unit() -> None:
    lines = paragraph("word " * 21 + "5.0 % " * 10).splitlines()
    assert len(lines) == 2
    assert all(line.endswith("%") for line in lines)


def test_a_column_without_any_content_is_left_out() -> None:
    rows = [["1", "", "3"], ["4", "", ""]]
    assert table(("a", "b", "c"), rows, {"c"}, drops_empty=True).splitlines() == [
        "| a   |   c |",
        "| --- | --: |",
        "| 1   |   3 |",
        "| 4   |     |",
    ]
    assert table(("a", "b"), [], drops_empty=True).startswith("| a   | b   |")
    assert table(("a", "b", "c"), rows).startswith("| a   | b   | c   |")
