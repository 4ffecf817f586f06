"""A new investigation to begin with: what has to be written is written, what may be is said beside it."""

from __future__ import annotations

TEMPLATE = """\
title = "{title}"
question = "Does it make a difference?"
hypothesis = "It does not: it does nothing on the request's path."
baseline = "off"

# What is compared. An arm may also have a rotation, workers, and settings that are laid over the proxy's YAML.
[arms.off]
about = "LiteLLM without callbacks"

[arms.on]
about = "LiteLLM with its Prometheus callback"
prometheus = "stock"

# What each run sends: the options of `evenkeel load`. A run of a minute tells more than many short ones.
[load]
scenario = "chat"
users = 20
duration = 60.0

# The provider behind the proxies; its draws are the same for both runs of a pair.
[mock]
latency = {{ ttft_ms = 50 }}

# Duets load both arms at once, each on a core of its own. A look is a number of pairs after which it may be judged.
# LiteLLM writes what was spent once in 13 seconds: each window of a warm-up has two of these.
[session]
design = "duets"
looks = [6, 12, 24]
warm_up = 26.0

# From where on a difference matters, fixed before anything is measured. One figure decides: the primary one.
[figures.p50]
margin = 0.05
floor = 1.0
primary = true

[figures.cpu_ms]
margin = 0.05

[figures.error_rate]
margin = 0.005
"""

README = """\
# {title}

Who asks, and what hangs on the answer: a few lines for whoever finds this folder.

```
evenkeel investigate {name}
```

[investigation.toml](investigation.toml) says what is compared, and which differences matter;
[notebook.py](notebook.py) shows what was found.
"""


def template(name: str) -> str:
    """Return the text of a new investigation."""
    return TEMPLATE.format(title=_title(name))


def readme(name: str) -> str:
    """Return the page of its folder."""
    return README.format(title=_title(name), name=name)


def _title(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").capitalize()
