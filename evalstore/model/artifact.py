"""An artifact: a document with a kind, an id and a version, and the two digests of its content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalstore.documents import Document, compute_document_digest
from evalstore.errors import LoadError
from evalstore.model.refs import ArtifactIdentity, Kind, is_id
from evalstore.notebook import format_repr
from evalstore.text import make_excerpt
from evalstore.versions import find_version

# Keys that no executor reads; a rubric, its checks and its questions may carry them freely.
COSMETIC_KEYS = frozenset({"title", "description", "metadata", "tags", "owner"})
RENAMED_FROM = "renamed_from"  # the id that an artifact had before
ROWS_KEY, _ROWS_ENDING = "rows", ".jsonl"
# The exceptions raised by reading a mapping that does not have the artifact's shape.
MALFORMED_ERRORS = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
_PARTS = ("checks", "questions")  # keys whose items may have cosmetic keys, too
# Root keys that cannot move a score.
_UNSCORED: dict[Kind, frozenset[str]] = {
    Kind.RUBRIC: frozenset({"id", "version", RENAMED_FROM, "examples"}),
    Kind.JUDGE: frozenset(
        {"id", "version", RENAMED_FROM, "validation", "applicable_to", "retires", "examples"}
    ),
    Kind.DATASET: frozenset({"id", "version", RENAMED_FROM}),
}


def describe_misfit(misfit: Exception) -> str:
    """Return one of `MALFORMED_ERRORS` in words: a missing key, a value, or what Python says."""
    if isinstance(misfit, KeyError):
        return f"`{make_excerpt(str(misfit.args[0]))}` is missing"
    text = make_excerpt(str(misfit))
    return text if isinstance(misfit, ValueError) else f"{type(misfit).__name__}: {text}"


# No slots, because cached properties need a `__dict__`.
@dataclass(frozen=True)
class Artifact(ArtifactIdentity):
    """One rubric, judge or dataset, as written in one file.

    Attributes:
        kind: `rubric`, `judge` or `dataset`.
        id: The id in the file.
        version: The version in the file, as written.
        document: The file's content with positions.

    Examples:
        >>> store.load("rubric/answer_style").versioned
        'rubric/answer_style@1.0.0'
    """

    kind: Kind
    id: str
    version: str
    document: Document

    def __repr__(self) -> str:
        return format_repr(self, self.versioned)

    @property
    def value(self) -> dict[str, Any]:
        """The document's mapping."""
        value: dict[str, Any] = self.document.value
        return value

    @property
    def versioned(self) -> str:
        """`<kind>/<id>@<version>`, with the version in its canonical spelling."""
        return f"{self.name}@{find_version(self.version) or self.version}"

    @property
    def former_name(self) -> str:
        """The name (`<kind>/<id>`) that the artifact had before a rename, or ""."""
        return find_former_name(self.kind, self.value)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything but `version`."""
        return compute_document_digest(
            {key: item for key, item in self.value.items() if key != "version"}
        )

    @cached_property
    def functional_digest(self) -> str:
        """SHA-256 over everything but `version` and the root keys meant for people."""
        unread = {"version", RENAMED_FROM, *COSMETIC_KEYS}
        return compute_document_digest(
            {key: item for key, item in self.value.items() if key not in unread}
        )

    @cached_property
    def scoring_digest(self) -> str:
        """SHA-256 over the part that can move a score."""
        return compute_document_digest(select_scoring_part(self.kind, self.value))


def find_former_name(kind: Kind, value: Any) -> str:
    """Return the earlier name of an artifact's mapping.

    "" if there is none, or it has another kind.

    `renamed_from` is a name or an id.
    """
    written = value.get(RENAMED_FROM) if isinstance(value, dict) else None
    id_ = written.removeprefix(f"{kind}/") if isinstance(written, str) else ""
    return f"{kind}/{id_}" if is_id(id_) and id_ != value.get("id") else ""


def find_rows_path(dataset: Artifact) -> str | None:
    """Return the path in the store of a dataset's rows; None if the dataset's own file has them.

    Raises `LoadError`, with its place, unless the name is that of a file next to the dataset on
    every system.
    """
    value: Any = dataset.document.value
    if dataset.kind is not Kind.DATASET or not isinstance(value, dict) or ROWS_KEY not in value:
        return None
    name = value[ROWS_KEY]
    if (
        not isinstance(name, str)
        or not name.endswith(_ROWS_ENDING)
        or not is_id(name.removesuffix(_ROWS_ENDING))
    ):
        named = f", not {make_excerpt(name)}" if isinstance(name, str) else ""
        raise LoadError(
            f"`rows` must name a file next to the dataset{named}",
            place=dataset.document.locate((ROWS_KEY,)),
            hint=f"rows: {dataset.id}{_ROWS_ENDING}",
        )
    return f"{dataset.kind.folder}/{name}"


def build_rows_name(id_: str) -> str:
    """Return the name of the file in which a new dataset keeps its rows."""
    return f"{id_}{_ROWS_ENDING}"


def select_scoring_part(kind: Kind, value: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an artifact's mapping that can move a score.

    That excludes cosmetic, extension and identity keys.
    """
    unscored = _UNSCORED[kind] | COSMETIC_KEYS
    part = {key: item for key, item in value.items() if key not in unscored and key[:2] != "x_"}
    for key in _PARTS:
        if isinstance(part.get(key), list):
            part[key] = [_drop_cosmetic(item) for item in part[key]]
    return part


def is_cosmetic(key: str) -> bool:
    """Whether executors ignore `key`: a declared cosmetic key or an `x_` extension."""
    return key in COSMETIC_KEYS or key.startswith("x_")


def _drop_cosmetic(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    # Called for each check of thousands of rubrics: one call per key would take as long as the
    # rest.
    return {
        key: value for key, value in item.items() if key not in COSMETIC_KEYS and key[:2] != "x_"
    }


def read_origin(value: Any) -> tuple[Any, Any] | None:
    """Return the format and suite that a migrated artifact came from.

    None for any other artifact.
    """
    source = value.get("x_source") if isinstance(value, dict) else None
    if not isinstance(source, dict) or "suite" not in source:
        return None
    return source.get("format"), source["suite"]
