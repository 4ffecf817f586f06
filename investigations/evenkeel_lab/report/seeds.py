"""Page of the seeds: each statement of the documents that this project grew from, with its ruling."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.study import Claim
from evenkeel_lab.report.markdown import items, paragraph, table, text
from evenkeel_lab.report.study import ruling_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Study
    from evenkeel_lab.investigation_spec.seeds import ClaimReference, Row, Seeds
    from evenkeel_lab.investigation_spec.study import Unmeasured
    from evenkeel_lab.report.report_data import ReportData

INVALID, TO_BE_DONE, SEVERAL = "the session is invalid", "to be done", "with several rulings"
HEAD = ("statement", "ruling", "ours [interval]", "where")
MEANING = {
    "confirmed": "all of our interval lies in what the statement says",
    "refined": "there is an effect in its direction, of another size, or perhaps of another size",
    "refuted": "our interval lies outside of it",
    "open": "our interval allows both",
    "shown": "no effect to measure: a page or a test shows it",
    "ruled out": "it cannot be measured here, for the reason given",
    TO_BE_DONE: "not measured yet",
}


def seeds_page(seeds: Seeds, studies: Mapping[str, Study], by_study: Mapping[str, Mapping[str, ReportData]]) -> str:
    """Return the markdown of the page."""
    parts, counts = [], Counter[str]()
    for seed in seeds.seeds:
        rows = []
        for row in seed.rows:
            rulings, cells = _cells(row, studies, by_study)
            counts[rulings[0] if len(set(rulings)) == 1 else SEVERAL] += 1
            rows.append([text(row.says), *cells])
        parts += [f"## {text(seed.title)}", table(HEAD, rows, {HEAD[2]})]
    total = sum(counts.values())
    summed = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    head = [
        "# What became of the seeds",
        paragraph(text(seeds.about)),
        paragraph(f"{total} statements: {summed}."),
        items([f"**{name}**: {meaning}" for name, meaning in MEANING.items()]),
    ]
    return "\n\n".join([*head, *parts]) + "\n"


def _cells(
    row: Row, studies: Mapping[str, Study], by_study: Mapping[str, Mapping[str, ReportData]]
) -> tuple[Sequence[str], list[str]]:
    """Return the rulings on a statement, and the cells of its row."""
    for name, where in (("shown", row.shown), ("ruled out", row.ruled), (TO_BE_DONE, row.open)):
        if where:
            return [name], [f"**{name}**", "", where]
    rulings, effects, links = [], [], []
    for reference in row.claims:
        statement = _find(reference, studies)
        if isinstance(statement, Claim):
            if statement.chapter not in by_study[reference.study]:
                rulings.append(TO_BE_DONE)
                links.append(f"{reference.study}/{statement.chapter}")
                continue
            ruling = ruling_of(statement, by_study[reference.study])
            rulings.append(str(ruling.verdict) if ruling.is_believed else INVALID)
            effects.append(f"{statement.figure} {ruling.effect}")
            links.append(f"[{reference.study}/{statement.chapter}]({reference.study}/{statement.chapter}.md)")
        else:
            rulings.append("ruled out")
            links.append(f"[{reference.study}]({reference.study}.md#published-claims)")
    shown = ", ".join(f"**{name}**" for name in dict.fromkeys(rulings))
    return rulings, [shown, "<br>".join(effects), ", ".join(dict.fromkeys(links))]


def _find(reference: ClaimReference, studies: Mapping[str, Study]) -> Claim | Unmeasured:
    """Return the statement of a study that a row refers to."""
    study = studies.get(reference.study)
    known: list[Claim | Unmeasured] = [*study.claims, *study.unmeasured] if study else []
    matching = [statement for statement in known if statement.says.startswith(reference.says)]
    if len(matching) != 1:
        raise WrongUse(
            f"investigations/seeds.toml: {len(matching)} statements of {reference.study!r} begin with "
            f"{reference.says!r}.",
            hint="Write the beginning of one of them, as its study.toml has it.",
        )
    return matching[0]
