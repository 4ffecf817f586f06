"""Try many inputs on every parser: `python fuzz.py --inputs 1000000`, or with Atheris, which follows the coverage.

It also measures how the time of each parser grows with the length of its input, in order to find quadratic time.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from fuzz_inputs import LONGEST, SEEDS, TOKENS, mutated
from fuzz_targets import TARGETS

LENGTHS = (20_000, 80_000)
# Four times the length may take this much longer. Quadratic time would take sixteen times as long.
MOST_GROWTH = 8.0
REPEATS = 5
PROGRESS_SECONDS = 10.0


def main() -> int:
    """Run, and return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=1_000_000, help="inputs in all")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--engine", choices=("mutations", "atheris"), default="mutations")
    chosen = options.parse_args()
    if chosen.engine == "atheris":
        return run_atheris(chosen.inputs, chosen.seed)
    failed = run_mutations(chosen.inputs, chosen.seed) + slow_parsers()
    return 1 if failed else 0


def run_mutations(inputs: int, seed: int) -> int:
    """Try mutations on all parsers in turn. Return the number of inputs that made one raise."""
    draw, names, failed = random.Random(seed), list(TARGETS), 0
    began = shown = time.monotonic()
    for number in range(inputs):
        name, data = names[number % len(names)], mutated(draw)
        try:
            TARGETS[name](data)
        except Exception:  # noqa: BLE001 - whatever it is, it is found
            failed += 1
            sys.stderr.write(f"{name} failed with {data[:500]!r}\n{traceback.format_exc()}\n")
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            sys.stderr.write(f"{number + 1:,} of {inputs:,} inputs, {failed} failed\n")
    seconds = time.monotonic() - began
    sys.stdout.write(f"{inputs:,} inputs over {len(names)} parsers in {seconds:.0f} s: {failed} failed\n")
    return failed


def slow_parsers() -> int:
    """Return the number of parsers whose time grows more than in proportion to the length."""
    slow = 0
    for name, target in TARGETS.items():
        worst = max((growth(target, piece), piece) for piece in (*TOKENS, *SEEDS))
        if worst[0] > MOST_GROWTH:
            slow += 1
            sys.stdout.write(f"{name}: {worst[0]:.1f} times as long for four times the length, of {worst[1][:40]!r}\n")
    sys.stdout.write(f"{slow} of {len(TARGETS)} parsers take more than linear time\n")
    return slow


def growth(target: Any, piece: bytes) -> float:
    """Return how much longer a parser takes for four times the length of a repeated piece."""
    short, long = (fastest(target, piece * (length // len(piece) + 1)) for length in LENGTHS)
    return long / max(short, 1e-4)


def fastest(target: Any, data: bytes) -> float:
    """Return the shortest of some times."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        target(data)
        times.append(time.perf_counter() - began)
    return min(times)


def run_atheris(inputs: int, seed: int) -> int:
    """Run Atheris, which ends the process when an input makes a parser raise."""
    try:
        import atheris  # noqa: PLC0415 - not on every processor
    except ImportError:
        sys.stderr.write("Atheris is not installed. It has wheels for some processors only: pip install atheris\n")
        return 2
    names = list(TARGETS)

    def one(data: bytes) -> None:
        if data:
            TARGETS[names[data[0] % len(names)]](data[1:])

    corpus = Path("data/fuzz")
    corpus.mkdir(parents=True, exist_ok=True)
    for number, piece in enumerate(SEEDS):
        for index in range(len(names)):
            (corpus / f"{number}-{index}").write_bytes(bytes([index]) + piece)
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-runs={inputs}", f"-seed={seed or 1}", f"-max_len={LONGEST}", str(corpus)], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
