"""Settings of Sphinx for the documentation site, which `build.py` builds."""

project = "litellm-evenkeel"
author = "the authors of litellm-evenkeel"
html_title = project
extensions = ["myst_parser"]
html_theme = "furo"
# Anchors are those of the repository's pages: the words of a heading, with hyphens.
myst_heading_anchors = 4
# Pages of reports begin with a heading, and have no level between it and their tables.
suppress_warnings = ["myst.header"]
exclude_patterns = ["_build"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_last_updated_fmt = None
