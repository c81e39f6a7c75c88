"""Every argument of every public function, given values of other types: one sentence comes out, and no raw error."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import evalstore
import evalstore.integrations
from evalstore import EvalstoreError, Judges, Store
from evalstore.api import write_first_store
from evalstore.store.init import Integrations, create_store
from tests.api.test_reference import MEMBERS, is_called

RUBRIC, DATASET, OUTPUTS = "rubric/answer_style", "dataset/help_desk", "outputs/model_a.jsonl"
AT = datetime(2026, 1, 1, tzinfo=UTC)


class Named:
    """A path of another library."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return self.path


class Stream:
    """What can be iterated over, and no more."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


# What is given in the place of each argument in turn.
ODD: tuple[Any, ...] = (
    None, True, 5, -1, 1.5, float("nan"), b"x", "", "x", "\0", "\ud800", [], ["x"], [5], (), {}, {"x": 5}, {"x": "x"}, {5: "x"}, {"x"},
    object(), len, int, Path("x"), Path("\0"), AT, Judges(), RuntimeError("x"), ["\0"], Stream(5), Stream("\0"), Named("x"), Named("\0"),
    Fraction(10) ** 400,
)  # fmt: skip


def list_calls(store: Store) -> dict[str, tuple[Callable[..., Any], Mapping[str, Any]]]:
    """Return each public function with arguments that it takes, by its name."""
    run = evalstore.score(DATASET, OUTPUTS, store=store, out=None)
    report = evalstore.migrate(OUTPUTS, into=".", dry_run=True)
    made = {
        "Store": store,
        "MigrationReport": report,
        "RubricScorer": evalstore.integrations.scorer(RUBRIC),
        "Run": run,
    }
    given: dict[str, Mapping[str, Any]] = {
        "audit": {"run_a": run, "run_b": run, "store": store},
        "check_conditions": {"audit": evalstore.audit(run, run, store), "conditions": "own<-2"},
        "compare": {"old": RUBRIC, "new": RUBRIC, "store": store},
        "evaluate": {"rubric": RUBRIC, "output": "x", "store": store},
        "export": {"refs": DATASET, "to": "promptfoo", "store": "."},
        "migrate": {"paths": OUTPUTS, "into": ".", "dry_run": True},
        "score": {"dataset": DATASET, "outputs": OUTPUTS, "store": store, "out": None},
        "scorer": {"rubric": RUBRIC},
        "Endpoint": {"url": "http://localhost:1"},
        "Judges": {},
        "MigrationReport.count": {"outcome": "lossy"},
        "MigrationReport.is_complete_but_for": {"losses": ["lossy"]},
        "RubricScorer.grade": {"output": "x", "question": {}},
        "Run.read": {"path": run.path},
        "Store.list_releases": {},
        "Store.load": {"ref": RUBRIC},
        "Store.open": {"path": "."},
        "Store.read_questions": {"dataset": DATASET},
        "Store.release": {"dry_run": True},
        "Store.resolve": {"ref": RUBRIC},
        "Store.resolve_all": {"refs": [RUBRIC]},
        "Store.with_worktree": {},
    }
    calls: dict[str, tuple[Callable[..., Any], Mapping[str, Any]]] = {}
    for name, arguments in given.items():
        of, _, method = name.rpartition(".")
        room = evalstore.integrations if name == "scorer" else evalstore
        calls[name] = getattr(made[of] if of else room, method), arguments
    return calls


def list_parameters(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    yield from inspect.signature(function).parameters.values()


def call_with(function: Callable[..., Any], given: Mapping[str, Any], odd: inspect.Parameter, value: Any) -> Any:
    """Call a function with one odd argument, which is one of several where it takes any number."""
    named, several = {**given, odd.name: value}, ()
    if (one := next((p for p in list_parameters(function) if p.kind is p.VAR_POSITIONAL), None)) is not None:
        before = [p.name for p in list_parameters(function) if p.kind is p.POSITIONAL_OR_KEYWORD]
        several = *(named.pop(name) for name in before), *([named.pop(one.name)] if one.name in named else [])
    found = function(*several, **named)
    return [*found] if isinstance(found, Iterator) else found


def test_no_argument_of_another_type_ends_in_a_raw_error(
    git: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repo"
    create_store(root, Integrations())
    write_first_store(root)
    monkeypatch.chdir(root)
    raw: list[str] = []
    with Store.open(root) as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.release()
        calls = list_calls(store)
        taking = {
            name
            for name, member in MEMBERS.items()
            if is_called(member) and inspect.signature(member).parameters.keys() - {"self", "cls"}
        }
        assert taking <= calls.keys()
        for name, (function, given) in calls.items():
            for parameter in list_parameters(function):
                for value in ODD:
                    if parameter.annotation.startswith(("Callable", "Watch", "Progress")) and callable(value):
                        continue
                    try:
                        call_with(function, given, parameter, value)
                    except EvalstoreError as error:
                        assert str(error), (name, parameter.name, value)
                    except Exception as error:  # what the test is about
                        raw.append(f"{name}({parameter.name}={value!a:.40}): {type(error).__name__}: {error!a}")
    assert not raw, "\n".join(raw)


def test_what_other_libraries_have_for_a_type_is_taken(
    git: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths, numbers and truth values that are not Python's own."""
    numpy = pytest.importorskip("numpy")
    root = tmp_path / "repo"
    create_store(root, Integrations())
    write_first_store(root)
    monkeypatch.chdir(root)
    with Store.open(Named(".")) as store, warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.simplefilter("ignore")
        store.release()
        for share in (Decimal("0.5"), numpy.float32(0.5), 1):
            run = evalstore.score(DATASET, Named(OUTPUTS), store=store, out=None, max_ungraded=share)  # type: ignore[arg-type]
        found = evalstore.audit(Named(str(run.path)), run, store, ask=numpy.bool_(False), moved=numpy.int64(2))  # type: ignore[arg-type]
        assert found.delta == 0
        assert evalstore.export(DATASET, to="promptfoo", store=Named("."), out=Named("there")).out == "there"  # type: ignore[arg-type]
        assert evalstore.migrate(Named(OUTPUTS), into=Named("."), dry_run=True)  # type: ignore[arg-type]
    assert type(evalstore.Endpoint("http://localhost:1", timeout=numpy.float32(5)).timeout) is float
