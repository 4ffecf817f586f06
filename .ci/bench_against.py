"""Compare benchmarks of this checkout with those of another commit, in turn, so that both meet the same noise.

    python .ci/bench_against.py COMMIT [--rounds 3] [picks rotation callback failover:overload ...]

Both are cloned into folders of their own and set up there. The table has the median of each metric and its ratio.

`picks` is the finest comparison: the processes of `evenkeel bench rotation` that pick accounts run side by side, and
take turns every two seconds. Its ratio is the median of the ratios of neighbouring turns, with a 95 % interval.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICKS = ("10", "100", "1000", "10000", "new:10", "new:1000")
PICK_WORKER = "investigations/evenkeel_lab/bench/rotation/pick_worker.py"
TURNS = 24
RESAMPLES = 2000


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


def compare(arms: dict[str, Path], bench: str, rounds: int) -> None:
    """Run a benchmark of both checkouts in turn and print the table."""
    values: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds):
        # The order alternates, as a machine may become slower from run to run.
        for arm in sorted(arms, reverse=bool(number % 2)):
            print(f"{bench}, round {number + 1} of {rounds}: {arm}", file=sys.stderr, flush=True)
            for metric, value in measure(arms[arm], bench).items():
                values.setdefault(metric, {}).setdefault(arm, []).append(value)
    print(f"\n{bench}\n{'metric':<44}{'before':>14}{'now':>14}{'ratio':>8}")
    for metric, found in values.items():
        before, now = (statistics.median(found.get(arm, [float("nan")])) for arm in ("before", "now"))
        ratio = f"{now / before:8.3f}" if before else f"{'':>8}"
        print(f"{metric:<44}{before:>14.6g}{now:>14.6g}{ratio}", flush=True)


class Picker:
    """A process that picks accounts for one turn at a time."""

    def __init__(self, folder: Path, accounts: str) -> None:
        self._process = subprocess.Popen(
            [str(folder / ".venv/bin/python"), str(folder / PICK_WORKER), accounts],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        # Its first line says that it is ready.
        self._read()

    def turn(self) -> list[float]:
        """Return the microseconds of each pick of a turn."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        (result,) = self._read().values()
        return list(result["picks"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("A process that picks accounts ended early.")
        return json.loads(line)


def compare_picks(arms: dict[str, Path]) -> None:
    """Run the picking processes of both checkouts in turn and print the table."""
    print(f"\npicks, us\n{'accounts':<10}{'quantile':>9}{'before':>10}{'now':>10}{'ratio':>8}  95 % interval")
    for name in PICKS:
        print(f"picks among {name}", file=sys.stderr, flush=True)
        with contextlib.ExitStack() as stack:
            pickers = {
                arm: stack.enter_context(contextlib.closing(Picker(folder, name))) for arm, folder in arms.items()
            }
            turns: dict[str, list[list[float]]] = {arm: [] for arm in arms}
            for number in range(TURNS):
                for arm in sorted(arms, reverse=bool(number % 2)):
                    turns[arm].append(pickers[arm].turn())
        for share in (50, 99):
            before, now = ([statistics.quantiles(turn, n=100)[share - 1] for turn in turns[arm]] for arm in arms)
            ratios = [b / a for a, b in zip(before, now, strict=True)]
            low, high = _interval(ratios)
            medians = "".join(f"{statistics.median(each):>10.1f}" for each in (before, now))
            ratio = f"{statistics.median(ratios):>8.3f}  {low:.3f} to {high:.3f}"
            print(f"{name:<10}{f'p{share}':>9}{medians}{ratio}", flush=True)


def _interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of their median, by resampling."""
    draws = random.Random(1)
    medians = sorted(statistics.median(draws.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def main() -> None:
    """Measure in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("benches", nargs="*", default=["picks", "rotation", "callback"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evenkeel-against-") as name:
        arms = {
            "before": check_out(options.commit, Path(name) / "before"),
            "now": check_out("HEAD", Path(name) / "now"),
        }
        for bench in options.benches:
            if bench == "picks":
                compare_picks(arms)
            else:
                compare(arms, bench, options.rounds)


if __name__ == "__main__":
    main()
