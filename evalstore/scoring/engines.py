"""Names the engines that decide a grade, so that two machines can tell whether they would grade alike."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from unicodedata import unidata_version

from evalstore.about import VERSION
from evalstore.checks.php import find_php_engine
from evalstore.errors import RefusedError

# The packages whose code reads patterns, schemas, Markdown and PHP for a check.
_PACKAGES = ("jsonschema", "markdown-it-py", "regex", "tree-sitter", "tree-sitter-php")
_ABSENT = "not installed"


def describe_engines() -> dict[str, str]:
    """Return the version of everything that can move a grade, by name."""
    php = find_php_engine()
    return {
        "evalstore": VERSION,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "unicode": unidata_version,
        **{name: _find_version(name) for name in _PACKAGES},
        "php_lint": php.name if php else _ABSENT,
    }


def refuse_other_engines(planned: Mapping[str, str]) -> None:
    """Raise `RefusedError`, which names each difference, unless the engines here are those of a plan."""
    if differences := list(_list_differences(planned, describe_engines())):
        raise RefusedError(
            f"this worker would not grade as the plan says: {'; '.join(differences)}",
            hint="give every worker the same versions, or plan again with these",
        )


def _list_differences(planned: Mapping[str, str], here: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*planned, *here}):
        wanted, found = planned.get(name, _ABSENT), here.get(name, _ABSENT)
        if wanted != found:
            yield f"{name} is {found}, planned with {wanted}"


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return _ABSENT
