"""Finds where a known web host shows the commits of a repository, without any request."""

from __future__ import annotations

import re

from evalstore.store.repository.config import find_remote, read_config
from evalstore.store.repository.git import Git

# Where each host has the page of a commit, below that of its repository.
_HOSTS = {
    "github.com": "commit",
    "codeberg.org": "commit",
    "gitlab.com": "-/commit",
    "bitbucket.org": "commits",
}
# As git writes them: https://host/path, ssh://git@host/path and git@host:path; a password is not
# part of a page.
_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?([A-Za-z0-9.-]+)(?::\d+/|[:/])([\w.-]+(?:/[\w.-]+)+)/?"
)


def find_commit_page(git: Git) -> str:
    """Return the address of a commit's page, `{}` for the commit; empty if the host is unknown."""
    name, _ = find_remote(git)
    key = f"remote.{name}.url"
    urls = [setting.value for setting in read_config(git) if setting.key == key]
    return build_commit_page(urls[-1]) if name and urls else ""


def build_commit_page(url: str) -> str:
    """Return the address of a commit's page in a repository at `url`, likewise."""
    found = _ADDRESS.fullmatch(url)
    host = found[1].lower() if found else ""
    if found is None or host not in _HOSTS:
        return ""
    return f"https://{host}/{found[2].removesuffix('.git')}/{_HOSTS[host]}/{{}}"
