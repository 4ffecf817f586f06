from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, ValidationError

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import Arm, Investigation, find, investigation as fields, known, read, template
from evenkeel_lab.investigation_spec.read import check_name
from evenkeel_lab.stats.metrics import METRICS

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "investigation.toml").write_text(text)
    return folder


def test_a_new_investigation_is_valid(tmp_path: Path) -> None:
    investigation = read(write(tmp_path / "callback_overhead", template("callback_overhead")))
    assert investigation.title == "Callback overhead"
    assert (investigation.primary, list(investigation.arms), investigation.session.looks) == (
        "p50",
        ["off", "on"],
        [6, 12, 24],
    )
    assert investigation.margins["p50"].floor == 1.0
    assert set(investigation.margins) <= set(METRICS)


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ('baseline = "off"', "", ("baseline is missing", "The arm that all others are compared with")),
        ("about", "abuot", ("arms.off.abuot", "Did you mean about?")),
        ("looks", "look", ("session.look", "Did you mean looks?")),
        ("prometheus", "promtheus", ("arms.on.promtheus", "Did you mean prometheus?")),
        ("[figures.p50]", "[figures.p51]", ("no metric 'p51'", "")),
        ('baseline = "off"', 'baseline = "of"', ("no arm 'of'", "")),
        ("[6, 12, 24]", "[6, 12, 24, 48]", ("session: expected 1 to 3 looks", "")),
        ("[6, 12, 24]", "[5]", ("a look needs at least 6 pairs, got 5", "")),
        ("margin = 0.05\nfloor", "floor", ("figures.p50.margin is missing", "a share of the baseline")),
        ("margin = 0.05\nfloor", "margin = 0\nfloor", ("figures.p50.margin", "")),
        ("primary = true", "primary = false", ("exactly one metric is primary", "")),
        ("users = 20", 'users = "many"', ("load.users", "Simulated users")),
        ('"chat"', '"chatter"', ("no scenario 'chatter'", "")),
        ("duration = 60.0", 'duration = 60.0\narrivals = "poisson"', ("poisson arrivals need --rate", "")),
        ("duration = 60.0", 'duration = 60.0\nuser_mode = "created"', ("an unknown number of created users", "")),
        ("duration = 60.0", 'duration = 60.0\nuser_mode = "guessed"', ("there is no", "")),
        ("duration = 60.0", "", ("a run needs `requests` or `duration`", "")),
        ('"duets"', '"duet"', ("session.design", "alternating or blocks")),
        ("[arms.on]", '[queue]\narms = ["off", "on", "no"]\n[arms.on]', ("there is no arm 'no'", "Did you mean")),
        (
            'baseline = "off"',
            'baseline = "off"\ncompare = [["off", "on"]]',
            ("compare: only blocks", 'design = "blocks"'),
        ),
        ("[arms.on]", '[queue]\narms = ["off", "on"]\n[arms.on]', ("queue.arms", "another number of `users`")),
        (
            "[arms.on]",
            '[queue]\narms = ["off", "on", "x"]\n[arms.x]\nabout = "x"\nload = { users = 3 }\n[arms.on]',
            ("queue: each of its arms needs another number of users", ""),
        ),
        (
            "[arms.on]",
            '[arms.x]\nabout = "x"\nbare = true\nload = { user_mode = "created", requests_per_user = 0 }\n[arms.on]',
            ("arms.x is bare: without a database", ""),
        ),
        (
            "[arms.on]",
            "[arms.x]\nabout = 'x'\nload = { user = 3 }\n[arms.on]",
            ("there is no field 'arms.x.load.user'", "Did you mean users?"),
        ),
        ("[arms.on]", "[arms.x]\nabout = 'x'\nload = { users = 0 }\n[arms.on]", ("arms.x.load.users: ", "")),
        ("[arms.on]", "[arms.again]", ("the arm 'again' is the runner's own", "")),
        ("title =", "title", ("cannot be read", "")),
        (
            "margin = 0.05\nfloor",
            "margin = true\nfloor",
            ("figures.p50.margin: expected a value, got true or false", ""),
        ),
        ("primary = true", 'primary = "yes"', ("figures.p50.primary: expected true or false", "decides")),
        ("floor = 1.0", "floor = inf", ("figures.p50.floor", "a difference that never matters")),
        ("margin = 0.005", "margin = 0.005\nfloor = 0.1", ("figures.error_rate is a share", "leave out the floor")),
        ("primary = true", 'primary = true\nunit = "s"', ("figures.p50 is known already", "leave out")),
        ("[figures.p50]", "[figures.value]", ("figures.value is measured by functions only", "")),
        ("[figures.p50]", "[figures.meann]", ("no metric 'meann'", "Did you mean mean?")),
        ('"chat"', '"chatt"', ("no scenario 'chatt'", "Did you mean chat?")),
        ('baseline = "off"', 'baseline = "of"', ("no arm 'of'", "Did you mean off?")),
        ("baseline =", 'short = "{x: of, p50}"\nbaseline =', ("x never compares 'of' with 'off'", "compares")),
        ("baseline =", 'advice = "{y: on, p50}"\nbaseline =', ("y is not measured there", "x")),
    ],
)
def test_an_invalid_value_is_an_error_with_a_hint(
    tmp_path: Path, was: str, becomes: str, message: tuple[str, str]
) -> None:
    text = template("x")
    assert was in text
    with pytest.raises(WrongUse) as raised:
        read(write(tmp_path / "x", text.replace(was, becomes, 1)))
    what, hint = message
    assert what in raised.value.what
    assert hint.lower() in raised.value.hint.lower()


def test_the_arms_of_a_queue_have_closed_loads(tmp_path: Path) -> None:
    arms = "".join(f"[arms.x{users}]\nabout = 'x'\nload = {{ users = {users} }}\n" for users in (1, 2, 3))
    queue = f'[queue]\narms = ["x1", "x2", "x3"]\n{arms}[arms.on]'
    text = template("x").replace("[arms.on]", queue)
    assert read(write(tmp_path / "x", text)).queue is not None
    text = text.replace("duration = 60.0", 'duration = 60.0\narrivals = "poisson"\nrate = 5.0')
    with pytest.raises(WrongUse, match="its arms need a closed load"):
        read(write(tmp_path / "x", text))


def test_a_queue_has_one_server(tmp_path: Path) -> None:
    arms = "".join(f"[arms.x{n}]\nabout = 'x'\nworkers = {n}\nload = {{ users = {n} }}\n" for n in (1, 2, 3))
    text = template("x").replace("[arms.on]", f'[queue]\narms = ["x1", "x2", "x3"]\n{arms}[arms.on]')
    with pytest.raises(WrongUse, match="the model has one server"):
        read(write(tmp_path / "x", text))


def test_only_a_proxy_has_a_version_of_litellm() -> None:
    function = {"about": "x", "subject": "function", "function": "a:b"}
    assert Arm.model_validate(function) == Arm.model_validate(function | {"litellm": "1.106.2"})
    assert Arm.model_validate({"about": "x", "litellm": "1.106.2"}).litellm == "1.106.2"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subject": "function"}, "if, and only if, its subject is `function`"),
        ({"function": "a:b"}, "if, and only if, its subject is `function`"),
        ({"subject": "function", "function": "a:b", "load": {"users": 3}}, "a function gets no requests"),
        ({"groups": 3}, "several groups need `accounts`"),
        ({"patch": "skip_budgets"}, 'needs prometheus = "stock"'),
        ({"patch": "plugin_early_return"}, 'needs prometheus = "evenkeel"'),
        ({"patch": "plugin_fresh_snapshots"}, 'needs rotation = "evenkeel"'),
    ],
)
def test_an_arm_that_cannot_be_measured_is_an_error(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(ValidationError, match=error):
        Arm.model_validate({"about": "x"} | fields)


def test_an_arm_may_be_warmed_up_otherwise(tmp_path: Path) -> None:
    text = template("x").replace("[arms.on]", "[arms.cold]\nabout = 'x'\nwarm_up = 0.0\n[arms.on]")
    investigation = read(write(tmp_path / "x", text))
    assert investigation.warm_up_of("cold") == 0
    assert (
        investigation.warm_up_of("on")
        == investigation.warm_up_of("again")
        == investigation.warm_up_of("direct")
        == investigation.session.warm_up
    )


def test_an_investigation_needs_margins(tmp_path: Path) -> None:
    text = template("x").split("# The smallest differences", 1)[0]
    with pytest.raises(WrongUse, match="figures is missing"):
        read(write(tmp_path / "x", text))


def test_investigations_are_found_from_anywhere_in_the_project(tmp_path: Path) -> None:
    write(tmp_path / "investigations" / "one", template("one"))
    write(tmp_path / "investigations" / "two", template("two"))
    below = tmp_path / "docs" / "deep"
    below.mkdir(parents=True)
    assert list(known(below)) == ["one", "two"]
    assert find("one", below) == tmp_path / "investigations" / "one"
    assert find(str(tmp_path / "investigations" / "two")) == tmp_path / "investigations" / "two"
    with pytest.raises(WrongUse, match="no investigation 'tow'") as raised:
        find("tow", below)
    assert raised.value.hint == "Did you mean two?"


@pytest.mark.parametrize("name", ["index", "new", "No Name", "../outside", ""])
def test_a_name_that_is_a_page_a_word_or_a_path_is_refused(name: str) -> None:
    with pytest.raises(WrongUse, match="no name for an investigation"):
        check_name(name)


def test_every_field_has_a_description() -> None:
    models = [value for value in vars(fields).values() if isinstance(value, type) and issubclass(value, BaseModel)]
    assert Investigation in models
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"


def test_the_template_names_no_field_twice() -> None:
    fields: dict[str, Any] = tomllib.loads(template("x"))
    assert set(fields) <= set(Investigation.model_fields)


def test_one_arm_without_a_second_baseline_is_nothing_to_compare(tmp_path: Path) -> None:
    fields = read(write(tmp_path / "x", template("x"))).model_dump()
    fields["arms"].pop("on")
    assert Investigation.model_validate(fields)
    fields["session"]["noise"] = False
    with pytest.raises(ValueError, match="nothing to compare"):
        Investigation.model_validate(fields)
