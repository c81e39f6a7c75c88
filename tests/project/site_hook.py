"""Adds to the site of docs/ what is elsewhere: the schemas, and the sample pages that `make docs` writes (mkdocs.yml)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(os.environ.get("SAMPLES", ROOT / "dist/samples"))


def on_files(files: Files, *, config: Any) -> Files:
    """Serve each schema and each sample page at its own path: schema/rubric.schema.json, samples/index.html."""
    schemas = (path for path in (ROOT / "schema").rglob("*.schema.json") if path.parent.name != "base")
    for path in sorted(schemas):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    for path in sorted(SAMPLES.rglob("*.html")):
        name = path.relative_to(SAMPLES).as_posix()
        files.append(File.generated(config, f"samples/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point what links out of docs/, as it must where the pages are read in the repository, into the site."""
    return markdown.replace("](../schema/", "](schema/")
