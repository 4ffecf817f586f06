"""A page as one self-contained HTML file: inline plots, no scripts, nothing fetched."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from evenkeel_lab.report.page import folder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

    from evenkeel_lab.report.page import Page

STYLE = """
:root { color-scheme: light dark;
  --ink: #1a1a1a; --paper: #ffffff; --quiet: #59595f; --line: #d5d5da; --field: #f5f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --paper: #17181b; --quiet: #a5a5ad; --line: #3a3b41; --field: #212226; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 62rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.25; margin: 2.2em 0 0.6em; }
h1 { margin-top: 0; font-size: 1.8rem; }
h2 { font-size: 1.3rem; border-top: 1px solid var(--line); padding-top: 1.2em; }
h3 { font-size: 1rem; }
p, li { max-width: 48rem; }
.scroll { overflow-x: auto; margin: 1em 0; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.35em 0.8em; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
td { min-width: 4rem; }
figure { margin: 1.2em 0; padding: 0.5rem; border: 1px solid var(--line); border-radius: 4px;
  overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 34rem; height: auto; }
code, pre { font: 0.875em/1.5 ui-monospace, monospace; background: var(--field); border-radius: 3px; }
code { padding: 0.1em 0.3em; }
pre { padding: 0.8em 1em; overflow-x: auto; }
pre code { padding: 0; font-size: 1em; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# HTML does not allow a figure within a paragraph.
FIGURE_IN_PARAGRAPH = re.compile(r"<p>(<figure>.*?</figure>)</p>", re.DOTALL)
IDS = re.compile(r'(\bid="|href="#|url\(#)')
SPACES = re.compile(r'\s+xmlns(?::\w+)?="[^"]*"')
SIZES = re.compile(r'\s(?:width|height)="[^"]*"')


def document(page: Page) -> str:
    """Return a page as HTML."""
    body = FIGURE_IN_PARAGRAPH.sub(r"\1", _markdown(page).render(page.markdown))
    title = next(line for line in page.markdown.splitlines() if line.startswith("# "))[2:]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(_plain(title))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{body}</body>\n</html>\n"
    )


def _plain(markdown: str) -> str:
    return re.sub(r"\\(\W)", r"\1", markdown)


def _markdown(page: Page) -> MarkdownIt:
    """Return a markdown renderer that shows HTML as text, and only links within the page as links."""
    figures = {f"{folder_of(page.name)}/{name}.svg": (name, text) for name, text in page.figures.items()}

    def image(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:
        name, text = figures[str(tokens[at].attrs["src"])]
        return inline_svg(text, name, renderer.renderInlineAsText(tokens[at].children, options, env))

    def link(_: RendererHTML, tokens: Sequence[Token], at: int, __: OptionsDict, ___: Any) -> str:
        target = str(tokens[at].attrs.get("href", ""))
        return f'<a href="{html.escape(target)}">' if target.startswith("#") else "<a>"

    def heading(renderer: RendererHTML, tokens: Sequence[Token], at: int, _: OptionsDict, __: Any) -> str:
        del renderer
        anchor = re.sub(r"[^a-z0-9]+", "-", tokens[at + 1].content.lower()).strip("-")
        return f'<{tokens[at].tag} id="{anchor}">'

    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    renderer.add_render_rule("image", image)
    renderer.add_render_rule("link_open", link)
    renderer.add_render_rule("heading_open", heading)
    renderer.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    renderer.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return renderer


def inline_svg(svg: str, name: str, alt: str) -> str:
    """Return a plot as inline SVG, with ids that are unique in the page and `alt` as its label."""
    _, _, rest = svg.partition("<svg")
    head, _, body = rest.partition(">")
    head = SIZES.sub("", SPACES.sub("", head))
    label = html.escape(alt, quote=True)
    body = IDS.sub(rf"\g<1>{name}-", body)
    return f'<figure><svg role="img" aria-label="{label}"{head}>{body.rstrip()}</figure>'
