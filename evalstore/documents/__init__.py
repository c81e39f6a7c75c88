"""YAML and JSON in and out: strict, bounded, with positions; sole user of PyYAML."""

from typing import TYPE_CHECKING

from evalstore.documents.document import (
    Document,
    DoubledKey,
    Pointer,
    Span,
    encode_document,
    follow_pointer,
    format_json_pointer,
    read_text,
)
from evalstore.documents.file_signs import (
    GZIP,
    PARQUET,
    ZIP,
    ZSTANDARD,
    name_binary_file,
)
from evalstore.documents.json_writer import (
    compute_digest,
    compute_document_digest,
    convert_fraction,
    format_exact,
    write_canonical,
    write_json,
    write_row,
)
from evalstore.documents.opaque import OPAQUE_DEPTH, OpaqueValue
from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.documents.edit import replace_scalar, replace_scalars
    from evalstore.documents.json_reader import (
        LINE_LIMIT,
        find_plain_id,
        read_javascript_value,
        read_json,
        read_leading_value,
        read_legacy_json,
        read_legacy_row,
        read_row,
        read_value,
    )
    from evalstore.documents.json_stream import JsonStream
    from evalstore.documents.yaml_writer import write_legacy_yaml, write_yaml

__all__ = [
    "GZIP",
    "LINE_LIMIT",
    "OPAQUE_DEPTH",
    "PARQUET",
    "ZIP",
    "ZSTANDARD",
    "Document",
    "DoubledKey",
    "JsonStream",
    "OpaqueValue",
    "Pointer",
    "Span",
    "compute_digest",
    "compute_document_digest",
    "convert_fraction",
    "encode_document",
    "find_plain_id",
    "follow_pointer",
    "format_exact",
    "format_json_pointer",
    "name_binary_file",
    "read_javascript_value",
    "read_json",
    "read_leading_value",
    "read_legacy_json",
    "read_legacy_row",
    "read_legacy_yaml",
    "read_row",
    "read_text",
    "read_value",
    "read_yaml",
    "replace_scalar",
    "replace_scalars",
    "write_canonical",
    "write_json",
    "write_legacy_yaml",
    "write_row",
    "write_yaml",
]

# Code that only reads a store needs none of these.
__getattr__ = import_lazily(
    __name__,
    {
        ".edit": ("replace_scalar", "replace_scalars"),
        ".json_reader": (
            "LINE_LIMIT",
            "read_javascript_value",
            "find_plain_id",
            "read_json",
            "read_leading_value",
            "read_legacy_json",
            "read_legacy_row",
            "read_row",
            "read_value",
        ),
        ".json_stream": ("JsonStream",),
        ".yaml_writer": ("write_legacy_yaml", "write_yaml"),
    },
)
