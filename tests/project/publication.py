"""The files that say what evalstore is and where it is published, written from `evalstore/about.py` and the project file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstore.about import PAGES, REPOSITORY, UNDECIDED, VERSION
from evalstore.documents import write_yaml

ROOT = Path(__file__).resolve().parents[2]
_CATALOG = "https://json.schemastore.org/schema-catalog.json"
_INSTALLED = ("docs/ci.md", "templates/evalstore.yml")  # say what pip installs from
_SOURCE = re.compile(r"(?<=git\+)https://[\w./-]*\w")
_TABLE = re.compile(r"\n\[project\.urls\]\n(?:.+\n)*")
_SITE = re.compile(r"^(?:site|repo)_url: .*\n", re.MULTILINE)
_TARGET = re.compile(r"(!?)(\[[^\]]*\]\()(?:https://[^)\s]+/(?:blob|raw)/main/)?(?!https:)([\w./#-]+\))")

# What SchemaStore can know by its name. Other programs have folders of rubrics, judges and datasets, too: there the line
# that `evalstore init` and `new` write into each file says which schema it has.
_NAMES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "accepted": ("evalstore acceptances", "Changes of rubrics accepted in review", ("**/.evalstore/accepted.yaml",)),
    "dataset": ("evalstore dataset", "Questions of an LLM evaluation and what their answers are graded by", ()),
    "judge": ("evalstore judge", "Prompt, scale and validation of an LLM judge", ()),
    "lock": ("evalstore lock file", "The releases that every reference of a store resolves to", ("evalstore.lock",)),
    "rubric": ("evalstore rubric", "Checks of an LLM evaluation and how their results are combined", ()),
    "evalstore": ("evalstore settings", "Settings of a store of rubrics, judges and datasets", ("evalstore.yaml",)),
}


def render_files(repository: str = REPOSITORY, pages: str = PAGES) -> dict[str, str]:
    """Return every file that names an address or the version beside the package, as it should be now."""
    names = ("README.md", "mkdocs.yml", "pyproject.toml", *_INSTALLED)
    texts = {name: (ROOT / name).read_text("utf-8") for name in names}
    return {
        **{name: _SOURCE.sub(repository or UNDECIDED, texts[name]) for name in _INSTALLED},
        "CITATION.cff": _render_citation(tomllib.loads(texts["pyproject.toml"])["project"], repository, pages),
        "README.md": _render_links(texts["README.md"], repository),
        "mkdocs.yml": _render_site(texts["mkdocs.yml"], repository, pages),
        "pyproject.toml": _render_urls(texts["pyproject.toml"], repository, pages),
        "schema/schemastore.json": _render_catalog(pages),
    }


def _render_citation(project: Mapping[str, Any], repository: str, pages: str) -> str:
    citation = {
        "cff-version": "1.2.0",
        "message": "If you use evalstore in your work, please cite it as below.",
        "type": "software",
        "title": project["name"],
        "abstract": project["description"],
        "authors": [{"name": author["name"]} for author in project["authors"]],
        "version": VERSION,
        "license": project["license"],
        "keywords": project["keywords"],
    }
    addresses = {"repository-code": repository, "url": pages}
    return write_yaml(citation | {key: address for key, address in addresses.items() if address})


def _render_links(text: str, repository: str) -> str:
    """Return a page with links into the repository where one is published: an index of packages shows it without files."""

    def link(found: re.Match[str]) -> str:
        view = "raw" if found[1] else "blob"
        base = f"{repository}/{view}/main/" if repository and not found[3].startswith("#") else ""
        return f"{found[1]}{found[2]}{base}{found[3]}"

    return _TARGET.sub(link, text)


def _render_site(text: str, repository: str, pages: str) -> str:
    lines = [f"{key}: {address}\n" for key, address in (("site_url", pages), ("repo_url", repository)) if address]
    head, name, rest = _SITE.sub("", text).partition("site_name: evalstore\n")
    return head + name + "".join(lines) + rest


def _render_urls(text: str, repository: str, pages: str) -> str:
    addresses = {"Documentation": pages, "Issues": repository and f"{repository}/issues", "Repository": repository}
    rows = "".join(f'{name} = "{address}"\n' for name, address in addresses.items() if address)
    table = f"\n[project.urls]\n{rows}" if rows else ""
    return _TABLE.sub("", text).replace("\n[project.scripts]\n", f"{table}\n[project.scripts]\n", 1)


def _render_catalog(pages: str) -> str:
    entries = [
        {
            "name": name,
            "description": what,
            "fileMatch": patterns,
            "url": f"{pages or UNDECIDED}/schema/{stem}.schema.json",
        }
        for stem, (name, what, patterns) in _NAMES.items()
    ]
    return json.dumps({"$schema": _CATALOG, "version": 1, "schemas": entries}, indent=2) + "\n"
