"""Turns of phrase that no native engineer writes: each may stand as often as it does today, and only become rarer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.rows import each

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", *map(str, sorted(ROOT.glob("docs/*.md"))))

# What is said -> (its pattern, how often it still is). A better word is in the comment.
PHRASES = {
    "is no X": (r"(?<![Tt]here )\b(is|are) no (?!longer|more\b|such|matter|harm|trouble)\w", 0),  # is not a valid X
    "stands twice": (r"\bstands? twice\b", 0),  # duplicate key
    "not resolvable": (r"\bresolvable\b", 1),  # could be chance
    "MDE": (r"\bMDE\b", 0),  # shows only changes of N points or more
    "part of no mean": (r"\bpart of (no|any) mean\b", 0),  # counted in no mean
    "players": (r"\bplayers?\b", 1),  # what changed: the rubric, the outputs
    "ruler": (r"\brulers?\b", 7),  # rubric, judge
    "told of": (r"\btold of\b", 0),  # said about
    "stand for": (r"\bstands? for\b", 0),  # is, means
    "lies": (r"\blies\b", 1),  # is
    "cannot be told": (r"\bcannot be told\b", 0),  # undecided; nobody can say
    "otherwise than": (r"\botherwise than\b", 0),  # differently
}


def read_sentences() -> Iterator[str]:
    """Yield every text of the package that is no docstring, and every page."""
    for path in sorted((ROOT / "evalstore").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield node.value
    for name in PAGES:
        yield " ".join((ROOT / name).read_text("utf-8").split())


SENTENCES = tuple(read_sentences())


@each(list(PHRASES))
def test_a_phrase_becomes_rarer(name: str) -> None:
    pattern, most = PHRASES[name]
    found = [text for text in SENTENCES if re.search(pattern, text)]
    count = sum(len(re.findall(pattern, text)) for text in found)
    assert count <= most, "\n".join(found)
    assert count == most, f"{name!r} is there {count} times now: write that number into PHRASES"
