"""YAML and JSON in and out: strict, bounded, with positions; sole user of PyYAML."""

from evalstore.documents.document import Document, Span, Pointer, encode_document, json_pointer, read_text
from evalstore.documents.edit import replace_scalar, replace_scalars
from evalstore.documents.json_reader import LINE_LIMIT, read_json, read_row, read_value
from evalstore.documents.json_stream import JsonStream
from evalstore.documents.json_writer import write_canonical, convert_fraction, compute_digest, format_exact, write_json, write_row
from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
from evalstore.documents.yaml_writer import write_legacy_yaml, write_yaml

__all__ = [
    "LINE_LIMIT",
    "Document",
    "JsonStream",
    "Span",
    "Pointer",
    "write_canonical",
    "convert_fraction",
    "compute_digest",
    "encode_document",
    "format_exact",
    "json_pointer",
    "read_json",
    "read_legacy_yaml",
    "read_row",
    "read_text",
    "read_value",
    "read_yaml",
    "replace_scalar",
    "replace_scalars",
    "write_json",
    "write_legacy_yaml",
    "write_row",
    "write_yaml",
]
