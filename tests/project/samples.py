"""Write the pages that the home page shows, with the commands that write them: an audit and the site of the demo."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "dist/samples"


def write_samples(folder: Path) -> None:
    """Replay the demo, and write its pages into a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "store"
        run("demo", str(store), "--quiet")
        run("-C", str(store), "site", str(folder / "site"), "--quiet")
        page = run("-C", str(store), "audit", "runs/model_a", "runs/model_b", "--format", "html")
        (folder / "audit.html").write_text(page, "utf-8")


def run(*argv: str) -> str:
    """Return what a command of evalstore prints."""
    return subprocess.run([sys.executable, "-m", "evalstore", *argv], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    write_samples(SAMPLES)
