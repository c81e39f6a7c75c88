"""How many major verdicts on realistic edits are real, and show it: each is held against a large pool of graded outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from random import Random
from zlib import crc32

from evalstore.diff import Diff, DiffFinding, Direction, ReplyWitness, compare
from evalstore.documents import write_canonical
from evalstore.model import JudgeCall, JudgeReply
from evalstore.versions import Bump
from tests.diff.fuzz import held_out_edits, realistic
from tests.diff.fuzz.claims import allows, told, went
from tests.diff.fuzz.drafts import Case
from tests.diff.fuzz.grading import NOWHERE, Answer, Grade, Models, grader
from tests.diff.fuzz.outputs_pool import list_records, list_texts
from tests.diff.fuzz.pair import Drawn, Pair, Value

SETS = {"tuned": realistic.CATEGORIES, "held out": held_out_edits.CATEGORIES}
_SALTS, _FEW = 60, 25
_GRADED, _QUIET, _ENOUGH = 2_500, 500, 100
_PIECES, _KEPT = 120, 40
# Replies of every sort of judge: fine steps of a score, whole numbers of a scale, verdicts, levels, words, none.
REPLIES = [
    *(f'{{"score": {Decimal(step) / 20}}}' for step in range(21)),
    *(f'{{"score": {step}}}' for step in range(2, 11)),
    *('{"verdict": "pass"}', '{"verdict": "fail"}'),
    *(f'{{"level": "{name}"}}' for name in ("wrong", "incorrect", "poor", "partial", "good", "excellent", "weak", "strong")),
    *("Score: 1", "Score: 0", "score: 0.5", "Score: 3", "Score: 7", "Score: 7.5", "score: 7", "FINAL: 5", "Score:\u0663", "Rating = 4", "rating: 2", "I cannot say", ""),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one edit: what was said and what is true; `rules` are those of its findings that may move."""

    category: str
    said: Bump
    moving: bool
    rules: tuple[str, ...]
    real: bool
    shown: bool
    asks: bool
    wrong: tuple[str, ...]
    words: str


@dataclass(slots=True)
class _Models(Models):
    """Models that answer from one pool, by all that they are sent."""

    def ask(self, call: JudgeCall) -> JudgeReply:
        """Answer one call."""
        sent = write_canonical([call.prompt, dict(call.model), call.sample, self.drawn.salt])
        return JudgeReply(REPLIES[crc32(sent.encode()) % len(REPLIES)])


@dataclass(slots=True)
class _Search:
    """What the graded outputs show of a pair; `stirring` are some under which a check's verdict is another one."""

    moved: Drawn | None = None
    stirring: list[Drawn] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)


def judge_case(case: Case, seed: str) -> Judged:
    """Compare an edit, grade the pool under both sides, and say what of it holds."""
    random = Random(seed)  # noqa: S311  # not for secrets
    diff = compare(case.pair.old, case.pair.new, load=case.pair.load)
    majors = [one for one in diff.findings if one.level is Bump.MAJOR]
    moving = [one for one in majors if {one.direction, one.verdict_direction} != {Direction.NONE}]
    search = _search(case, diff, random)
    shown = any(one.witness for one in _walk(moving))
    asks = not shown and bool(moving) and all(one.can_be_asked for one in moving)
    return Judged(
        case.category,
        diff.required_bump,
        bool(moving),
        tuple(sorted({one.rule for one in moving})),
        search.moved is not None or shown,
        shown,
        asks,
        tuple(sorted(search.wrong)),
        f"{told(diff)}",
    )


def _walk(findings: list[DiffFinding]) -> Iterator[DiffFinding]:
    for one in findings:
        yield one
        yield from _walk(list(one.children))


def _search(case: Case, diff: Diff, random: Random) -> _Search:
    """Grade under both sides until something moves; all that a quiet verdict allows is graded."""
    models = _Models(case.pair, Drawn(""))
    old, new = grader(case.pair.old, models), grader(case.pair.new, models)
    found = _Search()
    limit = _GRADED if diff.required_bump is Bump.MAJOR and "questions" not in case.pair.old else _QUIET
    for number, drawn in enumerate(islice(_list_drawn(case, diff, random), limit)):
        _hold(found, diff, old, new, drawn)
        if found.moved and number > _ENOUGH:
            return found
    # What moves a check may move the rubric beside what the other checks ask for.
    pieces = list_texts(random, case.pair, case.texts)[:_PIECES]
    for _ in range(_GRADED if found.stirring else 0):
        start = random.choice(found.stirring)
        parts = [start.text, *random.sample(pieces, min(len(pieces), random.randint(1, 4)))]
        random.shuffle(parts)
        _hold(found, diff, old, new, replace(start, text="\n\n".join(parts), salt=random.randrange(_SALTS)))
        if found.moved:
            break
    return found


def _list_drawn(case: Case, diff: Diff, random: Random) -> Iterator[Drawn]:
    texts = list_texts(random, case.pair, case.texts)
    for finding in _walk(list(diff.findings)):
        if (witness := finding.witness) is None or isinstance(witness, ReplyWitness):
            continue
        yield Drawn.from_witness(witness)
    questions = _list_questions(case.pair)
    records = list_records(random, case.pair)
    judged = "judge" in repr(case.pair)
    few = random.sample(texts, min(len(texts), _FEW))
    plans = [
        (Drawn(text, random.choice(records), random.choice(questions)) for text in texts),
        (Drawn(random.choice(few), record, random.choice(questions)) for record in records for _ in range(4)),
        (
            Drawn(text, random.choice(records), random.choice(questions), salt=salt)
            for salt in range(_SALTS if judged else 0)
            for text in few
        ),
    ]
    while plans:
        for plan in list(plans):
            if (drawn := next(plan, None)) is None:
                plans.remove(plan)
            else:
                yield drawn


def _list_questions(pair: Pair) -> list[Value | None]:
    row = {"id": "q", "input": "Which?"}
    facts = [
        fact for side in (pair.old, pair.new) for check in side.get("checks", ()) for fact in check.get("facts") or ()
    ]
    return [
        None,
        row,
        {**row, "expected": {"answer": "a"}, "expected_facts": facts[:2] or ["Paris"], "expected_tools": ["search"]},
    ]


def _hold(found: _Search, diff: Diff, old: Grade, new: Grade, drawn: Drawn) -> None:
    before, after = old(drawn), new(drawn)
    for id_ in before.keys() & after.keys():
        one, other = before[id_], after[id_]
        if NOWHERE in {one, other}:
            continue
        if len(found.stirring) < _KEPT and dict(one.checks).items() ^ dict(other.checks).items():
            found.stirring.append(drawn)
        if one.seen == other.seen:
            continue
        found.moved = found.moved or drawn
        if diff.required_bump < Bump.MAJOR:
            found.wrong.add(f"unsound: {diff.required_bump}, and {one.seen} becomes {other.seen} for {drawn}")
        elif len(diff.findings) == 1:
            found.wrong.update(_find_wrong(diff.findings[0], one, other))


def _find_wrong(finding: DiffFinding, one: Answer, other: Answer) -> Iterator[str]:
    if one.score is None or other.score is None:
        return
    if not allows(finding.direction, went(one.score, other.score)):
        yield f"direction: {finding.rule} said {finding.direction}"
    if (
        finding.max_shift is not None
        and not (one.erred or other.erred)
        and abs(one.score - other.score) > finding.max_shift
    ):
        yield f"bound: {finding.rule} said {finding.max_shift}"


def measure(name: str, seed: int, drawn: int, processes: int = 1) -> list[Judged]:
    """Return what became of so many edits of each category of a set."""
    tasks = [(name, category, f"{seed} {category} {index}") for category in SETS[name] for index in range(drawn)]
    if processes == 1:
        return list(map(_judge_task, tasks))
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(_judge_task, tasks, chunksize=8))


def _judge_task(task: tuple[str, str, str]) -> Judged:
    name, category, seed = task
    return judge_case(SETS[name][category](Random(seed)), seed)  # noqa: S311


def format_table(name: str, results: list[Judged]) -> Iterator[str]:
    """Yield the lines of the table: by category, then by rule, the worst first."""
    moving = [one for one in results if one.moving]
    wrong = [words for one in results for words in one.wrong]
    yield f"realistic edits, {name}: {len(results)}, of which {len(moving)} are said to move a score"
    yield f"{'':<34}{'major':>7}{'real':>8}{'shown':>8}{'asks':>7}{'either':>8}{'false':>7}"
    yield _row("all", moving)
    for category in dict.fromkeys(one.category for one in results):
        yield _row(category, [one for one in moving if one.category == category])
    yield ""
    rules = Counter(rule for one in moving for rule in one.rules)
    for rule in sorted(rules, key=lambda rule: (_share(_of(rule, moving), _is_real), rule)):
        yield _row(rule, _of(rule, moving))
    yield f"unsound or wrong: {len(wrong)}"
    yield from wrong[:20]


def _of(rule: str, results: list[Judged]) -> list[Judged]:
    return [one for one in results if rule in one.rules]


def _is_real(one: Judged) -> bool:
    return one.real


def _share(results: list[Judged], holds: Callable[[Judged], bool]) -> float:
    return sum(map(holds, results)) / max(len(results), 1)


def _row(name: str, results: list[Judged]) -> str:
    shares = [
        _share(results, _is_real),
        _share(results, lambda one: one.shown),
        _share(results, lambda one: one.asks),
        _share(results, lambda one: "either" in one.words),
    ]
    real, shown, asks, either = (f"{share:.0%}" for share in shares)
    return (
        f"{name:<34}{len(results):>7}{real:>8}{shown:>8}{asks:>7}{either:>8}{sum(not one.real for one in results):>7}"
    )
