"""The files by which CI systems, pre-commit and git run evalstore in a repository; `prefix` is the store's folder."""

from __future__ import annotations

import json
import re
import shlex

from evalstore.about import REPOSITORY, UNDECIDED
from evalstore.documents import encode_document, read_yaml, write_yaml
from evalstore.documents.edit import put_item
from evalstore.errors import RefusedError

GITHUB = ".github/workflows/evalstore.yml"
GITLAB = ".gitlab/evalstore.yml"
GITLAB_ROOT = ".gitlab-ci.yml"
PRE_COMMIT = ".pre-commit-config.yaml"
ATTRIBUTES = ".gitattributes"
DRIVER = (
    "git config diff.evalstore.textconv 'evalstore diff --textconv --'",
    "git config diff.evalstore.command 'evalstore diff --git-driver --'",
)
_INCLUDE = f"local: {GITLAB}"
_HOOK = "evalstore-validate"
_GITHUB = """\
# Holds every pull request against the releases of the store.
name: evalstore
on: pull_request
permissions: {{contents: read, pull-requests: write}}
jobs:
  evalstore:
    runs-on: ubuntu-latest
    env:
      STORE: {store}
      BASE: "${{{{ github.event.pull_request.base.sha }}}}"  # whose settings count, too
      EVALSTORE: "${{{{ vars.EVALSTORE }}}}"
    steps:
      - uses: actions/checkout@v4
        with: {{fetch-depth: 0}}  # the tags are the releases
      - uses: actions/setup-python@v5
        with: {{python-version: "3.13"}}
      # The variable EVALSTORE of the repository is what pip installs: git+https://… of evalstore's repository.
      - run: pip install "${{EVALSTORE:?set this variable to what pip installs, as git+{source}}}"
      - run: evalstore -C "$STORE" validate --base "$BASE" --format github
      - run: evalstore -C "$STORE" verify --format github
        if: always()
      - run: |
          {{ echo '<!-- evalstore -->'; evalstore -C "$STORE" status --base "$BASE" --format markdown; }} > evalstore.md
        if: always()
      - name: One comment, which is edited from then on
        if: always() && github.event.pull_request.head.repo.full_name == github.repository
        run: |
          comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
          first='[.[] | select(.body | startswith("<!-- evalstore -->")) | .id] | first // empty'
          id=$(gh api --paginate "$comments" --jq "$first" | head -n 1) || true
          if [ -n "$id" ]; then
            gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F body=@evalstore.md --silent
          else
            gh api --method POST "$comments" -F body=@evalstore.md --silent
          fi
        env: {{NUMBER: "${{{{ github.event.number }}}}", GH_TOKEN: "${{{{ github.token }}}}"}}
      - run: evalstore -C "$STORE" status --check --base "$BASE" --format github
        if: always()
"""
_GITLAB = """\
# Holds every pipeline against the releases of the store.
evalstore:
  image: python:3.13
  variables: {{GIT_DEPTH: "0", STORE: {store}}}  # the tags are the releases
  before_script:
    # The CI/CD variable EVALSTORE is what pip installs: git+https://… of evalstore's repository.
    - pip install "${{EVALSTORE:?set this variable to what pip installs, as git+{source}}}"
  script:
    # No change brings the settings that judge it: those that it began from count, too. A job without rules runs for
    # branches, not for merge requests: GitLab names no base there.
    - base=$CI_MERGE_REQUEST_DIFF_BASE_SHA
    - branch=${{CI_COMMIT_BRANCH:-$CI_DEFAULT_BRANCH}}
    - if [ "$branch" != "$CI_DEFAULT_BRANCH" ]; then base=$(git merge-base HEAD "origin/$CI_DEFAULT_BRANCH"); fi
    - base="${{base:+--base $base}}"
    - code=0
    - evalstore -C "$STORE" status $base --format gitlab > gl-code-quality-report.json || code=$?
    - evalstore -C "$STORE" validate $base --format junit > evalstore.xml || code=$?
    - evalstore -C "$STORE" verify || code=$?
    - evalstore -C "$STORE" validate $base || code=$?
    - evalstore -C "$STORE" status --check $base || code=$?
    - exit "$code"
  artifacts:
    when: always
    reports: {{codequality: gl-code-quality-report.json, junit: evalstore.xml}}
"""


def write_github(prefix: str) -> bytes:
    """Return a workflow of GitHub."""
    return _GITHUB.format(store=_name_store(prefix), source=REPOSITORY or UNDECIDED).encode()


def write_gitlab(prefix: str) -> bytes:
    """Return a job of GitLab, for a pipeline to include."""
    return _GITLAB.format(store=_name_store(prefix), source=REPOSITORY or UNDECIDED).encode()


def write_gitlab_root(old: bytes | None) -> bytes:
    """Return the pipeline that includes the job; one that is there and does not is refused, with the lines to add."""
    if old is None or not old.strip():
        return f"include:\n  - {_INCLUDE}\n".encode()
    if GITLAB.encode() in old:
        return old
    raise RefusedError(f"does not include the job; add below include:  - {_INCLUDE}")


def write_pre_commit(old: bytes | None, prefix: str) -> bytes:
    """Return the configuration of pre-commit with a hook that validates the store; all else in `old` stays."""
    hook = {
        "id": _HOOK,
        "name": "evalstore validate",
        "entry": f"evalstore -C {shlex.quote(prefix.rstrip('/'))} validate" if prefix else "evalstore validate",
        "language": "system",
        "files": rf"^{re.escape(prefix)}(rubrics|judges|datasets|bundles|evalstore\.yaml|\.evalstore/accepted\.yaml)",
        "pass_filenames": False,
    }
    repository = {"repo": "local", "hooks": [hook]}
    if old is None or not old.strip():
        return write_yaml({"repos": [repository]}).encode()
    if _HOOK.encode() in old:
        return old
    document = read_yaml(old, PRE_COMMIT)
    repositories = document.value.get("repos") if isinstance(document.value, dict) else None
    if not isinstance(repositories, list):
        raise RefusedError("has no list of `repos` to add a hook to")
    return encode_document(put_item(document, "repos", len(repositories), repository))


def write_attributes(old: bytes | None, prefix: str) -> bytes:
    """Return git's attributes with the diff driver for the files of artifacts; every line in `old` stays."""
    old = old or b""
    patterns = (_quote_pattern(f"{prefix}{folder}/*.yaml") for folder in ("rubrics", "judges", "datasets"))
    wanted = [f"{pattern} diff=evalstore".encode() for pattern in patterns]
    missing = [line for line in wanted if line not in old.splitlines()]
    line_break = b"\r\n" if b"\r\n" in old else b"\n"
    start = b"" if not old or old.endswith(b"\n") else line_break
    return old + (start + line_break.join(missing) + line_break if missing else b"")


def _name_store(prefix: str) -> str:
    # A text of JSON is one of YAML, too.
    return json.dumps(prefix.rstrip("/") or ".")


def _quote_pattern(pattern: str) -> str:
    """Return a pattern as a line of git's attributes has it: one with blanks in quotes."""
    return json.dumps(pattern, ensure_ascii=False) if " " in pattern else pattern
