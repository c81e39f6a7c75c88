"""Counterexamples as folders: both sides, what they refer to, and the sample that moves; the test suite replays them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalstore.documents import read_yaml, write_canonical, write_yaml
from evalstore.errors import RefusedError
from tests.diff.fuzz.pair import Drawn, Pair
from tests.diff.fuzz.shrink import Broken

CASES = Path(__file__).parents[2] / "cases" / "counterexamples"


def write(folder: Path, pair: Pair, broken: Broken) -> None:
    """Write a counterexample; a comment at the top of its sample says what broke."""
    what, why, drawn = broken
    for name, value in {
        "old": pair.old,
        "new": pair.new,
        **{f"refs/{ref}": value for ref, value in pair.refs.items()},
    }.items():
        _write(folder / f"{name}.yaml", value)
    _write(folder / "sample.yaml", asdict(drawn), f"# {what}: {' '.join(why.split())}\n")


def read(folder: Path) -> tuple[Pair, Drawn]:
    """Return the pair of a folder, and its sample."""
    refs = folder / "refs"
    found = {str(path.relative_to(refs).with_suffix("")): _read(path) for path in sorted(refs.rglob("*.yaml"))}
    return Pair(_read(folder / "old.yaml"), _read(folder / "new.yaml"), found), Drawn(**_read(folder / "sample.yaml"))


def _write(path: Path, value: Any, header: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = write_yaml(value, header=header)
    except RefusedError:  # letters that YAML cannot hold: JSON says them by their codes
        text = f"{header}{write_canonical(value).encode('ascii', 'backslashreplace').decode()}\n"
    path.write_text(text, "utf-8")


def _read(path: Path) -> Any:
    return read_yaml(path.read_bytes(), path.name).value
