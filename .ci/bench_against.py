"""Compare benchmarks of this checkout with those of another commit, in turn, so that both meet the same noise.

    python .ci/bench_against.py COMMIT [--rounds 3] [rotation callback failover:overload ...]

Both are cloned into folders of their own and set up there. The table has the median of each metric and its ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check_out(commit: str, folder: Path) -> Path:
    """Clone a commit and set it up."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", commit], check=True)
    subprocess.run(["make", "--quiet", "setup"], cwd=folder, check=True, stdout=sys.stderr)
    return folder


def measure(folder: Path, bench: str) -> dict[str, float]:
    """Run a benchmark, or `BENCHMARK:PART`, and return its metrics. A missed bound is a result too."""
    name, _, part = bench.partition(":")
    command = [str(folder / ".venv/bin/evenkeel"), "bench", name, *(["--part", part] if part else []), "--json"]
    result = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, text=True)
    if result.returncode not in (0, 1):
        sys.exit(f"{bench} in {folder} ended with {result.returncode}")
    return {metric["name"]: metric["value"] for metric in json.loads(result.stdout)["metrics"]}


def main() -> None:
    """Measure in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("benches", nargs="*", default=["rotation", "callback"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evenkeel-against-") as name:
        arms = {
            "before": check_out(options.commit, Path(name) / "before"),
            "now": check_out("HEAD", Path(name) / "now"),
        }
        for bench in options.benches:
            values: dict[str, dict[str, list[float]]] = {}
            for number in range(options.rounds):
                # The order alternates, as a machine may become slower from run to run.
                for arm in sorted(arms, reverse=bool(number % 2)):
                    print(f"{bench}, round {number + 1} of {options.rounds}: {arm}", file=sys.stderr, flush=True)
                    for metric, value in measure(arms[arm], bench).items():
                        values.setdefault(metric, {}).setdefault(arm, []).append(value)
            print(f"\n{bench}\n{'metric':<44}{'before':>14}{'now':>14}{'ratio':>8}")
            for metric, found in values.items():
                before, now = (statistics.median(found.get(arm, [float("nan")])) for arm in ("before", "now"))
                ratio = f"{now / before:8.3f}" if before else f"{'':>8}"
                print(f"{metric:<44}{before:>14.6g}{now:>14.6g}{ratio}", flush=True)


if __name__ == "__main__":
    main()
