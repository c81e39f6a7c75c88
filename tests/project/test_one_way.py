"""One machine for each job (ARCHITECTURE.md): which rooms may hold it, and the mark by which a second one is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from tests.project.sources import list_nodes, parse_modules


class Job(NamedTuple):
    """A job, the only places that do it (a module, or a folder with a `/`), and the marks of whoever does it.

    A mark is a library that is imported (`yaml`), or a name that is imported from one (`dataclasses:is_dataclass`).
    """

    name: str
    places: tuple[str, ...]
    marks: tuple[str, ...]


JOBS = (
    Job("read YAML", ("documents/yaml_reader.py", "documents/yaml_values.py"), ("yaml",)),
    Job("write YAML", ("documents/yaml_writer.py",), ("ruamel",)),
    Job("find a pattern in a text", ("languages/patterns/",), ("regex",)),
    Job("hold a value against a JSON Schema", ("languages/schemas/",), ("jsonschema", "referencing")),
    Job("read Markdown", ("checks/markdown.py",), ("markdown_it",)),
    Job("read PHP", ("checks/php.py",), ("tree_sitter", "tree_sitter_php")),
    Job("parse and compare versions", ("versions.py",), ("semver",)),
    Job("find the paths at which two values differ", ("diff/plain_data.py",), ("deepdiff",)),
    Job(
        "compare two stored versions",
        ("release/changes/comparison.py", "api/functions.py"),
        ("evalstore.diff:compare",),
    ),
    Job("run git", ("store/",), ("git",)),
    Job("start a program", ("store/", "checks/php.py", "demo/", "runs/parquet.py"), ("subprocess",)),
    Job("use several processes", ("scoring/workers.py",), ("concurrent", "multiprocessing", "dask", "distributed")),
    Job("read and write Parquet", ("runs/",), ("pyarrow",)),
    Job("unpack Zstandard and gzip", ("runs/packed.py",), ("backports", "compression", "gzip")),
    Job("ask a judge", ("scoring/judging/connections.py",), ("urllib3", "certifi")),
    Job("write a page", ("report/pages/",), ("jinja2", "markupsafe")),
    Job("write the JSON of a result", ("report/json_values.py",), ("dataclasses:is_dataclass",)),
    Job("parse a command line", ("cli/",), ("click", "argparse")),
)


class Fact(NamedTuple):
    """A fact, the one function that answers it, the module that has it, and the key that nobody else may look up."""

    function: str
    place: str
    key: str


# The values of a dataset in the memory of a comparison, and the format of another tool, have a key of that name, too.
FACTS = (Fact("find_rows_path", "model/artifact.py", "rows"), Fact("is_device_name", "text.py", "con"))
OTHER_ROWS = {"diff/changes/dataset.py", "migration/readers/legal_eval_v1.py", "runs/values.py"}


@cache
def map_definitions() -> dict[str, list[str]]:
    """Map each function's name, private or not, to the modules that define it."""
    found: dict[str, list[str]] = {}
    for path in parse_modules():
        for node in list_nodes(path, ast.FunctionDef):
            found.setdefault(node.name.lstrip("_"), []).append(path)
    return found


def list_definitions(function: str) -> list[str]:
    """List the modules that define a function of a name, private or not."""
    return map_definitions().get(function, [])


def list_lookups(key: str) -> set[str]:
    """List the modules that look a key up in a mapping, or write a pattern that begins with it."""
    found = set()
    for path in parse_modules():
        for node in list_nodes(path, ast.Subscript, ast.Call):
            value = node.slice if isinstance(node, ast.Subscript) else None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                value = node.args[0] if node.args else None
            elif isinstance(node, ast.Call) and "compile" in ast.unparse(node.func) and node.args:
                value = node.args[0]
            if isinstance(value, ast.Constant) and str(value.value).lstrip("(?:^").split("|")[0] == key:
                found.add(path)
    return found


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.function)
def test_one_function_has_the_fact(fact: Fact) -> None:
    assert list_definitions(fact.function) == [fact.place]
    assert list_lookups(fact.key) - OTHER_ROWS <= {fact.place}


def list_marks(path: str) -> Iterator[str]:
    """Yield every library of a module and every name from one, wherever and however it is imported."""
    for node in list_nodes(path, ast.Import, ast.ImportFrom, ast.Call):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
            yield from (f"{node.module}:{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("import_module"):
            yield from (str(name.value).partition(".")[0] for name in node.args if isinstance(name, ast.Constant))


@cache
def map_marks() -> dict[str, frozenset[str]]:
    return {path: frozenset(list_marks(path)) for path in parse_modules()}


def find_doers(job: Job) -> dict[str, set[str]]:
    """Find the modules that bear a mark of a job, and which."""
    found = {path: marks & set(job.marks) for path, marks in map_marks().items()}
    return {path: set(marks) for path, marks in found.items() if marks}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_one_machine_does_the_job(job: Job) -> None:
    seconds = {path: marks for path, marks in find_doers(job).items() if not path.startswith(job.places)}
    for path, marks in seconds.items():
        pytest.fail(
            f"evalstore/{path} ({', '.join(sorted(marks))}) is a second machine to {job.name}: call "
            f"{' or '.join(f'evalstore/{place}' for place in job.places)} instead and delete it, "
            "or let it replace the first one and delete that"
        )


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_place_does_its_job(job: Job) -> None:
    doers = find_doers(job)
    assert [place for place in job.places if not any(path.startswith(place) for path in doers)] == []


# What had two definitions once, and the one that is left.
SINGLE_DEFINITIONS = {
    "fill_from_question": "checks/question_values.py",
    "find_inner_ref": "checks/kinds/__init__.py",
    "list_check_kinds": "model/check_schemas.py",
    "load_check_schema": "model/check_schemas.py",
    "read_phrase": "checks/phrases.py",
}


@pytest.mark.parametrize("function", SINGLE_DEFINITIONS)
def test_a_fact_that_had_two_functions_has_one(function: str) -> None:
    assert list_definitions(function) == [SINGLE_DEFINITIONS[function]]
