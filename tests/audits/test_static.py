"""`audit --static`: bounds that hold whatever was answered, without outputs, replies or a single grading."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.audits import Audit
from evalstore.audits.shapley import ShareBounds, bound_shares
from evalstore.audits.static_audit import StaticAudit, audit_statically
from evalstore.diff.findings import Direction
from evalstore.errors import RefusedError
from evalstore.places import find_resource_folder
from evalstore.runs import Run, pair_tables
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN, BRIEF, JUDGED
from tests.audits.test_page import join, require_inert, stay, worsen

TENTHS = [Fraction(number, 10) for number in range(11)]
LEVELS = [Fraction(number, 4) for number in range(5)]


def share_out(cells: Sequence[Fraction]) -> list[Fraction]:
    """Return Shapley shares by plain enumeration of orders."""
    players = len(cells).bit_length() - 1
    orders = [*permutations(range(players))]
    shares = [Fraction(0)] * players
    for order in orders:
        held = 0
        for player in order:
            shares[player] += (cells[held | 1 << player] - cells[held]) / len(orders)
            held |= 1 << player
    return shares


def obeys(cells: Sequence[Fraction], directions: Sequence[Direction]) -> bool:
    """Whether each player moves every mix only where it can."""
    signs = {Direction.STRICTER: (-1, 0), Direction.LOOSER: (0, 1), Direction.NONE: (0,), Direction.EITHER: (-1, 0, 1)}
    return all(
        (cells[held | 1 << player] > cells[held]) - (cells[held | 1 << player] < cells[held]) in signs[direction]
        for player, direction in enumerate(directions)
        for held in range(len(cells))
        if not held >> player & 1
    )


@pytest.mark.parametrize("direction", Direction)
def test_bounds_of_two_players_are_those_of_all_games(direction: Direction) -> None:
    games: dict[tuple[Fraction, Fraction], list[list[Fraction]]] = {}
    for cells in product(LEVELS, repeat=4):
        if obeys(cells, [direction, Direction.EITHER]):
            games.setdefault((cells[0], cells[3]), []).append(share_out(cells))
    for (old, new), shares in games.items():
        found = bound_shares(old, new, [direction, Direction.EITHER])
        expected = [ShareBounds(min(one), max(one)) for one in zip(*shares, strict=True)]
        assert list(found) == expected, (old, new)


def test_no_game_of_more_players_leaves_its_bounds() -> None:
    chance, seen = random.Random(7), 0  # noqa: S311  # no secret
    while seen < 300:
        players = chance.choice([1, 3, 3, 4])
        first = chance.choice(list(Direction))
        directions = [first, *[Direction.EITHER] * (players - 1)]
        cells = [chance.choice(TENTHS) for _ in range(1 << players)]
        # Pairs of cells are put in the order that the first player has to keep.
        for held in range(0, len(cells), 2):
            pair = sorted(cells[held : held + 2], reverse=first is Direction.STRICTER)
            cells[held : held + 2] = [pair[0]] * 2 if first is Direction.NONE else pair
        if first is not Direction.EITHER:
            assert obeys(cells, directions)
        found = bound_shares(cells[0], cells[-1], directions)
        for bound, share in zip(found, share_out(cells), strict=True):
            assert bound.least <= share <= bound.most
        seen += 1


def prove(desk: Desk, runs: Sequence[Run | Path], **options: Any) -> StaticAudit:
    """Audit two runs, and see that it is all one whether DuckDB reads them or the reader of rows.

    Without a store the records prove the same, if less.
    """
    a, b = (run.path if isinstance(run, Run) else run for run in runs)
    with ArtifactStore.open(desk.repo.root) as store, pytest.MonkeyPatch.context() as patch:
        found = audit_statically(a, b, store, **options)
        bare = audit_statically(a, b, None, **options)
        patch.setattr(pair_tables, "find_spec", lambda _: None)
        assert audit_statically(a, b, store, **options) == found
        assert audit_statically(a, b, None, **options) == bare
    kept = ("a", "b", "delta", "passes_delta", "common", "lines", "unstored", "flips", "ungraded")
    assert [getattr(bare, name) for name in kept] == [getattr(found, name) for name in kept]
    bounds = {factor.player: factor for factor in bare.factors}
    for factor in found.factors:
        for channel in ("score", "passes"):
            inner, outer = getattr(factor, channel), getattr(bounds[factor.player], channel)
            assert outer.least <= inner.least <= inner.most <= outer.most
    assert "there is no store here" in bare.notes[0]
    return found


def require_within(found: Audit, static: StaticAudit) -> None:
    """Assert that each share, of players that move jointly their sum, lies within what is proved of it."""
    assert (static.delta, static.passes_delta, static.common) == (found.delta, found.passes_delta, found.common)
    bounds = {factor.player: factor for factor in static.factors}
    for factor in found.factors:
        several = [bounds[player] for player in factor.players if player in bounds]
        for share, channel in ((factor.share, "score"), (factor.passes, "passes")):
            ends = [getattr(one, channel) for one in several]
            assert sum(end.least for end in ends) <= share <= sum(end.most for end in ends), (factor.name, channel)
    assert static.lines == found.lines
    assert static.flips == (len(found.flips.pass_to_fail), len(found.flips.fail_to_pass))
    for channel, delta in (("score", found.delta), ("passes", found.passes_delta)):
        ends = [getattr(one, channel) for one in static.factors]
        line = getattr(static.lines.total, channel)
        assert sum(end.least for end in ends) + line <= delta <= sum(end.most for end in ends) + line


def move_service(desk: Desk) -> tuple[Run, Run]:
    """Return two runs below an edited rubric whose judge has another mind by now, and the same name."""
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.rubric("2.0.0", JUDGED, {**BAN, "values": ["foo", "x"]})
    desk.dataset("1.0.0", 4)
    desk.dataset("2.0.0", 4)
    a = desk.score("1.0.0", ["good", "good ok", "x", "ok"], "a")
    desk.repo.forget()
    desk.server.text = lambda prompt: '{"score": 0.1}' if "good" in prompt else '{"score": 0}'
    return a, desk.score("2.0.0", ["good", "good ok", "x", "foo"], "b")


@pytest.mark.parametrize("make", [worsen, join, stay, move_service])
def test_what_was_graded_lies_within_what_is_proved(desk: Desk, make: Callable[[Desk], tuple[Run, Run]]) -> None:
    runs = make(desk)
    require_within(desk.audit(*runs, asks=True), prove(desk, runs))


@pytest.mark.sampling
@pytest.mark.heavy
def test_random_edits_of_rubrics_lie_within_what_is_proved(desk: Desk) -> None:
    chance, signs = random.Random(3), set()  # noqa: S311  # no secret
    words = ("ok", "foo", "good", "alpha", "beta")
    for number in range(1, 9, 2):
        for version in (number, number + 1):
            checks = [
                {
                    "id": "ban",
                    "kind": "must_not_contain",
                    "values": list(words[: 1 + chance.randint(0, 1) + version % 2]),
                },
                {"id": "any", "kind": "must_contain_any", "values": chance.sample(words, 2) if number > 4 else ["ok"]},
                {**BRIEF, "max_chars": 12 if number < 6 else chance.choice([8, 20])},
            ]
            desk.rubric(f"{version}.0.0", *checks, threshold=chance.choice([0.3, 0.6]), required=["ban"][: number > 2])
            desk.dataset(f"{version}.0.0", 5)
        texts = [[" ".join(chance.choices(words, k=3)) for _ in range(5)] for _ in range(2)]
        texts[1][0] = texts[0][0]
        runs = [desk.score(f"{number + side}.0.0", texts[side], f"r{number}{side}") for side in (0, 1)]
        static = prove(desk, runs)
        require_within(desk.audit(*runs), static)
        signs |= {one.score for one in static.proved}
    assert {Direction.EITHER, Direction.LOOSER} <= signs


def test_a_stricter_rubric_alone_has_the_whole_change(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.rubric("2.0.0", {**BAN, "values": ["foo", "ok"]}, BRIEF)
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, 4)
    runs = [desk.score(version, ["ok", "ok", "fine", "foo"], version[0]) for version in ("1.0.0", "2.0.0")]
    static = prove(desk, runs)
    (rubric,) = static.factors
    assert rubric.score == (static.delta, static.delta) == (Fraction(-1, 4),) * 2
    assert static.own == (0, 0)
    assert [(one.score, one.questions) for one in static.proved] == [(Direction.STRICTER, 4)]


def test_the_answer_says_where_it_counts_what_is_missing(desk: Desk, cli: Callable[..., Any]) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 4)
    a, b = desk.score("1.0.0", ["foo", "foo", "ok", "ok"]), desk.score("1.0.0", ["ok", "ok", "ok"], "b")
    ran = cli("audit", a.path, b.path, "--static", "--fail-on", "own<-0.5", cwd=desk.repo.root)
    told = " ".join(ran.out.split())
    assert "outputs exactly +66.67 and no answer -16.67" in told
    assert "On these questions, with missing answers counted as 0, its outputs gained 25.00 points;" in told
    ran = cli("audit", a.path, b.path, "--fail-on", "own<-0.9", cwd=desk.repo.root)
    assert "1 missing answer counts 0, " in " ".join(ran.out.split())


def strip_outputs(run: Run, folder: Path) -> Path:
    """Copy a run without its outputs: as somebody publishes scores who may not publish answers."""
    folder.mkdir()
    rows = [json.loads(line) for line in run.samples.read_text().splitlines()]
    for row in rows:
        row["output"] = {"raw": [None]}
        row.pop("messages", None), row.pop("interactions", None)
    (folder / run.samples.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / run.path.name).write_text(run.path.read_text())
    return folder / run.path.name


def test_outputs_and_replies_may_be_gone(desk: Desk, tmp_path: Path) -> None:
    runs = worsen(desk)
    exact = desk.audit(*runs, asks=True)
    bare = [strip_outputs(run, tmp_path / f"bare{number}") for number, run in enumerate(runs)]
    desk.repo.forget()
    desk.server.text = lambda _: "nothing that is a score"
    with pytest.raises(RefusedError):
        desk.repo.audit(*bare)
    static = prove(desk, bare)
    require_within(exact, static)
    assert static.unstored == (6, 6)
    # What the digests of outputs rule out is no more than what the outputs do.
    assert [one.changed for one in static.factors] == [one.changed for one in prove(desk, runs).factors]
    one = prove(desk, (runs[0], bare[1]))
    assert one.unstored == (0, 6)
    require_within(exact, one)


def test_scores_that_no_ruler_can_have_given_are_refused_or_a_line(desk: Desk) -> None:
    runs = stay(desk)
    lines = runs[1].samples.read_text().splitlines()
    row = json.loads(lines[0])
    row["metadata"]["evalstore_score"], row["metadata"]["evalstore_verdict"] = "0", "fail"
    runs[1].samples.write_text("\n".join([json.dumps(row), *lines[1:]]) + "\n")
    aggregate = runs[1].path.read_text().replace('"evalstore_score": "1"', '"evalstore_score": "2/3"')
    runs[1].path.write_text(aggregate)
    with pytest.raises(RefusedError, match="cannot have given"):
        prove(desk, runs)
    static = prove(desk, runs, allow_drift=True)
    assert (static.factors, static.lines.not_reproduced.score) == ((), Fraction(-1, 3))


@pytest.fixture
def ask(desk: Desk, cli: Callable[..., Any]) -> Iterator[Callable[..., tuple[int, str]]]:
    a, b = (str(run.path) for run in worsen(desk))

    def run(*argv: str) -> tuple[int, str]:
        ran = cli("audit", a, b, "--static", *argv, cwd=desk.repo.root)
        return ran.code, str(ran.out or ran.err)

    return run


def test_it_is_said_in_every_form(ask: Callable[..., tuple[int, str]]) -> None:
    code, out = ask("--format", "json")
    found = json.loads(out)
    schema = json.loads((find_resource_folder("schema") / "output/audit_static.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(found)
    assert code == 0
    for form in ("text", "markdown", "html"):
        code, out = ask("--format", form)
        assert code == 0
        words = require_inert(out).words if form == "html" else out
        for factor in found["factors"]:
            least, most = (f"{factor[f'share_{end}'] * 100:+.2f}".replace("+0.00", "0.00") for end in ("least", "most"))
            assert (f"{least} to {most}" if least != most else least) in words
    assert max(map(len, ask()[1].splitlines())) <= 100


def test_the_answer_is_first_and_last_in_twenty_lines(ask: Callable[..., tuple[int, str]]) -> None:
    answer = json.loads(ask("--format", "json")[1])["answer"]
    lines = ask()[1].splitlines()
    assert len(lines) <= 20
    assert lines[-1] in answer
    assert [*lines].index(lines[-1]) <= 3
    assert len(ask("--verbose")[1].splitlines()) >= len(lines)


def test_records_alone_are_enough(desk: Desk, cli: Callable[..., Any], tmp_path: Path) -> None:
    """Runs that were copied out of their repository, and such as another store never heard of."""
    runs = worsen(desk)
    for run in runs:
        for path in (run.path, run.samples):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    argv = ("audit", *(run.path.name for run in runs), "--static", "--format", "json")
    known = ("audit", *(str(run.path) for run in runs), *argv[3:])
    found = [json.loads(cli(*known, cwd=desk.repo.root).out)]
    found.append(json.loads(cli(*argv, cwd=tmp_path).out))
    assert cli("init", cwd=tmp_path).code == 0
    found.append(json.loads(cli(*argv, cwd=tmp_path).out))
    stored, bare, foreign = found
    assert ("there is no store here" in bare["notes"][0], "the run was graded with" in foreign["notes"][0]) == (1, 1)
    assert {**bare, "notes": ()} == {**foreign, "notes": ()}
    assert (stored["delta"], stored["lines"], stored["flips"]) == (bare["delta"], bare["lines"], bare["flips"])
    assert {one["direction"] for one in bare["proved"]} == {"either"}
    assert cli(*argv[:3], cwd=tmp_path).code == 3
    (tmp_path / ".git/HEAD").write_text("what git does not read")
    assert cli(*argv, cwd=tmp_path).code == 3  # a store that cannot be read is not a missing one


def test_a_condition_is_answered_where_the_bounds_do(ask: Callable[..., tuple[int, str]]) -> None:
    answers = {
        "rubric<-0.99": "holds",
        "rubric<1.01": "fails",
        "rubric>0": "cannot tell",
        "own@old<0": "cannot tell",
        "mix>0": "holds",
        "delta>1": "holds",
        "flips>0": "fails",
    }
    code, out = ask(*(word for condition in answers for word in ("--fail-on", condition)), "--format", "json")
    assert code == 1
    assert {one["condition"]: one["answer"] for one in json.loads(out)["conditions"]} == answers
    assert ask("--fail-on", "mix>0")[0] == 0
    assert [ask("--fail-on", "rubric>0", "--undecided", word)[0] for word in ("fail", "pass")] == [1, 0]


def test_what_grades_is_refused_beside_it(cli: Callable[..., Any], tmp_path: Path) -> None:
    for option in (["--ask"], ["--question", "q0"], ["--by", "tag"]):
        ran = cli("audit", "a.json", "b.json", "--static", *option, cwd=tmp_path)
        assert ran.code == 2
        assert "grades nothing" in ran.err


def test_judged_checks_have_two_players_and_no_call_is_made(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.judge("2.0.0", "HARD")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.rubric("2.0.0", {**JUDGED, "judge_prompt_ref": "judge/acc@2.0.0"}, BAN)
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, 3)
    runs = desk.score("1.0.0", ["good", "good ok", "x"]), desk.score("2.0.0", ["good good", "ok", "foo"], "b")
    asked = desk.server.asked.total()
    static = prove(desk, runs)
    assert {str(factor.player) for factor in static.factors} == {"judge", "outputs"}
    assert desk.server.asked.total() == asked
    require_within(desk.audit(*runs, asks=True), static)
