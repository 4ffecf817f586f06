"""Syntax of distributions on the command line and in YAML.

text   200    lognormal(median=200, sigma=0.5)    pareto(minimum=50, alpha=2, cap=5000)    empirical(file=ttft.txt)
       0.99*lognormal(median=200, sigma=0.5) + 0.01*pareto(minimum=2000, alpha=1.5)
YAML   any such text, or a number, or
       {lognormal: {median: 200, sigma: 0.5}}
       {mixture: [{weight: 0.99, lognormal: {...}}, {weight: 0.01, pareto: {...}}]}
       {empirical: {values: [1, 2, 3]}}    {empirical: {quantiles: {0: 100, 0.5: 200, 0.99: 900, 1: 4000}}}
file   one number a line, or a share and a number a line for quantiles; # begins a comment
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import fields
from evenkeel_mock.timing.distributions import (
    Capped,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Uniform,
)

Read = Callable[[str], str]

SIMPLE: dict[str, Callable[..., Distribution]] = {
    "constant": Constant,
    "uniform": Uniform,
    "exponential": Exponential,
    "lognormal": Lognormal,
    "pareto": Pareto,
    "gamma": Gamma,
}
PARAMETERS = {
    name: tuple(field.name for field in fields_of(kind) if field.init)  # type: ignore[arg-type]  # all are dataclasses
    for name, kind in SIMPLE.items()
}
EMPIRICAL = ("file", "values", "quantiles")
NAMES = (*SIMPLE, "empirical", "mixture")
PAIR = 2


def read_file(path: str) -> str:
    """Read an empirical file from the disk."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise MockConfigError(
            f"empirical: cannot read {path}: {error}.", hint="Name a text file of numbers."
        ) from error


def parse(value: object, where: str = "distribution", *, read: Read = read_file) -> Distribution:
    """Return the distribution that a text, a number or a mapping describes."""
    if isinstance(value, str):
        return _from_text(value, where, read)
    if isinstance(value, Mapping):
        return _from_mapping(value, where, read)
    return Constant(fields.number(value, where))


def _from_text(text: str, where: str, read: Read) -> Distribution:
    try:
        # First of all: the + of 1e+3 joins no parts.
        return Constant(float(text))
    except ValueError:
        pass
    parts = _split(text, "+", where)
    if len(parts) == 1 and "*" not in _head(text):
        return _term(text, where, read)
    weighted = []
    for part in parts:
        weight, star, rest = part.partition("*")
        if not star:
            raise MockConfigError(
                f"{where}: {part.strip()!r} has no weight.", hint="Such as 0.9*constant(5) + 0.1*constant(50)."
            )
        weighted.append((fields.positive(weight.strip(), f"{where}: weight"), _from_text(rest.strip(), where, read)))
    return Mixture(*zip(*weighted, strict=True))


def _term(text: str, where: str, read: Read) -> Distribution:
    name, opened, rest = text.strip().partition("(")
    name = fields.known(name.strip(), NAMES, "distribution", where)
    if name == "mixture":
        raise MockConfigError(f"{where}: a mixture has no name in a text.", hint="Such as 0.9*constant(5) + 0.1*50.")
    if not opened or not rest.endswith(")"):
        raise MockConfigError(f"{where}: {text.strip()!r} lacks its parentheses.", hint=f"Write {_example(name)}.")
    arguments: dict[str, object] = {}
    for argument in _split(rest[:-1], ",", where) if rest[:-1].strip() else []:
        key, equals, value = (piece.strip() for piece in argument.partition("="))
        if not equals:
            if len(PARAMETERS.get(name, ())) != 1:
                raise MockConfigError(f"{where}: {key!r} has no name.", hint=f"Write {_example(name)}.")
            key, value = PARAMETERS[name][0], key
        if key in arguments:
            raise MockConfigError(f"{where}: {key!r} is given twice.", hint="Give it once.")
        arguments[key] = value
    return _build(name, arguments, where, read)


def _from_mapping(value: Mapping[Any, Any], where: str, read: Read) -> Distribution:
    if len(value) != 1:
        raise MockConfigError(
            f"{where}: a distribution is a mapping with one key, its name.",
            hint="Such as {lognormal: {median: 200, sigma: 1}}.",
        )
    ((name, arguments),) = value.items()
    name = fields.known(str(name), NAMES, "distribution", where)
    if name != "mixture":
        if not isinstance(arguments, Mapping) and len(PARAMETERS.get(name, ())) == 1:
            arguments = {PARAMETERS[name][0]: arguments}
        return _build(name, arguments, where, read)
    if not isinstance(arguments, list):
        raise MockConfigError(f"{where}: a mixture is a list.", hint="Such as [{weight: 0.9, constant: 5}, ...].")
    weighted = []
    for number, part in enumerate(arguments):
        setting_path = f"{where}: mixture[{number}]"
        if not isinstance(part, Mapping) or "weight" not in part:
            raise MockConfigError(f"{setting_path}: has no weight.", hint="Such as {weight: 0.9, constant: 5}.")
        inner = {key: argument for key, argument in part.items() if key != "weight"}
        weighted.append(
            (fields.positive(part["weight"], f"{setting_path}: weight"), parse(inner, setting_path, read=read))
        )
    return Mixture(*zip(*weighted, strict=True)) if weighted else Mixture((), ())


def _build(name: str, arguments: object, where: str, read: Read) -> Distribution:
    setting_path = f"{where}: {name}"
    parameters = PARAMETERS.get(name, EMPIRICAL)
    given = dict(fields.mapping(arguments, (*parameters, "cap"), setting_path))
    cap = given.pop("cap", None)
    if name == "empirical":
        built: Distribution = _empirical(given, setting_path, read)
    else:
        missing = [key for key in parameters if key not in given]
        if missing:
            raise MockConfigError(f"{setting_path}: {missing[0]!r} is missing.", hint=f"Write {_example(name)}.")
        built = SIMPLE[name](**{key: fields.number(number, f"{setting_path}: {key}") for key, number in given.items()})
    return built if cap is None else Capped(built, fields.number(cap, f"{setting_path}: cap"))


def _empirical(given: Mapping[str, Any], setting_path: str, read: Read) -> Empirical:
    if len(given) != 1:
        raise MockConfigError(
            f"{setting_path}: takes one of {', '.join(EMPIRICAL)}.", hint="Such as empirical(file=ttft.txt)."
        )
    ((source, value),) = given.items()
    if source == "file":
        path = fields.text(value, f"{setting_path}: file")
        rows = [line.partition("#")[0].replace(",", " ").split() for line in read(path).splitlines()]
        return _of_rows([row for row in rows if row], f"{setting_path}: {path}")
    if source == "values" and isinstance(value, list):
        return _of_rows([[number] for number in value], setting_path)
    if source == "quantiles" and isinstance(value, Mapping):
        return _of_rows([[share, number] for share, number in value.items()], setting_path)
    raise MockConfigError(
        f"{setting_path}: {source} cannot be {value!r}.",
        hint="Values are a list; quantiles a mapping of shares to numbers.",
    )


def _of_rows(rows: list[list[Any]], setting_path: str) -> Empirical:
    widths = {len(row) for row in rows}
    if not rows or widths - {1, PAIR} or len(widths) != 1:
        raise MockConfigError(
            f"{setting_path}: no numbers, or uneven lines.", hint="One number a line, or share and number."
        )
    numbers = [[fields.number(number, setting_path) for number in row] for row in rows]
    if widths == {1}:
        return Empirical.of_values([number for (number,) in numbers])
    return Empirical(*zip(*sorted(map(tuple, numbers)), strict=True))


def _split(text: str, separator: str, where: str) -> list[str]:
    """Split where no parenthesis is open."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == separator and not depth:
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise MockConfigError(f"{where}: the parentheses of {text!r} do not match.", hint="Close what is opened.")
    return parts


def _head(text: str) -> str:
    return text.partition("(")[0]


def _example(name: str) -> str:
    return f"{name}({', '.join(f'{key}=...' for key in PARAMETERS.get(name, ('file',)))})"
