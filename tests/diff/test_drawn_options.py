"""What the pairs of the fuzz can say: every key and word of the schemas, and every construct of a pattern.

A claim about an option that is never drawn is never held against a grade.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from evalstore.model import find_kind
from evalstore.places import find_resource_folder
from tests.diff.fuzz.draw import draw, randomness
from tests.diff.fuzz.pair import Value

PAIRS, SEED = 5000, 20261130
SCHEMAS = find_resource_folder("schema")
# What says who made an artifact, and nothing of a score; rows beside a dataset are read in `claims`.
ASIDE = re.compile(
    r"(rubric|judge|dataset)\.(id|version|renamed_from|label|owner|splits|rows|metadata|description|tags|examples|validation"
    r"|retires|applicable_bundles|x_source|x_unmapped|x_migration)\b.*|dataset\.questions\[\]\..*"
)


def read_schema(name: str) -> Mapping[str, Any]:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def list_options(schema: Any, root: Mapping[str, Any], at: str) -> Iterator[str]:
    """Yield the way to every key of a schema, and every word of an enum."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from list_options(root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    yield from (f"{at}={word}" for word in schema.get("enum", ()))
    for name, part in schema.get("properties", {}).items():
        if part != {"not": {}}:
            yield f"{at}.{name}"
            yield from list_options(part, root, f"{at}.{name}")
    yield from list_options(schema.get("items"), root, f"{at}[]")
    for name in ("then", "else"):
        yield from list_options(schema.get(name), root, at)


def list_said(value: Any, at: str) -> Iterator[str]:
    """Yield the way to every key that an artifact has, and every text at one."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield f"{at}.{name}"
            yield from list_said(item, f"{at}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from list_said(item, f"{at}[]")
    elif isinstance(value, str):
        yield f"{at}={value}"


def list_artifact(value: Value) -> Iterator[str]:
    kind = find_kind(value)
    for check in value.get("checks", ()):
        yield from list_said(check, str(check.get("kind")))
    yield from list_said({name: item for name, item in value.items() if name != "checks"}, str(kind))


@cache
def draw_artifacts() -> tuple[Value, ...]:
    pairs = (draw(randomness(SEED, index)) for index in range(PAIRS))
    return tuple(side for pair in pairs for side in (pair.old, pair.new, *pair.refs.values()))


def test_every_option_of_every_kind_is_drawn() -> None:
    kinds = [path.name.partition(".")[0] for path in (SCHEMAS / "checks").glob("*.json")]
    wanted = {
        one
        for kind in kinds
        for one in list_options(read_schema(f"checks/{kind}"), read_schema(f"checks/{kind}"), kind)
    }
    for kind in ("rubric", "judge", "dataset"):
        schema = dict(read_schema(kind))
        schema["properties"] = {name: part for name, part in schema["properties"].items() if name != "checks"}
        wanted |= {one for one in list_options(schema, schema, kind) if not ASIDE.fullmatch(one)}
    drawn = {one for value in draw_artifacts() for one in list_artifact(value)}
    assert not wanted - drawn, "\n".join(sorted(wanted - drawn))


# What the language of patterns has, each as it is written, and what the engine knows and a comparison refuses.
CONSTRUCTS = {
    "a letter by its code": r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\[01][0-7]{2}",
    "a control character": r"\\[afrtv]",
    "a letter that folds oddly": "[\u0130\u0131\u017f\u212a\u1e9e\u03c2]",
    **{rf"\{name}": rf"\\{name}" for name in "dDwWsS"},
    **{rf"\{name}": rf"\\{name}" for name in "AZbB"},
    "a dot": r"(?<!\\)\.",
    "^": r"(?:^|[|(])\^",
    "$": r"\$",
    "a class": r"\[[^^]",
    "a class of all others": r"\[\^",
    "a class of opposites": r"\[\^?\\s\\S\]",
    "a bracket within a class": r"\[\^?\]a",
    "a range of other letters": "\u03b1-\u03c9",
    "a property": r"\\[pP]",
    "a name of a letter": r"\\N\{",
    "a POSIX class": r"\[:",
    "a greedy count": r"\{1,2\}(?![?+])",
    "a lazy count": r"[*+?}]\?",
    "a possessive count": r"[*+?}]\+",
    "a count without a least": r"\{,2\}",
    "a count without a most": r"\{[12],\}",
    "a count of none": r"\{0\}",
    "a group": r"\((?!\?)",
    "a group without a number": r"\(\?:",
    "a named group": r"\(\?P?<n>",
    **{f"flag {flag} of a group": rf"\(\?[imsx]*{flag}[imsx]*(?:-[imsx]+)?:" for flag in "imsx"},
    **{f"no flag {flag} in a group": rf"\(\?[imsx]*-[imsx]*{flag}[imsx]*:" for flag in "isx"},
    "flag a of a group": r"\(\?a",
    **{f"flag {flag} of all": rf"^\(\?[a-z]*{flag}[a-z]*\)" for flag in "aimsux"},
    "flags amid a pattern": r".\(\?i\)",
    "an atomic group": r"\(\?>",
    "a comment": r"\(\?#",
    "a note under flag x": "#n\n",
    **{f"look-around {sign}": re.escape(f"(?{sign}") for sign in ("=", "!", "<=", "<!")},
    "a group again": r"\\1|\(\?P=",
    "a test of a group": r"\(\?\([n1]\)",
    "an empty alternative": r"\|\)|\(\?:\|",
    "what the engine alone knows": r"\\K|\\X|\\R|\\m|\\G|\(\?R\)|\(\?\||\{e<=|\(\?&|\(\?f|\(\?V1|\(\*",
}


def test_every_construct_of_a_pattern_is_drawn() -> None:
    patterns = {
        str(check["pattern"])
        for value in draw_artifacts()
        for check in value.get("checks", ())
        if check.get("kind") == "regex" and "pattern" in check
    }
    missing = [name for name, written in CONSTRUCTS.items() if not any(re.search(written, one) for one in patterns)]
    assert missing == []


def test_every_flag_and_mode_is_drawn_with_others() -> None:
    checks = [check for value in draw_artifacts() for check in value.get("checks", ()) if check.get("kind") == "regex"]
    assert {"".join(sorted(check["flags"])) for check in checks if "flags" in check} >= {
        "",
        "i",
        "m",
        "s",
        "x",
        "im",
        "is",
        "ix",
        "imsx",
    }
