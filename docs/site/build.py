"""Build the documentation site from the pages of the repository, strictly: a broken link is an error.

The README is its first page. Pages keep their paths, so links are the same as in the repository. Each page has its
markdown beside it, and `llms.txt` lists all of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
# The sources of investigations, with all their data, are in the repository only.
SOURCE_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)*investigations/[^)]*\)")
SECTIONS = {
    "Start": ("docs/install", "docs/tutorial_accounts", "docs/tutorial_change", "docs/howto", "docs/troubleshooting"),
    "Operate": ("docs/rotation", "docs/accounts", "docs/metrics", "docs/journal", "docs/failover"),
    "Callbacks": ("docs/prometheus", "docs/lean", "docs/gc_freeze", "docs/upstream"),
    "Measure": (
        *("docs/stack", "docs/mock", "docs/load", "docs/diagnose", "docs/doctor"),
        *("docs/investigations", "docs/verdicts", "docs/method"),
    ),
    "Findings": ("reports/index",),
    "Reference": (
        *("docs/settings", "docs/commands", "docs/python", "docs/glossary"),
        *("docs/compatibility", "docs/versioning"),
    ),
    "Project": ("docs/architecture", "CONTRIBUTING", "SECURITY", "docs/terms", "CHANGELOG"),
}


def main() -> int:
    """Build the site into the folder that the command line names, by default `dist/site`."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist" / "site").absolute()
    source = target.parent / f"{target.name}-source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    pages = gather(source)
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--jobs", "auto"]
    command += ["-c", Path(__file__).parent, source, target]
    if subprocess.run(command, check=False).returncode:
        return 1
    shutil.rmtree(target / ".doctrees", ignore_errors=True)
    for page in pages:
        shutil.copyfile(source / page, target / page)
    (target / "llms.txt").write_text(llms(source, pages), encoding="utf-8")
    return 0


def gather(source: Path) -> list[str]:
    """Copy all pages, and the files that they link to, into a folder. Return the paths of the pages."""
    pages = [
        *(f"{name}.md" for names in SECTIONS.values() for name in names if name != "reports/index"),
        *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("reports/**/*.md"))),
    ]
    for page in pages:
        _copy_page(source, page, page)
    _copy_page(source, "README.md", "index.md", _table_of_contents())
    return ["index.md", *pages]


def llms(source: Path, pages: list[str]) -> str:
    """Return the list of all pages for language models: the summary of the README, then a line for each page."""
    title, summary = (source / "index.md").read_text(encoding="utf-8").split("\n\n", 2)[:2]
    lines = [title, "", f"> {' '.join(summary.split())}", ""]
    for section, names in SECTIONS.items():
        lines += [f"## {section}", ""]
        own = [f"{name}.md" for name in names]
        if section == "Findings":
            own += [page for page in pages if page.startswith("reports/") and page != "reports/index.md"]
        lines += [f"- [{_title(source / page)}]({page})" for page in own]
        lines.append("")
    return "\n".join(lines)


def _title(page: Path) -> str:
    heading = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else page.stem


def _copy_page(source: Path, page: str, target: str, more: str = "") -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folder = (ROOT / page).parent
    path = source / target
    path.parent.mkdir(parents=True, exist_ok=True)

    def resolve(match: re.Match[str]) -> str:
        """Copy what a link leads to, if it is a file. A link to a folder leads to the folder's README."""
        before, link, after = match.groups()
        if "://" in link:
            return match[0]
        linked = (folder / link).resolve()
        if linked == ROOT / "README.md":
            return f"{before}{link.removesuffix('README.md')}index.md{after}"
        if linked.is_dir():
            link, linked = f"{link.rstrip('/')}/README.md", linked / "README.md"
        # Pages are copied by themselves, with their links resolved.
        if linked.suffix != ".md":
            own = source / linked.relative_to(ROOT)
            own.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, own)
        return f"{before}{link}{after}"

    path.write_text(LINK.sub(resolve, SOURCE_LINK.sub(r"\1", text)) + more, encoding="utf-8")


def _table_of_contents() -> str:
    blocks = []
    for section, names in SECTIONS.items():
        options = ":hidden:\n:maxdepth: 1\n:glob:" if section == "Findings" else ":hidden:\n:maxdepth: 1"
        pages = [*names, "reports/*", "reports/*/*"] if section == "Findings" else names
        blocks.append(f"\n```{{toctree}}\n{options}\n:caption: {section}\n\n" + "\n".join(pages) + "\n```\n")
    return "".join(blocks)


if __name__ == "__main__":
    sys.exit(main())
