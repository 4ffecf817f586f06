"""The files of a new investigation: required fields are filled in, optional ones are named in comments."""

from __future__ import annotations

TEMPLATE = """\
title = "{title}"
question = "Does it make a difference?"
hypothesis = "It does not: it does nothing on the request's path."
baseline = "off"

# The subjects that are compared. An arm may also have a rotation, workers, and settings that override the proxy's YAML.
[arms.off]
about = "LiteLLM without callbacks"

[arms.on]
about = "LiteLLM with its Prometheus callback"
prometheus = "stock"

# The load of each run: the options of `evenkeel load`. One run of a minute is worth more than many short ones.
[load]
scenario = "chat"
users = 20
duration = 60.0

# The provider behind the proxies. Both runs of a pair have the same latencies.
[mock]
latency = {{ ttft_ms = 50 }}

# Duets load both arms at once, each on its own core. Looks are the numbers of pairs after which it may be judged.
# LiteLLM writes spend to the database every 13 seconds: a warm-up window of 26 seconds has two of these writes.
[session]
design = "duets"
looks = [6, 12, 24]
warm_up = 26.0

# The smallest differences that matter, fixed before measuring. The primary metric decides.
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

Why the question matters, and what depends on the answer: a few lines for readers of this folder.

```console
$ evenkeel investigate {name}
```

[investigation.toml](investigation.toml) states what is compared and which differences matter;
[notebook.py](notebook.py) shows the results.
"""


def template(name: str) -> str:
    """Return the text of a new `investigation.toml`."""
    return TEMPLATE.format(title=_title(name))


def readme(name: str) -> str:
    """Return the text of a new investigation's README."""
    return README.format(title=_title(name), name=name)


def _title(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").capitalize()
