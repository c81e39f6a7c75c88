"""Accepting a change: through the real command, for one change of one artifact since one release, and until a day."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.documents import read_yaml
from evalstore.errors import LoadError
from evalstore.places import find_resource_folder
from evalstore.release.changes.accept import AcceptOptions, accept
from evalstore.release.changes.status import read_status
from evalstore.release.publishing.bump import bump
from evalstore.release.publishing.step import BumpOptions
from evalstore.report.json_values import write_json_value as document
from evalstore.store import ArtifactStore

FILE = ".evalstore/accepted.yaml"
JUDGE = """\
id: accuracy
version: {version}
template: "{template} {{{{ output }}}}"
score_type: binary
"""
RUBRIC = """\
id: {id}
version: 1.0.0
title: {title}
checks:
  - {{id: polite, kind: must_contain_any, values: [{values}]}}
  - {{id: right, kind: llm_judge, judge_prompt_ref: judge/accuracy@{pin}}}
scoring: {{combine: weighted_avg}}
"""


class Shop:
    """A store with one judge and two rubrics, released, and the command in it."""

    def __init__(self, root: Path, git: Callable[..., str], cli: Callable[..., Any]) -> None:
        self.root, self.git, self.cli = root, git, cli

    def judge(self, template: str = "Is it right?", version: str = "1.0.0") -> None:
        self.write("judges/accuracy.yaml", JUDGE.format(template=template, version=version))

    def rubric(self, id_: str = "tone", **facts: str) -> None:
        words = {"id": id_, "title": "Tone", "values": "please", "pin": "1.0.0", **facts}
        self.write(f"rubrics/{id_}.yaml", RUBRIC.format(**words))

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def run(self, *argv: str, code: int = 0) -> Any:
        ran = self.cli("-C", self.root, *argv)
        assert ran.code == code, ran.err
        return ran

    def json(self, *argv: str, code: int = 0) -> Any:
        document = json.loads(self.run(*argv, "--format", "json", code=code).out)
        schema = json.loads((find_resource_folder("schema") / f"output/{argv[0]}.schema.json").read_text("utf-8"))
        Draft202012Validator(schema).validate(document)
        return document

    def status(self) -> Any:
        """Return what `evalstore status --format json` prints, in this process."""
        with ArtifactStore.open(self.root) as store:
            return document(read_status(store, today=datetime.now(UTC).date()))

    def prints(self, ref: str) -> list[str]:
        with ArtifactStore.open(self.root) as store:
            artifacts = read_status(store).artifacts
        return [finding.fingerprint for one in artifacts if one.ref == ref for finding in one.findings]

    def accept(self, ref: str = "judge/accuracy", *more: str) -> Any:
        (print_,) = self.prints(ref)
        return self.json("accept", print_, "--reason", "200 replies are the same", *more)

    def take(self, ref: str = "judge/accuracy") -> None:
        """Accept the one change of an artifact in this process."""
        (print_,) = self.prints(ref)
        with ArtifactStore.open(self.root) as store:
            accept(
                store, print_, AcceptOptions("200 replies are the same"), today=datetime.now(UTC).date(), signature={}
            )

    def standing(self, ref: str = "judge/accuracy") -> Any:
        return next(one for one in self.status()["artifacts"] if one["ref"] == ref)

    def found(self) -> list[tuple[str, str]]:
        return [(one["rule"], f"{one['file']}:{one['line']}") for one in self.status()["findings"]]

    def entries(self) -> Any:
        return read_yaml((self.root / FILE).read_bytes(), FILE).value["accepted"]


@pytest.fixture
def shop(git: Callable[..., str], cli: Callable[..., Any], tmp_path: Path, released: Path) -> Shop:
    shutil.copytree(released, tmp_path / "repo")
    shop = Shop(tmp_path / "repo", git, cli)
    shop.judge("Is it correct?")
    return shop


@pytest.fixture
def whole(shop: Shop) -> Shop:
    """The same with one acceptance."""
    shop.take()
    return shop


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store where everything is as released, made once."""
    root = tmp_path_factory.mktemp("released") / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    shop = Shop(root, NotImplemented, NotImplemented)
    shop.judge()
    shop.rubric()
    shop.rubric("style")
    who = {f"GIT_{role}_{part}": "a" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    with ArtifactStore.open(root) as store:
        bump(store, BumpOptions(all_=True, signature=who))
    return root


def test_an_assumed_major_change_shows_how_to_accept_it(shop: Shop) -> None:
    (print_,) = [finding["fingerprint"] for finding in shop.json("diff", "judge/accuracy")["findings"]]
    assert [print_] == shop.prints("judge/accuracy")
    told = shop.run("diff", "judge/accuracy").out
    assert f'accept    evalstore accept {print_} --reason "…"' in told
    assert "evalstore accept" not in shop.run("diff", "judge/accuracy@1.0.0", "judge/accuracy@1.0.0").out


def test_an_accepted_change_stays_visible_and_counts_less(shop: Shop) -> None:
    document = shop.accept()
    assert (document["was"], document["level"], document["required_bump"], document["next_version"]) == (
        "major",
        "minor",
        "minor",
        "1.1.0",
    )
    finding = shop.json("diff", "judge/accuracy")["findings"][0]
    assert (finding["level"], finding["level_before"], finding["accepted"]["reason"]) == (
        "minor",
        "major",
        "200 replies are the same",
    )
    assert shop.json("diff", "judge/accuracy")["required_bump"] == "minor"
    assert shop.json("status") == shop.status()
    standing = shop.standing()
    assert (standing["required_bump"], standing["next_version"], standing["ok"]) == ("minor", "1.1.0", False)
    assert [one["accepted"]["by"] for one in standing["adjusted"]] == ["Ada Tester <ada@example.org>"]
    for told in (shop.run("diff", "judge/accuracy").out, shop.run("status").out):
        words = " ".join(told.split())
        assert "accepted as minor, was major, by Ada Tester on" in words
        assert "200 replies are the same" in words


def test_the_gate_and_the_bump_ask_for_the_level_that_was_accepted(shop: Shop) -> None:
    shop.judge("Is it correct?", "1.1.0")
    shop.run("status", "--check", code=1)
    shop.accept()
    shop.run("status", "--check")
    told = shop.run("bump", "judge/accuracy", "--dry-run").out
    assert "judge/accuracy@1.1.0 rests on .evalstore/accepted.yaml, which is not committed: review and" in told
    document = shop.json("bump", "judge/accuracy")
    (released,) = document["released"]
    assert (released["ref"], released["bump"]) == ("judge/accuracy@1.1.0", "minor")
    assert document["unreviewed"] == ["judge/accuracy@1.1.0"]


def test_an_acceptance_that_is_committed_is_as_good_as_a_rule(shop: Shop) -> None:
    shop.accept()
    shop.git("add", ".evalstore")
    shop.git("commit", "-q", "-m", "Accept")
    shop.rubric("tone", title="The tone")
    with ArtifactStore.open(shop.root) as store:
        assert bump(store, BumpOptions(["judge/accuracy"], dry_run=True)).unreviewed == ()
        shop.write(FILE, (shop.root / FILE).read_text("utf-8") + "# reviewed\n")
        released = bump(store, BumpOptions(["judge/accuracy", "rubric/tone"], dry_run=True))
    assert released.unreviewed == ("judge/accuracy@1.1.0",)


def test_what_was_released_with_it_is_history(shop: Shop) -> None:
    shop.accept()
    shop.run("bump", "judge/accuracy")
    assert shop.found() == []
    # What it was released as is still told with its reason.
    finding = shop.json("diff", "judge/accuracy@1.0.0", "judge/accuracy@1.1.0")["findings"][0]
    assert (finding["level"], finding["accepted"]["reason"]) == ("minor", "200 replies are the same")
    # Taken back and made again, it is a change since another release, which nobody has accepted.
    shop.judge(version="1.1.0")
    shop.run("bump", "judge/accuracy", "--level", "major")
    shop.judge("Is it correct?", "2.0.0")
    assert shop.standing()["required_bump"] == "major"


def test_it_outlives_edits_around_it_but_not_its_own(shop: Shop) -> None:
    shop.accept()
    shop.write(
        "judges/accuracy.yaml", "# spoken\ntitle: Right?\n" + JUDGE.format(template="Is it correct?", version="1.0.0")
    )
    assert shop.standing()["required_bump"] == "minor"
    assert shop.found() == []
    shop.judge("Is it so?")
    assert shop.standing()["required_bump"] == "major"
    assert shop.found() == [("accept-unused", f"{FILE}:4")]


def test_it_holds_for_no_other_artifact(shop: Shop) -> None:
    shop.rubric("tone", values="please, thanks")
    shop.rubric("style", values="please, thanks")
    shop.accept("rubric/tone")
    needs = {one["ref"]: one["required_bump"] for one in shop.status()["artifacts"]}
    assert needs == {"judge/accuracy": "major", "rubric/style": "major", "rubric/tone": "minor"}
    entry = shop.entries()[0]
    text = (shop.root / FILE).read_text("utf-8").replace("rubric/tone", "rubric/style")
    shop.write(FILE, text)
    assert shop.standing("rubric/style")["required_bump"] == "major"
    assert shop.found() == [("accept-unused", f"{FILE}:4")]
    assert entry["artifact"] == "rubric/tone"


def test_what_a_judge_was_accepted_for_is_asked_of_who_pins_it(shop: Shop) -> None:
    shop.accept()
    shop.run("bump", "judge/accuracy")
    shop.rubric(pin="1.1.0")
    assert shop.standing("rubric/tone")["required_bump"] == "major"
    shop.accept("rubric/tone")
    assert shop.standing("rubric/tone")["required_bump"] == "minor"


def test_a_pin_on_the_version_to_come_is_accepted_for_this_content(shop: Shop) -> None:
    shop.judge("Is it correct?", "2.0.0")
    shop.rubric(pin="2.0.0")
    shop.accept("rubric/tone")
    assert shop.standing("rubric/tone")["required_bump"] == "minor"
    shop.judge("Is it so?", "2.0.0")
    assert shop.standing("rubric/tone")["required_bump"] == "major"


def test_a_part_is_accepted_with_the_whole(shop: Shop) -> None:
    text = (shop.root / "rubrics/tone.yaml").read_text("utf-8")
    shop.write("rubrics/tone.yaml", text.replace("weighted_avg", "min, weights: {polite: 3}"))
    (finding,) = shop.json("diff", "rubric/tone")["findings"]
    ran = shop.run("accept", finding["children"][0]["fingerprint"], "--reason", "x", code=3)
    assert f"hint: evalstore accept {finding['fingerprint']}" in ran.err


def test_it_ends_after_its_day(shop: Shop) -> None:
    shop.accept("judge/accuracy", "--until", "2999-12-31")
    assert shop.standing()["required_bump"] == "minor"
    text = (shop.root / FILE).read_text("utf-8")
    shop.write(FILE, text.replace("2999-12-31", "2020-01-01"))
    assert shop.standing()["required_bump"] == "major"
    assert shop.found() == [("accept-expired", f"{FILE}:12")]
    found = json.loads(shop.run("validate", "--format", "json").out)["findings"]
    assert "accept-expired" in [one["rule"] for one in found]
    shop.accept()
    assert shop.found() == []
    assert len(shop.entries()) == 1


@pytest.mark.parametrize(
    ("today", "needed", "found"),
    [
        (date(2999, 12, 31), "minor", []),  # the last day is one of them
        (date(3000, 1, 1), "major", ["accept-expired"]),
        (None, "major", []),  # no day at all: nothing that ends holds, and nothing is called over
    ],
)
def test_its_last_day_is_the_last_day_everywhere(shop: Shop, today: date | None, needed: str, found: list[str]) -> None:
    shop.accept("judge/accuracy", "--until", "2999-12-31")
    with ArtifactStore.open(shop.root) as store:
        seen = read_status(store, today=today)
        released = bump(store, BumpOptions(["judge/accuracy"], dry_run=True, today=today)).released
    assert [str(one.required_bump) for one in seen.artifacts] == [str(one.bump) for one in released] == [needed]
    assert [one.rule for one in seen.findings] == found


def test_validate_finds_what_no_change_needs(shop: Shop) -> None:
    shop.accept()
    rules = [one["rule"] for one in json.loads(shop.run("validate", "--format", "json").out)["findings"]]
    assert not {rule for rule in rules if rule.startswith("accept")}
    shop.judge()
    found = json.loads(shop.run("validate", FILE, "--format", "json").out)["findings"]
    assert [(one["rule"], one["file"], one["line"]) for one in found] == [("accept-unused", FILE, 4)]
    shop.run("validate", "--strict", FILE, code=1)
    assert "all unchanged since release" in shop.run("status").out


def test_the_file_is_in_order_whoever_was_first(shop: Shop) -> None:
    shop.rubric("tone", values="please, thanks")
    shop.rubric("style", values="please, thanks")
    refs = ["rubric/tone", "judge/accuracy", "rubric/style"]
    for ref in refs:
        shop.take(ref)
    first = (shop.root / FILE).read_bytes()
    (shop.root / FILE).unlink()
    for ref in reversed(refs):
        shop.take(ref)
    assert (shop.root / FILE).read_bytes() == first
    assert [entry["artifact"] for entry in shop.entries()] == sorted(refs)


def test_accepting_again_looks_at_the_rule_again(shop: Shop) -> None:
    shop.accept()
    (print_,) = shop.prints("judge/accuracy")
    document = shop.json("accept", print_, "--reason", "nobody pins it", "--level", "patch")
    assert (document["was"], document["level"], document["next_version"]) == ("major", "patch", "1.0.1")
    assert [entry["reason"] for entry in shop.entries()] == ["nobody pins it"]


def test_extensions_of_the_file_stay(shop: Shop) -> None:
    shop.accept()
    text = (shop.root / FILE).read_text("utf-8")
    shop.write(FILE, text.replace("    day:", "    x_review: 7\n    day:") + "x_team: docs\n")
    shop.rubric("tone", values="please, thanks")
    shop.accept("rubric/tone")
    value = read_yaml((shop.root / FILE).read_bytes(), FILE).value
    assert (value["x_team"], value["accepted"][0]["x_review"]) == ("docs", 7)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_people_wrote_into_the_file_stays(shop: Shop, ending: str) -> None:
    for ref in ("rubric/tone", "rubric/style"):
        shop.rubric(ref.partition("/")[2], values="please, thanks")
        shop.take(ref)
    text = (shop.root / FILE).read_text("utf-8")
    text = text.replace("  - artifact: rubric/tone", "  # asked by Bo\n  - artifact: rubric/tone")
    text = text.replace("reason: 200 replies are the same", "reason: '200 replies'  # all of them", 1)
    shop.write(FILE, f"{text}# the end\nx_team: docs".replace("\n", ending))
    before = (shop.root / FILE).read_bytes().decode().split(ending)
    for again in (True, False):
        shop.take()
        after = (shop.root / FILE).read_bytes().decode().split(ending)
        assert [*after[:3], *after[13:]] == before, again
        assert [entry["artifact"] for entry in shop.entries()] == ["judge/accuracy", "rubric/style", "rubric/tone"]


@pytest.mark.parametrize("empty", ["accepted: []", "# none yet\naccepted: [ ]  # none\nx_team: docs\n"])
def test_an_empty_file_is_filled_and_a_flow_is_refused(shop: Shop, empty: str) -> None:
    shop.write(FILE, empty)
    shop.accept()
    assert [entry["artifact"] for entry in shop.entries()] == ["judge/accuracy"]
    assert "# none" not in empty or "# none yet\n" in (shop.root / FILE).read_text("utf-8")
    (entry,) = shop.entries()
    shop.write(FILE, f"accepted: [{json.dumps(dict(entry))}]\n")
    shop.rubric("tone", values="please, thanks")
    (print_,) = shop.prints("rubric/tone")
    told = shop.run("accept", print_, "--reason", "x", code=3).err
    assert told.startswith(f"error: {FILE}:1:1: no item can be added to `accepted` without changing more of the file")


@pytest.mark.slow
@pytest.mark.chaos
def test_acceptances_at_once_all_stand_and_what_a_killed_one_left_is_swept(
    shop: Shop, cli_process: Callable[..., Any]
) -> None:
    left = shop.root / ".evalstore/.accepted.yaml.1.tmp"
    left.write_text("half")
    shop.rubric("tone", values="please, thanks")
    shop.rubric("style", values="please, thanks")
    refs = ["judge/accuracy", "rubric/style", "rubric/tone"]
    prints = [print_ for ref in refs for print_ in shop.prints(ref)]
    shop.cli = cli_process
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda print_: shop.run("accept", print_, "--reason", "x"), prints))
    assert ([entry["artifact"] for entry in shop.entries()], left.exists()) == (refs, False)


REFUSED = [
    (["0" * 16, "--reason", "x"], 3, "no change since a last release has the fingerprint 0000000000000000"),
    (["PRINT"], 2, "Missing option '--reason'"),
    (["PRINT", "--reason", "  "], 2, "the reason has 0 characters"),
    (["PRINT", "--reason", "x" * 1001], 2, "the reason has 1001 characters"),
    (["PRINT", "--reason", "x", "--until", "2020-01-01"], 2, "2020-01-01 is in the past"),
    (["PRINT", "--reason", "x", "--until", "tomorrow"], 2, "write a day as 2026-12-31"),
    (["PRINT", "--reason", "x", "--level", "major"], 2, "'major' is not one of"),
]


def test_what_cannot_be_accepted_is_said_in_one_sentence(shop: Shop) -> None:
    (print_,) = shop.prints("judge/accuracy")
    for argv, code, told in REFUSED:
        ran = shop.run("accept", *[print_ if word == "PRINT" else word for word in argv], code=code)
        assert told in ran.err
        assert not (shop.root / FILE).exists()


def test_a_patch_is_as_low_as_it_goes(shop: Shop) -> None:
    shop.judge()
    shop.rubric(title="The tone")
    (print_,) = shop.prints("rubric/tone")
    assert (
        "metadata-changed needs only a patch bump as it is" in shop.run("accept", print_, "--reason", "x", code=3).err
    )


def test_nobody_accepts_in_nobodys_name(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (print_,) = shop.prints("judge/accuracy")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert "git has no user.name" in shop.run("accept", print_, "--reason", "x", code=3).err
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Bo")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "bo@example.org")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Bo")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "bo@example.org")
    assert shop.json("accept", print_, "--reason", "x")["by"] == "Bo <bo@example.org>"


Edit = Callable[[str], str]
BROKEN: list[tuple[Edit, str]] = [
    (lambda _: "accepted: [", "not YAML"),
    (lambda text: f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> side\n", "holds a merge conflict"),
    (lambda _: "accepted: all\n", "`accepted` must be a list"),
    (lambda text: text.replace("    level:", "    raeson: x\n    level:"), "`raeson` is not allowed here"),
    (lambda text: text.replace("level: minor", "level: none"), "`level` must be one of minor, patch"),
    (lambda text: text + text[text.index("  - ") :], "(first is item 1)"),
    (
        lambda text: text.replace("    day:", '    until: "2026-02-30"\n    day:'),
        "`until` is not a date: '2026-02-30'",
    ),
]


@pytest.mark.parametrize(("edit", "told"), BROKEN)
def test_a_file_in_another_form_is_refused_at_its_place(whole: Shop, edit: Edit, told: str) -> None:
    whole.write(FILE, edit((whole.root / FILE).read_text("utf-8")))
    with pytest.raises(LoadError, match=rf"^{FILE}:[0-9]+:[0-9]+: .*{re.escape(told)}"):
        whole.status()


@pytest.mark.parametrize(
    "argv", [["status"], ["diff", "judge/accuracy"], ["bump", "--all"], ["accept", "0" * 16, "--reason", "x"]]
)
def test_a_file_in_another_form_stops_every_command(shop: Shop, argv: list[str]) -> None:
    shop.write(FILE, "accepted: all\n")
    assert shop.run(*argv, code=3).err.startswith(f"error: {FILE}:1:11: `accepted` must be a list")


def test_a_link_in_its_place_is_not_followed(shop: Shop, tmp_path: Path) -> None:
    shop.accept()
    (shop.root / FILE).rename(tmp_path / "elsewhere.yaml")
    (shop.root / FILE).symlink_to(tmp_path / "elsewhere.yaml")
    assert FILE in shop.run("status", code=3).err


def test_text_of_strangers_cannot_act_on_the_terminal(shop: Shop) -> None:
    shop.accept()
    text = (shop.root / FILE).read_text("utf-8").replace("200 replies are the same", '"\\e]0;x\\a"')
    shop.write(FILE, text)
    for told in (shop.run("diff", "judge/accuracy").out, shop.run("status").out):
        assert "\x1b" not in told
        assert "\\x1b]0;x" in told


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("rules: {judge-template-changed: mayor}", "judge-template-changed: mayor has no meaning"),
        (
            "rules: {judge-templates-changed: minor}",
            "unknown rule judge-templates-changed",
        ),
        ("rules: {reference-dangling: minor}", "reference-dangling: minor has no meaning"),
        ("strict: maybe", "`strict` must be true or false"),
        ("unpinned: never", "`unpinned` must be one of warn, forbid, allow"),
        ("signed: yes", "`signed` must be one of require, optional"),
        ("judge_max_age_days: -1", "`judge_max_age_days` is -1"),
    ],
)
def test_settings_that_mean_nothing_stop_every_gate(shop: Shop, settings: str, said: str) -> None:
    shop.write("evalstore.yaml", f"{settings}\n")
    for argv in (["diff", "judge/accuracy"], ["status", "--check"], ["bump", "--all"]):
        assert said in shop.run(*argv, code=3).err
    # What a bump refuses is an error of its file.
    assert said in " ".join(shop.run("validate", code=1).out.split())


def test_overrides_are_shown_wherever_the_level_is(shop: Shop) -> None:
    shop.write("evalstore.yaml", "rules: {judge-template-changed:either: minor}\n")
    assert shop.json("diff", "judge/accuracy")["findings"][0]["overridden"] == "judge-template-changed:either"
    # It came with the change that it serves, and so does not count before a release or a review had it.
    assert shop.standing()["required_bump"] == "major"
    for told in (shop.run("diff", "judge/accuracy").out, shop.run("status").out):
        assert "override from major by judge-template-changed:either in evalstore.yaml" in " ".join(told.split())


def test_a_profile_is_a_setting_and_an_option(shop: Shop) -> None:
    question = "id: mail\nversion: 1.0.0\nquestions:\n  - {id: a, input: Hello}\n"
    shop.write("datasets/mail.yaml", question)
    shop.run("bump", "dataset/mail")
    shop.write("datasets/mail.yaml", question + "  - {id: b, input: Bye}\n")
    assert shop.standing("dataset/mail")["required_bump"] == "minor"
    asked = shop.json("status", "--profile", "headline")
    assert (asked["profile"], asked["artifacts"][0]["required_bump"]) == ("headline", "major")
    assert shop.json("diff", "dataset/mail", "--profile", "headline")["required_bump"] == "major"
    shop.write("evalstore.yaml", "profile: headline\n")
    assert shop.standing("dataset/mail")["required_bump"] == "major"
    assert shop.json("diff", "dataset/mail")["profile"] == "headline"
    assert shop.json("diff", "dataset/mail", "--profile", "score")["required_bump"] == "minor"
    (released,) = shop.json("bump", "dataset/mail")["released"]
    assert released["bump"] == "major"
