"""Builds what an index serves of a folder: its sdist and its wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EPOCH = "1767225600"  # so that the bytes of two builds can be compared
BUILD = "import sys, hatchling.build as build; build.build_sdist(sys.argv[1]); build.build_wheel(sys.argv[1])"


def build_distributions(source: Path, target: Path) -> tuple[Path, Path]:
    """Build both as `pipx run build` does, into `target`; returns the paths of the sdist and of the wheel."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    subprocess.run([sys.executable, "-c", BUILD, str(target)], cwd=source, env=env, check=True, capture_output=True)
    return next(target.glob("*.tar.gz")), next(target.glob("*.whl"))
