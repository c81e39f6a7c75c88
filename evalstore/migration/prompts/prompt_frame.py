"""Reads, as data, the texts from which a program's code assembles a prompt.

None of the code is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.documents import compute_digest
from evalstore.migration.table import FrameRow

# The words around the places in a text: one more than there are places.
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """The texts of a prompt by their names in the table, and the file that they come from."""

    texts: Mapping[str, Words]
    file: str

    def render(self, name: str, *values: str) -> str:
        """Return a text with values in its places, in order."""
        pairs = zip(self.texts[name], (*values, ""), strict=True)
        return "".join(f"{words}{value}" for words, value in pairs)

    @property
    def digest(self) -> str:
        """The SHA-256 of the texts, with words in the order of the code."""
        return compute_digest({name: list(words) for name, words in self.texts.items()})

    @property
    def source(self) -> dict[str, Any]:
        """What a judge keeps of it, so that the next migration needs no installation."""
        texts = {name: list(words) for name, words in self.texts.items()}
        return {"file": self.file, "texts": texts}


def restore_frame(source: Any, row: FrameRow) -> PromptFrame | None:
    """Return the frame that a judge keeps; None if it keeps none, or words it did not take."""
    texts = source.get("texts") if isinstance(source, dict) else None
    if not isinstance(texts, dict) or compute_digest(texts) not in row.digests:
        return None
    return PromptFrame({name: tuple(words) for name, words in texts.items()}, row.file)


def read_frame(code: str, row: FrameRow) -> PromptFrame | None:
    """Return the frame in a file of the program; None if its texts are from no known release."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    texts: dict[str, Words] = {}
    for function, names in row.texts.items():
        found = _list_texts(functions[function]) if function in functions else []
        if len(found) != len(names):
            return None
        texts |= {name: words for name, words in zip(names, found, strict=True) if name}
    frame = PromptFrame(texts, row.file)
    return frame if frame.digest in row.digests else None


def _list_texts(function: ast.FunctionDef) -> list[Words]:
    """Return the texts of a function in order, except its docstring and parts of others."""
    found = (node for statement in function.body[1:] for node in _iterate_texts(statement))
    ordered = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    return [_split_text(node) for node in ordered]


def _iterate_texts(node: ast.AST) -> Iterator[ast.JoinedStr | ast.Constant]:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and is_text):
        yield node
        return
    for inner in ast.iter_child_nodes(node):
        yield from _iterate_texts(inner)


def _split_text(node: ast.JoinedStr | ast.Constant) -> Words:
    parts: Iterable[ast.expr] = node.values if isinstance(node, ast.JoinedStr) else [node]
    words = [""]
    for part in parts:
        if isinstance(part, ast.Constant):
            words[-1] += str(part.value)
        else:
            words.append("")
    return tuple(words)
