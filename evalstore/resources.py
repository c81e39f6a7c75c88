"""Finds schema/, migrations/ and sample_repo/: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def find_resource_folder(name: str) -> Path:
    """Return the folder `schema`, `migrations` or `sample_repo` that belongs to this installation."""
    checkout = _PACKAGE.parent
    # The project file proves the checkout: PyPI's `schema` package puts a folder of that name beside ours.
    if (checkout / "pyproject.toml").is_file():
        return checkout / name
    return _PACKAGE / "_data" / name
