"""Lays the first store over a new one: one of each artifact, and outputs to score."""

from __future__ import annotations

from pathlib import Path

from evalstore.errors import RefusedError
from evalstore.files import read_user_file, write_below
from evalstore.resources import find_resource_folder

DATASET, RUBRIC, OUTPUTS = "dataset/help_desk", "rubric/answer_style", "outputs/model_a.jsonl"
_LIMIT = 1 << 16


def write_first_store(root: Path) -> tuple[str, ...]:
    """Write the files of the first store below `root`; returns their paths.

    Raises `RefusedError` where one of them is there with another content; then nothing is written.
    """
    source = find_resource_folder("sample_repo") / "first_store"
    files = {path.relative_to(source).as_posix(): path for path in sorted(source.rglob("*")) if path.is_file()}
    data = {name: read_user_file(path, _LIMIT) for name, path in files.items()}
    new = [name for name in data if not ((root / name).exists() or (root / name).is_symlink())]
    for name in data.keys() - set(new):
        if not (root / name).is_file() or (root / name).read_bytes() != data[name]:
            raise RefusedError(f"{name} is there already", hint="make the example in an empty folder")
    for name in new:
        write_below(root, name, data[name])
    return tuple(new)
