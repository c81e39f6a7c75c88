"""The rules for names (CONTRIBUTING.md, Names): what a name must be so that a newcomer can grep for what the thing is."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import evalstore
from evalstore.report import RENDERERS
from tests.project.sources import list_nodes, parse_modules

# What a public function may begin with, beside the prepositions of conversions and the questions.
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text("utf-8").split())
QUESTIONS = frozenset({"is", "are", "has", "have", "can", "could", "may", "must", "needs", "should", "was", "were"})
CONVERSIONS = frozenset({"from", "to", "as", "with", "on"})  # from_json, to_dict, as_posix, with_dependents, on_error

# What does not end in `ed` or `ing` but is one, and what does and is none.
PARTICIPLES = frozenset({
    "told", "held", "taken", "shown", "said", "heard", "given", "kept", "made", "known", "seen", "worded", "written",
    "left", "sent", "built", "drawn", "gone", "done", "lost", "brought", "thought", "meant", "begun", "chosen", "hidden",
})  # fmt: skip
NO_PARTICIPLES = frozenset({"exceed", "need", "embed", "feed", "seed", "string"})

HOOKS = {f"pytest_{name}" for name in ("addoption", "configure", "testnodedown", "sessionfinish", "terminal_summary")}

# Folders whose modules are found by name: what each of them may be asked for, completed by its module's name.
PROTOCOLS: dict[str, frozenset[str]] = {
    "cli": frozenset({"command", "validate"}),  # click's objects: `evalstore judge validate` is judge.validate
    "report": frozenset(
        {"text", "document", "summary", "summarize", "markdown", "html", "csv", "everything", "dot", "mermaid"}
    ),
    "report/formats": frozenset({"render"}),
    # Words of the programs that call them.
    "integrations": frozenset({"scorer", "rubric", "a_measure", *HOOKS}),
    "migration/readers": frozenset({"read", "restore"}),
    "migration/readers/agentevals": frozenset({"read"}),
}

# Names that stay as they are, each with the reason. This list may only shrink.
ALLOWED: dict[str, str] = {
    "__main__.py:run": "the entry point that pyproject.toml names",
    "cli/main.py:group": "click's root object",
    "cli/main.py:main": "what a program begins with",
    "cli/param_types.py:KnownName.shell_complete": "click's word",
    "diff/kinds/__init__.py:at_least": "reads as the sentence it stands for: at_least('min_chars')",
    "diff/kinds/__init__.py:at_most": "reads as the sentence it stands for: at_most('max_chars')",
    "integrations/inspect/samples.py:dataset_samples": "public, in the README",
    "integrations/inspect/__init__.py:rubric_scorer": "public, in the README; Inspect registers it by name",
    "report/__init__.py:render": "the one function of the package",
    "report/formats/__init__.py:render": "the one function of the package",
    "runs/values.py:Run.rows": "public, and fixed",
    "store/contents.py:StoreReader.releases": "public, of `Store`",
    "store/contents.py:StoreReader.working": "public, of `Store`",
    "store/contents.py:StoreReader.without_lock": "public, of `Store`",
    "store/store.py:ArtifactStore.questions": "public, of `Store`",
    "store/store.py:ArtifactStore.rows": "public, of `Store`",
    "lint/run.py:validate": "the one function of the package",
}
MOST = 20


class Function(NamedTuple):
    """A function or method: where, its name with its class, and whether it is a property."""

    module: str
    qualified: str
    is_property: bool

    @property
    def name(self) -> str:
        return self.qualified.rpartition(".")[2]

    @property
    def words(self) -> list[str]:
        return [word for word in self.name.split("_") if word]

    @property
    def key(self) -> str:
        return f"{self.module}:{self.qualified}"


def is_protocol(module: str, name: str) -> bool:
    folder = module.removesuffix("/__init__.py").rpartition("/")[0]
    # The second result of a module is rendered by what the table of renderers says: `text_lock` of `written.lock`.
    word, _, suffix = name.partition("_")
    stem = module.removesuffix(".py").rpartition("/")[2]
    is_second = folder == "report" and f"{stem}.{suffix}" in RENDERERS.values()
    return (word if is_second else name) in PROTOCOLS.get(folder, ())


def classes() -> Iterator[tuple[str, str]]:
    for module, tree in parse_modules().items():
        yield from ((module, node.name) for node in tree.body if isinstance(node, ast.ClassDef))


@cache
def functions() -> list[Function]:
    def within(body: list[ast.stmt], prefix: str) -> Iterator[Function]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from within(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
                yield Function(module, prefix + node.name, bool(decorators & {"property", "cached_property"}))
            elif isinstance(node, ast.If):
                yield from within(node.body, prefix)

    found: list[Function] = []
    for module, tree in parse_modules().items():  # noqa: B007  # `within` reads it
        found += within(tree.body, "")
    return found


def public() -> list[Function]:
    return [one for one in functions() if not any(part.startswith("_") for part in one.qualified.split("."))]


def unexplained(found: list[str]) -> list[str]:
    return sorted(key for key in found if key not in ALLOWED)


@pytest.mark.heavy
def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for module, name in classes():
        places[name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def no_verbs() -> list[str]:
    starts = VERBS | QUESTIONS | CONVERSIONS
    return [
        one.key
        for one in public()
        if not one.is_property and one.words[0].lower() not in starts and not is_protocol(one.module, one.name)
    ]


def test_a_public_function_begins_with_a_verb_or_is_a_property() -> None:
    assert unexplained(no_verbs()) == []


@cache
def one_words() -> list[str]:
    """List functions of one word that their module does not complete: neither its name nor a name before a dot."""
    dotted = {
        f"{node.value.id}.{node.attr}"
        for module in parse_modules()
        for node in list_nodes(module, ast.Attribute)
        if isinstance(node.value, ast.Name)
    }
    imported = {
        (node.module.removeprefix("evalstore.").replace(".", "/"), alias.name)
        for module in parse_modules()
        for node in list_nodes(module, ast.ImportFrom)
        if node.module
        for alias in node.names
    }
    found = []
    for one in public():
        stem = one.module.removesuffix("/__init__.py").removesuffix(".py")
        last = stem.rpartition("/")[2]
        if "." in one.qualified or len(one.words) > 1 or one.name in {last, *evalstore.__all__}:
            continue
        if is_protocol(one.module, one.name):
            continue
        if f"{last}.{one.name}" not in dotted or (stem, one.name) in imported:
            found.append(one.key)
    return found


@pytest.mark.heavy
def test_a_name_of_one_word_is_completed_by_its_module() -> None:
    assert unexplained(one_words()) == []


def participles() -> list[str]:
    return [
        one.key
        for one in functions()
        if not one.name.startswith("__")
        and not one.is_property  # a state: `report.written`
        and not is_protocol(one.module, one.name)
        and (first := one.words[0].lower()) not in NO_PARTICIPLES
        and (first in PARTICIPLES or (first.endswith(("ed", "ing")) and len(first) > 4))
    ]


def test_no_name_begins_with_a_participle() -> None:
    assert unexplained(participles()) == []


@pytest.mark.heavy
def test_the_list_of_exceptions_only_shrinks() -> None:
    needed = {*no_verbs(), *one_words(), *participles()}
    assert sorted(ALLOWED.keys() - needed) == [], "these are exceptions no more: take them off the list"
    assert len(ALLOWED) <= MOST
