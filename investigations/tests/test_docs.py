"""Documentation that drifts fails here: commands, options, variables, links, make targets, locks."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from evenkeel_lab.cli import COMMANDS, evenkeel
from evenkeel_lab.investigation_spec import Investigation, Study

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
# Put together, so that this file does not find itself.
ADDRESSES = ["py" + "pi.org", "python" + "hosted.org", "registry." + "npmjs", '"resol' + 'ved":', "--index" + "-url"]


def tracked() -> list[Path]:
    if shutil.which("git") is None:
        folders = ("plugin", "mock_llm", "loadtest", "investigations", "docs", "locks")
        return [path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    answer = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in answer.stdout.split("\0") if name]


def command(name: str) -> click.Command:
    found = evenkeel.get_command(click.Context(evenkeel), name)
    assert found is not None
    return found


def with_those_below(name: str) -> list[click.Command]:
    found = command(name)
    return [found, *found.commands.values()] if isinstance(found, click.Group) else [found]


def options() -> list[tuple[str, str]]:
    found = {
        (name, option)
        for name in COMMANDS
        for one in with_those_below(name)
        for parameter in one.params
        for option in parameter.opts
        if isinstance(parameter, click.Option)
    }
    return sorted(found)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_its_section(name: str) -> None:
    assert f"## `evenkeel {name}`" in (ROOT / "docs" / "commands.md").read_text()


@pytest.mark.parametrize(("name", "option"), options())
def test_every_option_is_in_its_commands_section(name: str, option: str) -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    section = page.split(f"## `evenkeel {name}`", 1)[1].split("\n## ", 1)[0]
    assert re.search(rf"`{re.escape(option)}[ `]", section)


def test_every_option_that_is_documented_exists() -> None:
    sections = (ROOT / "docs" / "commands.md").read_text().split("\n## `evenkeel ")[1:]
    known = set(options())
    for section in sections:
        name = section.split("`", 1)[0]
        for option in re.findall(r"^\| `(--[\w-]+)", section.split("\n## ", 1)[0], re.MULTILINE):
            assert (name, option) in known


def test_every_variable_is_documented() -> None:
    sources = [path.read_text() for path in ROOT.glob("*/*/**/*.py") if "tests" not in path.parts]
    used = {name for text in sources for name in re.findall(r'"(EVENKEEL_[A-Z_]+)"', text)}
    pages = "".join(page.read_text() for page in PAGES)
    assert {name for name in used if name not in pages} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_make_targets_that_are_named_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?(?:\$ )?make ([a-z-]+)`", page.read_text()):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_no_registry_address_and_no_path_of_a_machine_is_committed() -> None:
    machine = [str(ROOT), str(Path.home()) + "/"]
    for path in tracked():
        text = path.read_text(errors="replace") if path.is_file() else ""
        assert not [found for found in ADDRESSES + machine if found in text], path


def test_locks_fit_what_the_project_asks_for() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    wanted = set(re.findall(r'^    "([A-Za-z][\w.-]*)>=', project, re.MULTILINE))
    lock = (ROOT / "locks" / "dev.txt").read_text().lower()
    assert {name for name in wanted if f"\n{name.lower()}==" not in f"\n{lock}"} == set()


def test_every_markdown_line_fits() -> None:
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            assert len(line) <= 120 or line.startswith("|"), f"{page.name}:{number}"


SETTING = re.compile(r"`(?:evenkeel\.)?((?:rotation|metrics|budgets|journal|gc_freeze|lean)\.[a-z_]+(?:\.[a-z_]+)*)")
# The page on packages names modules in the same way.
NAMING = [page for page in PAGES if page.name not in {"architecture.md", "CHANGELOG.md"}]
STUDIES = sorted(ROOT.glob("investigations/*/study.toml"))


@pytest.mark.parametrize("page", [*NAMING, *STUDIES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_settings_that_are_named_exist(page: Path) -> None:
    settings = re.findall(r"^\| `([a-z_.]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    for named in SETTING.findall(page.read_text()):
        # The name may be that of a section, or of an entry of a mapping.
        assert any(f"{name}.".startswith(f"{named}.") or named.startswith(f"{name}.") for name in settings), named


def fields() -> set[str]:
    schemas = (Investigation.model_json_schema(), Study.model_json_schema())
    nodes = (node for schema in schemas for node in (schema, *schema["$defs"].values()))
    return {name for node in nodes for name in node.get("properties", {})}


@pytest.mark.parametrize("field", sorted(fields()))
def test_every_field_of_an_investigation_is_documented(field: str) -> None:
    page = (ROOT / "docs" / "investigations.md").read_text()
    assert re.search(rf"[`.\[]{field}[`.\]]", page)
