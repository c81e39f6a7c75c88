"""What evalstore says of its installation is true: the command that adds an extra, wherever it came from."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from evalstore.about import suggest_install


class Distribution:
    """What pip records of an installed package: PEP 610."""

    def __init__(self, record: object) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.record and json.dumps(self.record)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (None, "pip install 'evalstore[judge]'"),
        ({"url": "file:///home/ada/a%20b", "dir_info": {}}, "pip install '/home/ada/a b[judge]'"),
        ({"url": "file:///src/evalstore", "dir_info": {"editable": True}}, "pip install -e '/src/evalstore[judge]'"),
        (
            {"url": "https://host/evalstore", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "pip install 'evalstore[judge] @ git+https://host/evalstore@ab12'",
        ),
        ({"url": "https://host/e.whl", "archive_info": {}}, "pip install 'evalstore[judge] @ https://host/e.whl'"),
    ],
)
def test_an_extra_comes_from_where_evalstore_came(record: object, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: Distribution(record))
    assert suggest_install("judge") == said


def test_without_a_record_the_repository_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "distribution", find_none)
    assert suggest_install("php") == "pip install '.[php]' in a clone of evalstore's repository"
