from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.audits.score_history import resolve_releases
from evalstore.languages.schemas import compile_schema
from evalstore.model import parse_ref
from evalstore.places import find_resource_folder
from evalstore.release.history.release_log import ReleaseLog, read_release_log
from evalstore.store import ArtifactStore
from evalstore.versions import Bump
from tests.release.shop import JUDGE, Shop, judged, rubric

Cli = Callable[..., Any]


def release(shop: Shop, text: str, path: str = "rubrics/tone.yaml", **options: Any) -> None:
    shop.write(path, text)
    shop.bump(**options)


def tracked(shop: Shop, ref: str = "rubric/tone", **options: Any) -> ReleaseLog:
    with ArtifactStore.open(shop.root) as store:
        return read_release_log(store, parse_ref(ref), **options)


@pytest.fixture
def long(released: Shop, template: Callable[..., Any]) -> Shop:
    """1.0.0, 1.0.1 (patch), 2.0.0 (major), 2.0.1 (patch) and 2.0.2, which moved nothing at all."""

    def go_on() -> None:
        release(released, rubric(title="Voice"))
        release(released, rubric(ban="just", title="Voice", version="1.0.1"))
        release(released, rubric(ban="just", version="2.0.0"))
        release(released, "# only a comment\n" + rubric(ban="just", version="2.0.2"))

    template("five releases of rubric/tone", go_on)
    return released


def rows(found: ReleaseLog) -> list[tuple[Any, ...]]:
    return [
        (str(one.logged.version), one.before and str(one.before), one.required, one.rules, str(one.since))
        for one in found.releases
    ]


def test_each_release_says_what_changed_and_since_when_it_is_comparable(long: Shop) -> None:
    patch = (("metadata-changed", Bump.PATCH, 1),)
    assert rows(tracked(long)) == [
        ("2.0.2", "2.0.1", Bump.NONE, (), "2.0.0"),
        ("2.0.1", "2.0.0", Bump.PATCH, patch, "2.0.0"),
        ("2.0.0", "1.0.1", Bump.MAJOR, (("phrase-reworded", Bump.MAJOR, 1),), "2.0.0"),
        ("1.0.1", "1.0.0", Bump.PATCH, patch, "1.0.0"),
        ("1.0.0", None, None, (), "1.0.0"),
    ]


def test_a_range_lists_what_it_covers_and_looks_as_far_back_as_it_must(long: Shop) -> None:
    assert [row[0] for row in rows(tracked(long, "rubric/tone@^1"))] == ["1.0.1", "1.0.0"]
    (one,) = tracked(long, "rubric/tone@2.0.2").releases
    assert (str(one.before), str(one.since), one.open) == ("2.0.1", "2.0.0", False)


def test_a_limit_says_how_far_it_looked(long: Shop) -> None:
    found = tracked(long, limit=1)
    assert (str(found.releases[0].since), found.releases[0].open, found.skipped) == ("2.0.1", True, 4)
    assert [one.since for one in found.releases[1:]] == [None] * 4


def test_a_limit_of_none_at_all_reads_no_file(long: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArtifactStore, "resolve", None)
    assert [str(one.logged.version) for one in tracked(long, limit=0).releases][::4] == ["2.0.2", "1.0.0"]


def test_a_broken_file_of_acceptances_stops_no_history_which_never_asks_it(long: Shop, cli: Cli) -> None:
    before = cli("-C", long.root, "log", "rubric/tone")
    long.write(".evalstore/accepted.yaml", "accepted: [")
    assert cli("-C", long.root, "status").code == 3
    assert cli("-C", long.root, "log", "rubric/tone") == before
    assert before.code == 0


def test_a_broken_release_says_so_and_is_passed_over(long: Shop) -> None:
    long.write("rubrics/tone.yaml", "id: [")
    long.git("commit", "-q", "-a", "-m", "Break")
    long.git("tag", "-f", "rubric/tone@2.0.1")
    found = {str(one.logged.version): one for one in tracked(long).releases}
    assert "the tag rubric/tone@2.0.1 is not valid" in str(found["2.0.1"].problem)
    assert found["2.0.1"].since is None
    assert (str(found["2.0.2"].before), str(found["2.0.2"].since)) == ("2.0.0", "2.0.0")
    assert found["2.0.2"].rules == (("metadata-changed", Bump.PATCH, 1),)


def test_what_came_before_a_release_that_cannot_be_read_is_open(long: Shop) -> None:
    long.write("rubrics/tone.yaml", "id: [")
    long.git("commit", "-q", "-a", "-m", "Break")
    long.git("tag", "-f", "rubric/tone@1.0.0")
    newest, *_ = tracked(long, "rubric/tone@1.0.1").releases
    assert (newest.before, str(newest.since), newest.open) == (None, "1.0.1", True)


def test_the_first_release_of_all_is_not_open(long: Shop) -> None:
    (one,) = tracked(long, "rubric/tone@1.0.1", limit=1).releases
    assert (str(one.since), one.open) == ("1.0.0", False)


def test_a_pre_release_is_measured_by_whatever_came_before_and_measures_no_release(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump("rubric/tone", pre="rc")
    released.write("rubrics/tone.yaml", rubric(ban="just", version="2.0.0"))
    released.bump("rubric/tone")
    assert [row[:3] for row in rows(tracked(released))] == [
        ("2.0.0", "1.0.0", Bump.MAJOR),
        ("2.0.0-rc.1", "1.0.0", Bump.MAJOR),
        ("1.0.0", None, None),
    ]


def test_the_rules_alone_count_whatever_was_accepted(released: Shop, cli: Cli) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    ran = cli("-C", released.root, "status", "--format", "json")
    diff = json.loads(cli("-C", released.root, "diff", "rubric/tone", "--format", "json").out)
    print_ = diff["findings"][0]["fingerprint"]
    assert json.loads(ran.out)["artifacts"][0]["required_bump"] == "major"
    assert cli("-C", released.root, "accept", print_, "--reason", "nobody says it", "--level", "minor").code == 0
    released.bump()
    newest = tracked(released).releases[0]
    assert (newest.logged.bump, newest.required, str(newest.since)) == ("minor", Bump.MAJOR, "1.1.0")


def test_references_that_float_are_named(shop: Shop, cli: Cli) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged(pin="judge/accuracy@^1"))
    shop.bump()
    assert tracked(shop, "rubric/reviewed").floating == ("judge/accuracy@^1",)
    assert cli("-C", shop.root, "log", "rubric/reviewed").out.splitlines()[-1] == (
        "scores since 1.0.0 are comparable, provided that judge/accuracy@^1 did not move"
    )


def test_changed_rows_are_changes(shop: Shop) -> None:
    shop.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    release(shop, '{"id": "one", "input": "Why?"}\n', "datasets/web.jsonl")
    release(shop, '{"id": "one", "input": "Why not?"}\n', "datasets/web.jsonl")
    newest = tracked(shop, "dataset/web").releases[0]
    assert newest.rules == (("question-input-changed", Bump.MAJOR, 1),)


def test_the_text(long: Shop, cli: Cli) -> None:
    out = cli("-C", long.root, "log", "rubric/tone").out
    assert re.sub("[0-9]{4}-[0-9]{2}-[0-9]{2}", "2026-01-01", out) == (
        "rubric/tone\n"
        "  2.0.2  2026-01-01  patch  released by Ada Tester\n"
        "  2.0.1  2026-01-01  patch  released by Ada Tester\n"
        "    patch: metadata-changed\n"
        "  2.0.0  2026-01-01  major  released by Ada Tester\n"
        "    major: phrase-reworded\n"
        "  1.0.1  2026-01-01  patch  released by Ada Tester\n"
        "    patch: metadata-changed\n"
        "  1.0.0  2026-01-01  first  released by Ada Tester\n"
        "\n"
        "scores since 2.0.0 are comparable\n"
    )


@pytest.mark.parametrize("words", [(), ("--short",), ("--all",)])
def test_the_document_is_what_its_schema_says(long: Shop, cli: Cli, words: tuple[str, ...]) -> None:
    document = json.loads(cli("-C", long.root, "log", "rubric/tone", "--format", "json", *words).out)
    schema = json.loads((find_resource_folder("schema") / "output/log.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []
    assert document["comparable_since"] == (None if words == ("--short",) else "2.0.0")


def test_short_and_all_contradict_each_other(long: Shop, cli: Cli) -> None:
    assert cli("-C", long.root, "log", "rubric/tone", "--short", "--all").code == 2


def test_a_release_whose_tag_is_not_here_is_named_and_keeps_its_edits(long: Shop, cli: Cli) -> None:
    """The ledger lists it: no command may call it unreleased, or give its edit to the release after it."""
    long.git("tag", "-d", "rubric/tone@2.0.0")
    said = " ".join(cli("-C", long.root, "log", "rubric/tone").out.split())
    assert "note: rubric/tone@2.0.0 was released, but its tag is not in this clone: it is left out" in said
    assert json.loads(cli("-C", long.root, "log", "rubric/tone", "--format", "json").out)["untagged"] == ["2.0.0"]
    blamed = json.loads(cli("-C", long.root, "blame", "rubric/tone", "--format", "json").out)["parts"]
    assert {part["version"] for part in blamed if part["value"] == "just"} == {"2.0.0"}
    with ArtifactStore.open(long.root) as store:
        assert "rubric/tone@2.0.0 was released, but" in resolve_releases(store, "rubric/tone")[1][0]
    long.git("tag", "-d", "rubric/tone@2.0.1", "rubric/tone@2.0.2")
    said = " ".join(cli("-C", long.root, "log", "rubric/tone", "--short").out.split())
    assert "rubric/tone@2.0.0, 2.0.1, 2.0.2 were released, but their tags are not in this clone: they are left" in said
