"""The page of a commit is known for the hosts that are listed, however git writes their address."""

from __future__ import annotations

import pytest

from evalstore.store.repository.hosting import build_commit_page


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("git@github.com:acme/evals.git", "https://github.com/acme/evals/commit/{}"),
        ("https://token:x@github.com/acme/evals", "https://github.com/acme/evals/commit/{}"),
        ("ssh://git@gitlab.com:22/a/b/evals.git", "https://gitlab.com/a/b/evals/-/commit/{}"),
        ("https://codeberg.org/acme/evals/", "https://codeberg.org/acme/evals/commit/{}"),
        ("https://bitbucket.org/acme/evals.git", "https://bitbucket.org/acme/evals/commits/{}"),
        ("https://git.example.com/acme/evals.git", ""),
        ("../evals.git", ""),
        ("/srv/github.com/acme/evals", ""),
        ("https://github.com.evil.example/acme/evals", ""),
        ("https://github.com/acme/ev als", ""),
        ("https://github.com/acme/{0.__class__}", ""),
        ("javascript:alert(1)//github.com/acme/evals", ""),
    ],
)
def test_the_page_of_a_commit(url: str, page: str) -> None:
    assert build_commit_page(url) == page
