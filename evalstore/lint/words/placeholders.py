"""Finds placeholders of other tools, which nothing fills: the judge reads them as written."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from evalstore.model.judge import BUILTIN_VARIABLES

# {name} and ${name}; {{ name }} is a tag, and \frac{name} and value={name} are not placeholders.
_BRACES = r"(?<![\w{{}}\\$=])\$?\{{\s*({})\s*\}}(?!\}})"
_TAG = r"\{{\{{\s*({})\s*\}}\}}"
# {% if … %}, as in Jinja, Nunjucks and Liquid.
_CONTROL = r"\{%[-+]?\s*[a-z]+\b[^{}\n]*%\}"


class Placeholder(NamedTuple):
    """A placeholder as written, where it begins, and what to write instead."""

    written: str
    start: int
    hint: str


def find_in_template(template: str, names: Collection[str]) -> Iterator[Placeholder]:
    """Yield the first occurrence of each placeholder that a template does not fill.

    `names` are those that it could fill.
    """
    seen = set[str]()
    for found in re.finditer(_write_names(_BRACES, names), template):
        if found[0] not in seen:
            seen.add(found[0])
            yield Placeholder(found[0], found.start(), f"write {{{{ {found[1]} }}}}")
    if control := re.search(_CONTROL, template):
        hint = "write {{# input }}…{{/ input }} around what is shown where there is an `input`"
        yield Placeholder(control[0], control.start(), hint)


def find_in_text(text: str) -> Placeholder | None:
    """Return the first placeholder in a statement or variable: such texts are never filled."""
    if "{" not in text:
        return None
    names = BUILTIN_VARIABLES
    forms = (_write_names(_BRACES, names), _write_names(_TAG, names), _CONTROL)
    found = next((match for form in forms if (match := re.search(form, text))), None)
    hint = "write the words themselves; the judge's template shows the question and the output"
    return Placeholder(found[0], found.start(), hint) if found else None


def _write_names(form: str, names: Collection[str]) -> str:
    return form.format("|".join(map(re.escape, names)))
