"""The files by which CI systems, pre-commit and git run evalstore.

`prefix` is the store's folder in the repository.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from evalstore.about import REPOSITORY, UNDECIDED
from evalstore.documents import encode_document, read_yaml, write_yaml
from evalstore.documents.edit import put_item
from evalstore.errors import RefusedError
from evalstore.model.lock import LOCK_FILE
from evalstore.places import LEDGER_FOLDER

GITHUB = ".github/workflows/evalstore.yml"
GITLAB = ".gitlab/evalstore.yml"
GITLAB_ROOT = ".gitlab-ci.yml"
PRE_COMMIT = ".pre-commit-config.yaml"
ATTRIBUTES = ".gitattributes"
# Written into the config of a clone, as gitattributes(5) defines drivers.
DIFF_DRIVER = {
    "diff.evalstore.textconv": "evalstore git-driver textconv --",
    "diff.evalstore.command": "evalstore git-driver diff --",
}
MERGE_DRIVER = {
    "merge.evalstore.name": (
        "rubrics, judges and datasets by item, ledgers by line, the lock by reference"
    ),
    "merge.evalstore.driver": "evalstore git-driver merge -- %O %A %B %P",
}
_ARTIFACTS = tuple(f"{folder}/*.yaml" for folder in ("rubrics", "judges", "datasets"))
_DIFFED = tuple((pattern, "diff=evalstore") for pattern in _ARTIFACTS)
_MERGEABLE = (*_ARTIFACTS, "datasets/*.jsonl", f"{LEDGER_FOLDER}/*/*", LOCK_FILE)
_MERGED = tuple((pattern, "merge=evalstore") for pattern in _MERGEABLE)
_INCLUDE = f"local: {GITLAB}"
_HOOK = "evalstore-gate"
# Before a push, pre-commit names what the remote has; when run by hand there is no such commit.
_PUSHED_BASE = '--base "${PRE_COMMIT_FROM_REF:-HEAD}"'
# Actions are pinned by commit there: a tag can be moved.
_TEMPLATES = Path(__file__).with_name("templates")


def write_github(prefix: str, branch: str) -> bytes:
    """Return a GitHub workflow: the gate, and the release job of `branch`, the default branch."""
    return _fill_template("github.yml", prefix, branch)


def write_gitlab(prefix: str) -> bytes:
    """Return GitLab jobs to include: the gate, and the default branch's release job."""
    return _fill_template("gitlab.yml", prefix)


def write_gitlab_root(old: bytes | None) -> bytes:
    """Return the pipeline that includes the job.

    An existing one that does not is refused, with the lines to add.
    """
    if old is None or not old.strip():
        return f"include:\n  - {_INCLUDE}\n".encode()
    if GITLAB.encode() in old:
        return old
    raise RefusedError(f"does not include the job; add below include:  - {_INCLUDE}")


def write_pre_commit(old: bytes | None, prefix: str) -> bytes:
    """Return pre-commit's configuration with the gate on `git push`; the rest of `old` stays."""
    store = f" -C {shlex.quote(prefix.rstrip('/'))}" if prefix else ""
    hook = {
        "id": _HOOK,
        "name": "evalstore gate",
        "entry": shlex.join(["sh", "-c", f"evalstore{store} gate {_PUSHED_BASE}"]),
        "language": "system",
        "files": (
            rf"^{re.escape(prefix)}(rubrics|judges|datasets|bundles|evalstore\.(yaml|lock)|"
            r"\.evalstore/)"
        ),
        "pass_filenames": False,
        "stages": ["pre-push", "manual"],
    }
    repository = {"repo": "local", "hooks": [hook]}
    if old is None or not old.strip():
        return write_yaml(
            {"default_install_hook_types": ["pre-commit", "pre-push"], "repos": [repository]}
        ).encode()
    if _HOOK.encode() in old:
        return old
    document = read_yaml(old, PRE_COMMIT)
    repositories = document.value.get("repos") if isinstance(document.value, dict) else None
    if not isinstance(repositories, list):
        raise RefusedError("has no list of `repos` to add a hook to")
    return encode_document(put_item(document, "repos", len(repositories), repository))


def write_attributes(old: bytes | None, prefix: str, *, diff: bool, merge: bool) -> bytes:
    """Return git's attributes with the drivers for a store's files; every line in `old` stays."""
    old = old or b""
    rows = (*(_DIFFED if diff else ()), *(_MERGED if merge else ()))
    wanted = [
        f"{_quote_pattern(prefix + pattern)} {attribute}".encode() for pattern, attribute in rows
    ]
    missing = [line for line in wanted if line not in old.splitlines()]
    line_break = b"\r\n" if b"\r\n" in old else b"\n"
    start = b"" if not old or old.endswith(b"\n") else line_break
    return old + (start + line_break.join(missing) + line_break if missing else b"")


def read_template(name: str) -> str:
    """Return the text of a file that is written with a few names filled in."""
    return (_TEMPLATES / name).read_text("utf-8")


def _fill_template(name: str, prefix: str, branch: str = "") -> bytes:
    store, text = prefix.rstrip("/") or ".", read_template(name)
    # Each store in a repository has a separate comment, which begins with its mark.
    values = {"<store>": store, "<mark>": f"<!-- evalstore {store} -->", "<branch>": branch}
    for key, value in values.items():
        text = text.replace(key, json.dumps(value))  # JSON is YAML, too
    return text.replace("<source>", REPOSITORY or UNDECIDED).encode()


def _quote_pattern(pattern: str) -> str:
    """Return a pattern as a line of git's attributes: in quotes if it has blanks."""
    return json.dumps(pattern, ensure_ascii=False) if " " in pattern else pattern
