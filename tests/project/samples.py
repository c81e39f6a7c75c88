"""Write the pages that the home page shows, with the commands that write them: an audit, and the demo's store as a site."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "dist/samples"


def write_samples(folder: Path, run: Callable[..., str]) -> None:
    """Write the pages of a store into a folder; `run` returns what a command prints in the store."""
    run("site", str(folder / "site"), "--quiet")
    (folder / "audit.html").write_text(run("audit", "runs/model_a", "runs/model_b", "--format", "html"), "utf-8")


def run_command(*argv: str, cwd: Path) -> str:
    """Return what a command of evalstore prints."""
    argv = (sys.executable, "-m", "evalstore", *argv)
    return subprocess.run(argv, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Replay the demo, and write its pages anew."""
    shutil.rmtree(SAMPLES, ignore_errors=True)
    SAMPLES.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "store"
        run_command("demo", str(store), "--quiet", cwd=Path(place))
        write_samples(SAMPLES, lambda *argv: run_command(*argv, cwd=store))


if __name__ == "__main__":
    main()
