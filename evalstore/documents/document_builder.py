"""Builds a document from parse events without recursion; counts depth and nodes as it goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstore.documents.document import (
    DEPTH_LIMIT,
    LEGACY_NODE_LIMIT,
    NODE_LIMIT,
    Document,
    DoubledKey,
    Pointer,
    Span,
)
from evalstore.documents.opaque import OPAQUE_DEPTH, OpaqueValue, write_flat
from evalstore.errors import LimitError, LoadError, Place

# Keys of a frame that no document can have: no key was read yet (a key may be null), or the merge
# key `<<`.
_NO_KEY: Any = object()
_MERGE_KEY: Any = object()
_ALIAS_HINT = "a string that begins with * needs quotes"


class AnchorNode(NamedTuple):
    """A node that aliases may repeat: its value, its number of nodes, and its depth."""

    value: Any
    nodes: int
    height: int


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is still open; `first` is the number of its node."""

    container: dict[Any, Any] | list[Any]
    pointer: Pointer
    span: Span
    anchor: str | None
    first: int
    key: Any = _NO_KEY
    height: int = 1
    merged: list[dict[Any, Any]] | None = None


@dataclass(slots=True)
class DocumentBuilder:
    """Collects the value and positions of one document; a reader calls it in text order.

    A `legacy` document may be larger; of duplicate keys the last counts, and what is nested too
    deep for an artifact becomes an `OpaqueValue`.
    """

    file: str
    text: str
    value: Any = None
    done: bool = False
    spans: dict[Pointer, Span] = field(default_factory=dict)
    key_spans: dict[Pointer, Span] = field(default_factory=dict)
    anchors: dict[str, AnchorNode] = field(default_factory=dict)
    legacy: bool = False
    depth_limit: int = DEPTH_LIMIT
    doubled: list[DoubledKey] = field(default_factory=list)
    opaque: list[Pointer] = field(default_factory=list)
    _stack: list[_Frame] = field(default_factory=list)
    _nodes: int = 0

    def build(self, *, bom: bool) -> Document:
        """Return the document."""
        doubled, opaque = tuple(self.doubled), tuple(self.opaque)
        return Document(
            self.file, self.text, self.value, self.spans, self.key_spans, bom, doubled, opaque
        )

    def locate(self, span: Span) -> Place:
        """Return the place of a position, for a message."""
        return Place(self.file, span.line, span.column)

    @property
    def wants_key(self) -> bool:
        """Whether the next scalar is the key of a mapping."""
        if not self._stack:
            return False
        frame = self._stack[-1]
        return frame.key is _NO_KEY and isinstance(frame.container, dict)

    def add_key(self, name: Any, span: Span) -> None:
        """Add the key of the next value; `LoadError` for a duplicate, including `1` and `1.0`."""
        frame = self._stack[-1]
        frame.key = name
        if self._is_deep:
            return
        pointer = (*frame.pointer, name)
        if self.legacy:
            # The mapping itself is asked, because positions below a dropped value stay.
            if name in frame.container:
                self.doubled.append(DoubledKey(pointer, self.key_spans[pointer].line, span.line))
        elif pointer in self.key_spans:
            raise self._build_duplicate_error(
                repr(name) if isinstance(name, str) else self.text[span.start : span.end],
                pointer,
                span,
            )
        self.key_spans[pointer] = span

    def add_merge_key(self, span: Span) -> None:
        """Add a merge key: the next value's entries join this mapping.

        The value is a mapping or a list of them.
        """
        frame = self._stack[-1]
        pointer = (*frame.pointer, _MERGE_KEY)
        if frame.merged is not None and not self._is_deep:
            self.doubled.append(
                DoubledKey((*frame.pointer, "<<"), self.key_spans[pointer].line, span.line)
            )
        self.key_spans[pointer] = span
        frame.key, frame.merged = _MERGE_KEY, frame.merged or []

    def add_scalar(self, value: object, span: Span, anchor: str | None = None) -> None:
        """Add a scalar value."""
        self._count_nodes(1, 1, span)
        if anchor:
            self.anchors[anchor] = AnchorNode(value, 1, 0)
        self._attach(value, span, 0)

    def open_container(
        self, container: dict[Any, Any] | list[Any], span: Span, anchor: str | None = None
    ) -> None:
        """Open a mapping or a sequence."""
        self._count_nodes(1, 1, span)
        if anchor:
            self.anchors.pop(anchor, None)
        self._stack.append(_Frame(container, self._find_pointer(), span, anchor, self._nodes))

    def close_container(self, end: int) -> None:
        """Close the innermost mapping or sequence at offset `end`."""
        frame = self._stack.pop()
        line, column, start, _ = frame.span
        # Precedence of merge keys: entries written here win, then those of earlier mappings.
        if frame.merged:
            pairs = (
                (key, value) for mapping in reversed(frame.merged) for key, value in mapping.items()
            )
            frame.container = dict(pairs) | dict(frame.container)
        if frame.anchor:
            self.anchors[frame.anchor] = AnchorNode(
                frame.container, self._nodes - frame.first + 1, frame.height
            )
        is_cut = self.legacy and len(self._stack) == OPAQUE_DEPTH
        value = OpaqueValue(write_flat(frame.container)) if is_cut else frame.container
        self._attach(value, Span(line, column, start, end), frame.height)

    def add_alias(self, name: str, span: Span) -> None:
        """Add the node of an anchor again; it counts against the limits as if written out."""
        # An anchor that is still open would contain itself, and a walk over the value would never
        # end.
        if any(frame.anchor == name for frame in self._stack):
            raise LoadError(f"the alias *{name} contains itself", place=self.locate(span))
        if name not in self.anchors:
            raise LoadError(
                f"the alias *{name} has no anchor", place=self.locate(span), hint=_ALIAS_HINT
            )
        anchor = self.anchors[name]
        self._count_nodes(anchor.nodes, anchor.height + 1, span)
        # A cut within a value that is used elsewhere, too, would restore another value.
        if self.legacy and not self._is_deep and len(self._stack) + anchor.height > OPAQUE_DEPTH:
            raise LimitError(
                f"an alias is nested deeper than {OPAQUE_DEPTH} levels", place=self.locate(span)
            )
        self._attach(anchor.value, span, anchor.height)

    @property
    def _is_deep(self) -> bool:
        """Whether the open container is in an opaque value, whose positions are not kept."""
        return self.legacy and len(self._stack) > OPAQUE_DEPTH

    def _find_pointer(self) -> Pointer:
        if not self._stack or self._is_deep:
            return ()
        frame = self._stack[-1]
        return (*frame.pointer, len(frame.container) if frame.key is _NO_KEY else frame.key)

    def _attach(self, value: object, span: Span, height: int) -> None:
        if not self._is_deep:
            pointer = self._find_pointer()
            self.spans[pointer] = span
            self.opaque += [pointer] if isinstance(value, OpaqueValue) else []
        if not self._stack:
            self.value, self.done = value, True
            return
        frame = self._stack[-1]
        if frame.height <= height:
            frame.height = height + 1
        if isinstance(frame.container, list):
            frame.container.append(value)
        elif frame.key is _MERGE_KEY:
            # Of several merge keys the last wins, of the mappings of one the first.
            frame.merged, frame.key = (
                [*self._check_mappings(value, span), *(frame.merged or ())],
                _NO_KEY,
            )
        elif frame.key is not _NO_KEY:
            frame.container[frame.key], frame.key = value, _NO_KEY

    def _check_mappings(self, value: Any, span: Span) -> list[dict[Any, Any]]:
        mappings: list[dict[Any, Any]] = value if isinstance(value, list) else [value]
        if all(isinstance(mapping, dict) for mapping in mappings):
            return mappings
        raise LoadError("<< needs a mapping or a list of mappings", place=self.locate(span))

    def _build_duplicate_error(self, key: str, pointer: Pointer, span: Span) -> LoadError:
        first = self.key_spans[pointer].line
        return LoadError(
            f"duplicate key {key} (first on line {first})",
            place=self.locate(span),
            hint="keep one of them; most programs read the last",
        )

    def _count_nodes(self, nodes: int, height: int, span: Span) -> None:
        # An alias counts as all the nodes that it repeats: a few lines of aliases could fill memory
        # ("billion laughs").
        self._nodes += nodes
        if len(self._stack) + height > self.depth_limit:
            raise LimitError(
                f"nested deeper than {self.depth_limit} levels", place=self.locate(span)
            )
        node_limit = LEGACY_NODE_LIMIT if self.legacy else NODE_LIMIT
        if self._nodes > node_limit:
            hint = "put large sets in rows: <id>.jsonl"
            raise LimitError(f"more than {node_limit:,} values", place=self.locate(span), hint=hint)
