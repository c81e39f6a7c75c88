"""Turns of phrase that no native engineer writes: each may stand as often as it does today, and only become rarer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.project.sources import list_nodes, parse_modules

ROOT = Path(__file__).parents[2]
PAGES = (
    *(
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "ARCHITECTURE.md",
        "docs/**/*.md",
        "action.yml",
        "templates/*.yml",
    ),
    *("schema/**/*.json", "migrations/**/*.yaml", "sample_repo/**/*.yaml", "evalstore/**/*.jinja"),
)

# What is said -> (its pattern, how often it still is). A better word is in the comment.
PHRASES = {
    "is no X": (r"(?<![Tt]here )\b(is|are) no (?!longer|more\b|such|matter|harm|trouble)\w", 0),  # is not a valid X
    "stands twice": (r"\bstands? twice\b", 0),  # duplicate key
    "not resolvable": (r"\bresolvable\b", 1),  # could be chance
    "MDE": (r"\bMDE\b", 1),  # could be chance; the claim of a JSON document has it by its contract
    "part of no mean": (r"\bpart of (no|any) mean\b", 0),  # counted in no mean
    "players": (r"\bplayers?\b", 0),  # what changed: the rubric, the outputs
    "ruler": (r"\brulers?\b", 0),  # rubric, judge
    "told of": (r"\btold of\b", 0),  # said about
    "is told": (r"\b(is|was|are|were) told\b", 0),  # recognised by, decided
    "stand for": (r"\bstands? for\b", 1),  # is, means
    "stands": (r"\b(stands?|stood)\b", 5),  # is
    "lies": (r"\blies\b", 1),  # is
    "beside": (r"\bbeside\b", 5),  # next to, with
    "none that": (r"\bnone that\b", 1),  # not one of the
    "says enough": (r"\bsays? (enough|too little)\b", 0),  # needs a higher version, is too low
    "so-manieth": (r"\bmanieth\b", 0),  # every n-th
    "the form it needs": (r"\bthe form (that )?(it|they) needs?\b", 0),  # write: …
    "passed over": (r"\bpassed over\b", 0),  # skipped
    "cannot be told": (r"\bcannot be told\b", 0),  # undecided; nobody can say
    "otherwise than": (r"\botherwise than\b", 0),  # differently
}


def read_sentences() -> Iterator[str]:
    """Yield every text of the package that is no docstring, every page, template, schema and table of a migration."""
    for path in parse_modules():
        docstrings = {
            id(node.body[0].value)
            for node in list_nodes(path, ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            if node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in list_nodes(path, ast.Constant):
            if isinstance(node.value, str) and id(node) not in docstrings:
                yield node.value
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            yield from re.split(r"\n\s*\n", path.read_text("utf-8"))


def test_turns_of_phrase_become_rarer() -> None:
    sentences = [" ".join(text.split()) for text in read_sentences()]
    for name, (pattern, most) in PHRASES.items():
        phrase = re.compile(pattern)
        found = [text for text in sentences if phrase.search(text)]
        count = sum(len(phrase.findall(text)) for text in found)
        assert count <= most, f"{name!r}, which stood {most} times:\n" + "\n".join(found)
        assert count == most, f"{name!r} is there {count} times now: write that number into PHRASES"


UNSHIPPED = re.compile(r"\b(SPEC|AUDIT|RULES|STYLE|THREATS|FOREIGN)(\.md)? [0-9]")


def test_no_page_is_cited_that_does_not_ship() -> None:
    paths = [path for folder in ("evalstore", "docs", "tests") for path in (ROOT / folder).rglob("*.[pm][yd]")]
    cited = [str(path) for path in paths if UNSHIPPED.search(path.read_text("utf-8"))]
    assert cited == []
