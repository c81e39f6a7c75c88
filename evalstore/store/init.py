"""Creates a store: the repository if there is none, the folders, the settings, and completion for editors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalstore.errors import GitError, LoadError, RefusedError
from evalstore.files import read_below, write_below
from evalstore.model import Kind
from evalstore.resources import find_resource_folder
from evalstore.store.git import run_git
from evalstore.store.locate import SETTINGS_FILE, find_repository, find_top, is_git_directory
from evalstore.store.presence import find_stores

SCHEMAS = ".evalstore/schema"
_LIMIT = 4 << 20
# A schema -> the files that editors complete with it.
_MAPPED = {
    **{str(kind): f"{kind.folder}/*.yaml" for kind in Kind},
    "evalstore": SETTINGS_FILE,
    "accepted": ".evalstore/accepted.yaml",
}
_WRITTEN = (*_MAPPED, "result")
_SETTINGS = """\
# yaml-language-server: $schema={schemas}/evalstore.schema.json
# This file marks the store. Every setting is optional; these are the defaults:
#
# strict: false            # true: any finding of `evalstore validate` fails
# unpinned: warn           # a reference without an exact version: warn, forbid or allow
# judge_max_age_days: 90   # after this a judge's validation is stale
# profile: score           # what is major: what moves a score; headline: also what moves a mean
{tag_prefix}           # put before <kind>/<id>@<version> in the names of tags
"""
_JETBRAINS_ENTRY = """\
        <entry key="evalstore {name}">
          <value>
            <SchemaInfo>
              <option name="name" value="evalstore {name}" />
              <option name="relativePathToSchema" value="{schema}" />
              <option name="patterns">
                <list>
                  <Item>
                    <option name="pattern" value="true" />
                    <option name="path" value="{files}" />
                    <option name="mappingKind" value="Pattern" />
                  </Item>
                </list>
              </option>
            </SchemaInfo>
          </value>
        </entry>
"""
_JETBRAINS = """\
<?xml version="1.0" encoding="UTF-8"?>
<project version="4">
  <component name="JsonSchemaMappingsProjectConfiguration">
    <state>
      <map>
{entries}      </map>
    </state>
  </component>
</project>
"""


@dataclass(frozen=True, slots=True)
class CreatedStore:
    """The result of `init`: files `kept` were there already with other content."""

    root: Path
    repository: bool
    written: tuple[str, ...]
    kept: tuple[str, ...]


def create_store(path: Path) -> CreatedStore:
    """Make `path` a store; existing files stay as they are, so that a second call changes nothing."""
    root = _make_folder(path)
    fresh = find_top(root) is None
    if is_git_directory(root):
        raise RefusedError(f"{path} is a bare repository, without a working tree", hint="clone it, and init the clone")
    if fresh:
        run_git(("init", "--quiet", "--template=", "--initial-branch=main", "--", str(root)))
    # Refuses a repository that git cannot read, before anything is written into it.
    find_repository(root)
    for kind in Kind:
        _make_folder(root / kind.folder)
    files = _build_files(_propose_tag_prefix(root))
    done = {name: _write_if_absent(root, name, data) for name, data in files.items()}
    written = tuple(name for name, outcome in done.items() if outcome == "written")
    return CreatedStore(root, fresh, written, tuple(name for name, outcome in done.items() if outcome == "kept"))


def _make_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve(strict=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GitError(f"the folder {path} cannot be made: {reason.lower()}") from None


def _write_if_absent(root: Path, name: str, data: bytes) -> str:
    try:
        (root / name).lstat()
    except FileNotFoundError:
        write_below(root, name, data)
        return "written"
    try:
        return "same" if read_below(root, name, _LIMIT) == data else "kept"
    except LoadError:
        return "kept"


def _propose_tag_prefix(root: Path) -> str:
    """Return what tells the tags of this store from those of others in the repository; empty where there are none."""
    top = find_top(root) or root
    alone = all(folder == root for folder in find_stores(top))
    name = root.name if root == top else root.relative_to(top).as_posix()
    # What a tag's name cannot hold becomes a dash; the first character is a letter or a digit.
    return "" if alone else re.sub(r"[^A-Za-z0-9_/]+", "-", name).strip("-/") + "/"


def _build_files(tag_prefix: str) -> Mapping[str, bytes]:
    schemas = {
        f"{SCHEMAS}/{name}.schema.json": (find_resource_folder("schema") / f"{name}.schema.json") for name in _WRITTEN
    }
    return {
        SETTINGS_FILE: _SETTINGS.format(
            schemas=SCHEMAS, tag_prefix=f'tag_prefix: "{tag_prefix}"' if tag_prefix else '# tag_prefix: ""'
        ).encode(),
        **{name: path.read_bytes() for name, path in schemas.items()},
        ".vscode/settings.json": (json.dumps({"yaml.schemas": _map_schemas()}, indent=2) + "\n").encode(),
        ".idea/jsonSchemas.xml": _JETBRAINS.format(entries="".join(map(_format_jetbrains_entry, _MAPPED))).encode(),
    }


def _map_schemas() -> dict[str, str]:
    return {f"./{SCHEMAS}/{name}.schema.json": files for name, files in _MAPPED.items()}


def _format_jetbrains_entry(name: str) -> str:
    return _JETBRAINS_ENTRY.format(name=name, schema=f"{SCHEMAS}/{name}.schema.json", files=_MAPPED[name])
