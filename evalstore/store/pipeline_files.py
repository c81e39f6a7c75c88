"""The files by which CI systems, pre-commit and git run evalstore in a repository; `prefix` is the store's folder."""

from __future__ import annotations

import json
import re
import shlex

from evalstore.about import REPOSITORY, UNDECIDED
from evalstore.documents import encode_document, read_yaml, write_yaml
from evalstore.documents.edit import put_item
from evalstore.errors import RefusedError
from evalstore.places import LEDGER_FOLDER

GITHUB = ".github/workflows/evalstore.yml"
GITLAB = ".gitlab/evalstore.yml"
GITLAB_ROOT = ".gitlab-ci.yml"
PRE_COMMIT = ".pre-commit-config.yaml"
ATTRIBUTES = ".gitattributes"
# Written into the config of a clone, as gitattributes(5) defines drivers.
DIFF_DRIVER = {
    "diff.evalstore.textconv": "evalstore diff --textconv --",
    "diff.evalstore.command": "evalstore diff --git-driver --",
}
MERGE_DRIVER = {
    "merge.evalstore.name": "rubrics, judges and datasets by item, ledgers by line",
    "merge.evalstore.driver": "evalstore diff --git-merge -- %O %A %B %P",
}
_ARTIFACTS = tuple(f"{folder}/*.yaml" for folder in ("rubrics", "judges", "datasets"))
_DIFFED = tuple((pattern, "diff=evalstore") for pattern in _ARTIFACTS)
_MERGED = tuple((pattern, "merge=evalstore") for pattern in (*_ARTIFACTS, "datasets/*.jsonl", f"{LEDGER_FOLDER}/*/*"))
_INCLUDE = f"local: {GITLAB}"
_HOOK = "evalstore-gate"
# Before a push, pre-commit names what the remote has; by hand there is no such commit.
_PUSHED_BASE = '--base "${PRE_COMMIT_FROM_REF:-HEAD}"'
_GITHUB = """\
# Holds every change against the releases of the store, and releases what has been merged. Who may change this file can
# change the gate: let CODEOWNERS name who reviews .github/.
name: evalstore
on:
  pull_request:
  push: {branches: [<branch>]}
permissions: {}
jobs:
  gate:
    runs-on: ubuntu-latest
    permissions: {contents: read, pull-requests: write}
    env: {STORE: <store>, MARK: <mark>}
    steps:
      - uses: <checkout>
        with: {fetch-depth: 0, persist-credentials: false}  # the tags are the releases
      - uses: <python>
        with: {python-version: "3.13"}
<install>
      - name: Gate
        run: |
          # The branch that a pull request is for, as it is now: the commit that its event names can be long behind.
          BASE=refs/remotes/origin/${BASE_REF:-$DEFAULT}
          # A push to the default branch is judged by what it replaced. A first one replaced nothing (000…).
          if [ "$REF" = "refs/heads/$DEFAULT" ] && [ -n "${BEFORE//0/}" ]; then BASE=$BEFORE; fi
          code=0
          "$RUNNER_TEMP/evalstore/bin/evalstore" -C "$STORE" gate --base "$BASE" --format github \
            --write "markdown=$RUNNER_TEMP/gate.md" || code=$?
          {
            echo "$MARK"
            cat "$RUNNER_TEMP/gate.md" || echo "evalstore gate could not answer (exit code $code); its log says why."
          } > "$RUNNER_TEMP/comment.md"
          cat "$RUNNER_TEMP/comment.md" >> "$GITHUB_STEP_SUMMARY"
          exit "$code"
        env:
          BASE_REF: ${{ github.base_ref }}
          BEFORE: ${{ github.event.before }}
          DEFAULT: ${{ github.event.repository.default_branch }}
          REF: ${{ github.ref }}
      - name: One comment, which is edited from then on
        if: ${{ !cancelled() && github.event_name == 'pull_request' }}
        run: |
          # The token of a fork's pull request only reads (403): that is a notice, and fails nothing.
          comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
          file="$RUNNER_TEMP/comment.md"
          # Anybody can write our mark: a comment of a person is left alone.
          mark='select(.user.type == "Bot" and (.body | startswith($ENV.MARK)))'
          id=$(gh api --paginate "$comments" --jq "[.[] | $mark | .id] | first // empty" | head -n 1) || true
          if [ -n "$id" ]; then
            gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$file" --silent
          else
            gh api --method POST "$comments" -F "body=@$file" --silent
          fi || echo '::notice title=evalstore::the comment could not be written; the summary of the job has it'
        env:
          GH_TOKEN: ${{ github.token }}
          NUMBER: ${{ github.event.pull_request.number }}
  release:
    needs: gate
    if: github.event_name == 'push'
    runs-on: ubuntu-latest
    concurrency: {group: evalstore-release}  # one release at a time
    permissions: {contents: write}
    env: {STORE: <store>}
    steps:
      - uses: <checkout>
        with: {fetch-depth: 0, persist-credentials: true}  # to push the tags
      - uses: <python>
        with: {python-version: "3.13"}
<install>
      - name: Release what changed
        run: '"$RUNNER_TEMP/evalstore/bin/evalstore" -C "$STORE" bump --all --push'
        env:
          GIT_AUTHOR_NAME: github-actions[bot]
          GIT_AUTHOR_EMAIL: 41898282+github-actions[bot]@users.noreply.github.com
          GIT_COMMITTER_NAME: github-actions[bot]
          GIT_COMMITTER_EMAIL: 41898282+github-actions[bot]@users.noreply.github.com
"""
_INSTALL = """\
      - name: Install
        # EVALSTORE, a variable of the repository, is what pip installs: git+https://… of evalstore's repository.
        # Isolated (-I): no file of the change is imported.
        run: |
          python3 -I -m venv "$RUNNER_TEMP/evalstore"
          "$RUNNER_TEMP/evalstore/bin/python" -I -m pip install --quiet \
            "${EVALSTORE:?set this variable to what pip installs, as git+<source>}"
        env: {EVALSTORE: "${{ vars.EVALSTORE }}"}"""
# Pinned by commit: a tag can be moved.
_ACTIONS = {
    "<checkout>": "actions/checkout@8e8c483db84b4bee98b60c0593521ed34d9990e8 # v6.0.1",
    "<python>": "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0",
}
_GITLAB = """\
# Holds every change against the releases of the store, and releases what has been merged, where the CI/CD variable
# EVALSTORE_TOKEN is a token that may write to the repository.
.evalstore:
  image: python:3.13
  variables: {GIT_DEPTH: "0", STORE: <store>}  # the tags are the releases
  before_script:
    # The CI/CD variable EVALSTORE is what pip installs: git+https://… of evalstore's repository.
    # Isolated (-I): no file of the change is imported.
    - evalstore=$(mktemp -d)
    - python3 -I -m venv "$evalstore"
    - >-
      "$evalstore/bin/python" -I -m pip install --quiet
      "${EVALSTORE:?set this variable to what pip installs, as git+<source>}"
evalstore:
  extends: .evalstore
  script:
    # The base, which judges, is the branch that a change is for, as it is now: where the change began, it was another.
    - base=refs/remotes/origin/${CI_MERGE_REQUEST_TARGET_BRANCH_NAME:-$CI_DEFAULT_BRANCH}
    # A push to the default branch is judged by what it replaced. A first one replaced nothing (000…).
    - before=$(echo "$CI_COMMIT_BEFORE_SHA" | sed 's/^0*$//')
    - if [ "$CI_COMMIT_BRANCH" = "$CI_DEFAULT_BRANCH" ] && [ -n "$before" ]; then base=$before; fi
    - >-
      "$evalstore/bin/evalstore" -C "$STORE" gate --base "$base"
      --write "gitlab=$PWD/gl-code-quality-report.json" --write "junit=$PWD/evalstore.xml"
  artifacts:
    when: always
    reports: {codequality: gl-code-quality-report.json, junit: evalstore.xml}
evalstore-release:
  extends: .evalstore
  needs: [evalstore]
  resource_group: evalstore-release  # one release at a time
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH && $EVALSTORE_TOKEN
  script:
    - git config user.name evalstore
    - git config user.email "evalstore@$CI_SERVER_HOST"
    - git remote set-url --push origin "https://evalstore:$EVALSTORE_TOKEN@$CI_SERVER_HOST/$CI_PROJECT_PATH.git"
    - git switch --quiet -C "$CI_COMMIT_BRANCH"
    - '"$evalstore/bin/evalstore" -C "$STORE" bump --all --push'
"""


def write_github(prefix: str, branch: str) -> bytes:
    """Return a workflow of GitHub: the gate, and the release job of the default branch, `branch`."""
    return _fill(_GITHUB.replace("<install>", _INSTALL).replace("<branch>", json.dumps(branch)), prefix)


def write_gitlab(prefix: str) -> bytes:
    """Return jobs of GitLab, for a pipeline to include: the gate, and the release job of the default branch."""
    return _fill(_GITLAB, prefix)


def write_gitlab_root(old: bytes | None) -> bytes:
    """Return the pipeline that includes the job; one that is there and does not is refused, with the lines to add."""
    if old is None or not old.strip():
        return f"include:\n  - {_INCLUDE}\n".encode()
    if GITLAB.encode() in old:
        return old
    raise RefusedError(f"does not include the job; add below include:  - {_INCLUDE}")


def write_pre_commit(old: bytes | None, prefix: str) -> bytes:
    """Return the configuration of pre-commit with the gate as a hook of `git push`; all else in `old` stays."""
    store = f" -C {shlex.quote(prefix.rstrip('/'))}" if prefix else ""
    hook = {
        "id": _HOOK,
        "name": "evalstore gate",
        "entry": shlex.join(["sh", "-c", f"evalstore{store} gate {_PUSHED_BASE}"]),
        "language": "system",
        "files": rf"^{re.escape(prefix)}(rubrics|judges|datasets|bundles|evalstore\.(yaml|lock)|\.evalstore/)",
        "pass_filenames": False,
        "stages": ["pre-push", "manual"],
    }
    repository = {"repo": "local", "hooks": [hook]}
    if old is None or not old.strip():
        return write_yaml({"default_install_hook_types": ["pre-commit", "pre-push"], "repos": [repository]}).encode()
    if _HOOK.encode() in old:
        return old
    document = read_yaml(old, PRE_COMMIT)
    repositories = document.value.get("repos") if isinstance(document.value, dict) else None
    if not isinstance(repositories, list):
        raise RefusedError("has no list of `repos` to add a hook to")
    return encode_document(put_item(document, "repos", len(repositories), repository))


def write_attributes(old: bytes | None, prefix: str, *, diff: bool, merge: bool) -> bytes:
    """Return git's attributes with the drivers for the files of a store; every line in `old` stays."""
    old = old or b""
    rows = (*(_DIFFED if diff else ()), *(_MERGED if merge else ()))
    wanted = [f"{_quote_pattern(prefix + pattern)} {attribute}".encode() for pattern, attribute in rows]
    missing = [line for line in wanted if line not in old.splitlines()]
    line_break = b"\r\n" if b"\r\n" in old else b"\n"
    start = b"" if not old or old.endswith(b"\n") else line_break
    return old + (start + line_break.join(missing) + line_break if missing else b"")


def _fill(text: str, prefix: str) -> bytes:
    # A text of JSON is one of YAML, too.
    store = prefix.rstrip("/") or "."
    # Each store of a repository has a comment of its own, which begins with its mark.
    values = {"<store>": json.dumps(store), "<mark>": json.dumps(f"<!-- evalstore {store} -->")}
    values |= {"<source>": REPOSITORY or UNDECIDED, **_ACTIONS}
    for name, value in values.items():
        text = text.replace(name, value)
    return text.encode()


def _quote_pattern(pattern: str) -> str:
    """Return a pattern as a line of git's attributes has it: one with blanks in quotes."""
    return json.dumps(pattern, ensure_ascii=False) if " " in pattern else pattern
