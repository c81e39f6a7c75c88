"""The data beside this repository, or in the folder that EVALSTORE_SHARED names: samples, vectors, seeds.

A folder of that name may be anybody's: a test asks for what it reads, and is skipped where that is missing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("EVALSTORE_SHARED") or ROOT.parent / "shared")
WHERE = "in ../shared or in EVALSTORE_SHARED"


def find_shared(name: str) -> Path:
    """Return the path of a shared file or folder, or skip the test."""
    path = SHARED / name
    return path if path.exists() else pytest.skip(f"there is no {name} {WHERE}")


def list_shared(pattern: str) -> list[Path]:
    """Return the paths of the shared files that match a pattern such as `seeds/001_*.txt`, or skip the test."""
    paths = sorted(SHARED.glob(pattern))
    return paths or pytest.skip(f"there is no {pattern} {WHERE}")
