"""The examples in the docstrings of the public names, each run in the first store that `init --example` makes."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import evalstore
import evalstore.integrations
from evalstore import Store
from evalstore.api import write_first_store
from evalstore.store.init import Integrations, create_store


def list_members() -> Iterator[tuple[str, Any]]:
    """Yield what the reference describes: the public names, and the methods of their classes."""
    harnesses = {name: getattr(evalstore.integrations, name) for name in evalstore.integrations.__all__}
    for name, thing in {**{name: getattr(evalstore, name) for name in evalstore.__all__}, **harnesses}.items():
        yield name, thing
        if inspect.isclass(thing):
            members = {key: getattr(thing, key) for key in dir(thing) if not key.startswith("_")}
            for key, member in members.items():
                if inspect.isfunction(member) or inspect.ismethod(member) or isinstance(member, property):
                    yield f"{name}.{key}", member


MEMBERS = dict(list_members())


def is_called(member: Any) -> bool:
    return inspect.isfunction(member) or inspect.ismethod(member)


def test_every_public_name_is_described() -> None:
    assert len(MEMBERS) > 60
    assert [name for name, member in MEMBERS.items() if not inspect.getdoc(member)] == []
    callable_ = {name: inspect.getdoc(member) or "" for name, member in MEMBERS.items() if is_called(member)}
    for name, text in callable_.items():
        taken = set(inspect.signature(MEMBERS[name]).parameters) - {"self", "cls"}
        described = {word for word in taken if f"    {word}: " in text or f"    *{word}: " in text}
        assert taken == described, f"{name} does not describe {taken - described}"
    shown = {name for name, member in MEMBERS.items() if is_called(member) or inspect.isclass(member)}
    silent = {name for name in shown if ">>> " not in (inspect.getdoc(MEMBERS[name]) or "")}
    assert silent == set()
    for name, made in MEMBERS.items():
        fields = dataclasses.fields(made) if dataclasses.is_dataclass(made) else ()
        lines = inspect.getdoc(made) or ""
        assert [one.name for one in fields if one.name[0] != "_" and f"    {one.name}: " not in lines] == [], name


def test_every_example_does_what_it_says(git: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "repo"
    create_store(root, Integrations())
    write_first_store(root)
    monkeypatch.chdir(root)
    with Store.open(root) as store:
        store.release()
        names = {**{name: getattr(evalstore, name) for name in evalstore.__all__}, "store": store}
        names |= {"Fraction": Fraction, "evalstore": evalstore, "scorer": evalstore.integrations.scorer}
        finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        out: list[str] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, member in MEMBERS.items():
                for test in finder.find(member, name, globs=dict(names), module=False):
                    runner.run(test, out=out.append)
    assert not runner.failures, "".join(out)
    assert runner.tries > 50
