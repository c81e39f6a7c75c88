"""Writes new YAML files with ruamel.yaml, so that readers of YAML 1.1 and 1.2 read the same values back."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
from evalstore.errors import RefusedError

# What some reader of YAML 1.1 or 1.2 would take for something other than text.
_RETYPED = re.compile(
    r"|~|null|y|n|yes|no|on|off|true|false|[-+.]?[0-9][0-9_,.:eExXoOa-fA-F+-]*|[-+]?\.(?:inf|nan)|[=<].*|[0-9]{4}-.*",
    re.IGNORECASE | re.DOTALL,
)
_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_PLAIN = re.compile(rf"[\w(/]{_LINE}*")
_MARKS = re.compile(r": | #|[ :]\Z")
_BLOCK = re.compile(rf"(?=\S)(?:{_LINE}+(?<!\s)\n|\n)+(?:{_LINE}+(?<!\s))?\Z")


def write_yaml(value: Any, *, header: str = "") -> str:
    """Return `value` as a YAML document after `header` (comment lines); proves that it reads back equal."""
    text = header + _dumped(value)
    return _proved(text, equal=read_yaml(text, "<new file>").value == value)


def write_legacy_yaml(value: Any) -> str:
    """Return `value`, whose keys need not be texts, as a YAML document that `read_legacy_yaml` reads back equal."""
    text = _dumped(value)
    return _proved(text, equal=read_legacy_yaml(text, "<new file>").value == value)


def _proved(text: str, *, equal: bool) -> str:
    if not equal:
        raise RefusedError("a value cannot be written as YAML without changing it")
    return text


def _dumped(value: Any) -> str:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1 << 30  # a folded line would come back as other text
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.ignore_aliases = lambda _: True  # a number met twice is no alias
    yaml.representer.add_representer(Decimal, _decimal)
    yaml.representer.add_representer(type(None), _null)
    stream = io.StringIO()
    yaml.dump(_quoted(value) if isinstance(value, str) else _styled(value), stream)
    return stream.getvalue()


def _styled(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key) if isinstance(key, str) else key: _styled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_styled(item) for item in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    style: type[str] = DoubleQuotedScalarString
    if "\n" in text and _BLOCK.match(text):
        style = LiteralScalarString
    elif _PLAIN.fullmatch(text) and not _RETYPED.fullmatch(text) and not _MARKS.search(text):
        style = str
    return style(text)


def _quoted(text: str) -> str:
    """Style a text that is the whole document: ruamel does not indent a block there."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    quoted: str = DoubleQuotedScalarString(text)
    return quoted


def _decimal(representer: Any, value: Decimal) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:float", str(value))


def _null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")
