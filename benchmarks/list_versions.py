"""`list` beside `gto show`: the newest release of each of 100 artifacts, of a thousand tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measuring import PERSON, STAMP, Measured, find_peer, git, measure, ours, write_released_rubrics

ARTIFACTS, RELEASES = 100, 10


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:  # noqa: ARG001  # the signature of all
    """Yield the lines of this budget."""
    if gto := find_peer("gto"):
        write_released_rubrics(folder / "store", ARTIFACTS, RELEASES, alone=True)
        _write_gto_releases(folder / "gto")
        peer = measure([gto, "show"], cwd=folder / "gto")
        what = f"list, {ARTIFACTS} artifacts × {RELEASES}"
        yield Measured(
            what, measure(ours(folder / "store", "list")), peer, f"gto show, {peer:.2f} s"
        )


def _write_gto_releases(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    lines = []
    for patch in range(RELEASES):
        for number in range(ARTIFACTS):
            lines.append(f"commit refs/heads/main\ncommitter {PERSON} {STAMP}\ndata 2\nr\n")
            lines.append(f"M 100644 inline r{number:05}.yaml\ndata 6\nv: {patch:03}\n")
            lines.append(
                f"tag r{number:05}@v1.0.{patch}\nfrom refs/heads/main\ntagger {PERSON} {STAMP}\ndata 2\nr\n"
            )
    git(folder, "fast-import", "--quiet", "--done", stdin="".join(lines) + "done\n")
    git(folder, "reset", "-q", "--hard")
