"""Says what to do next after a result: a table maps result classes to commands that work as is."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstore.agreement import Agreement, JudgeNoise, JudgeReplacement
    from evalstore.audits.bisection import Bisection
    from evalstore.audits.comparability import Comparability
    from evalstore.audits.conditions import AuditReport
    from evalstore.audits.score_history import RunReplay, ScoreHistory
    from evalstore.diff import Diff
    from evalstore.migration import ExportResult, MigrationReport
    from evalstore.model import Findings
    from evalstore.release.changes.accept import WrittenAcceptance
    from evalstore.release.changes.store_diff import StoreDiff
    from evalstore.release.changes.values import Released, Status
    from evalstore.release.history.release_log import ReleaseLog
    from evalstore.release.integrity.gate import GateResult
    from evalstore.release.integrity.verify import Verification
    from evalstore.runs import Run
    from evalstore.runs.run_view import RunView, WrittenRun
    from evalstore.store.init import CreatedStore, ExampleRun
    from evalstore.store.listing import StoreListing

_WORKTREE = "@worktree"
_STATUS = "evalstore status"  # it says what to do if a bump would be refused
# Also if a release made now would pin the old version of another one made with it.
_MOVE_PINS = "evalstore bump --all --dependents"


def find_next_steps(result: Any) -> list[str]:
    """Return the commands that lead on from a result, the next one first.

    Empty if there are none.
    """
    finder = FINDERS.get(type(result).__name__)
    return list(finder(result)) if finder else []


def _write_command(*words: str) -> str:
    return shlex.join(["evalstore", *words])


def _after_init(result: CreatedStore) -> Iterator[str]:
    if result.example:
        yield from _try_example(result.example, str(result.root))
        return
    tops = sorted({_name_top(name) for name in (*result.written, *result.merged)})
    if result.repository:  # everything in it is new
        yield "git add ."
    elif tops:
        yield shlex.join(["git", "add", "--", *tops])
    if "evalstore.yaml" in result.written:
        yield _write_command("new", "rubric", "answer_style")


def _try_example(example: ExampleRun, folder: str) -> Iterator[str]:
    yield shlex.join(["cd", folder])
    yield _write_command("show", example.run, "--failed")
    yield "git add ."
    yield _write_command("bump", "--all")


def _name_top(path: str) -> str:
    """Return what to add to git for a file.

    That is its top folder within the store, or, outside the store, the file itself.
    """
    return path if path.startswith("../") else path.split("/", maxsplit=1)[0]


def _after_migration(report: MigrationReport) -> Iterator[str]:
    if report.written:
        is_again = any(file.state == "updated" for file in report.files)
        yield _write_command("diff") if is_again else _write_command("validate", ".")
        if not report.behind:
            yield _MOVE_PINS if is_again else _write_command("bump", "--all")
    if report.behind:
        yield _MOVE_PINS


def _after_export(result: ExportResult) -> Iterator[str]:
    if any(file.behind for file in result.files):
        yield _MOVE_PINS


def _explain_first(result: Findings | Verification) -> Iterator[str]:
    worst = sorted(result.findings, key=lambda finding: finding.severity != "error")
    yield from (_write_command("explain", finding.rule) for finding in worst[:1])


def _after_diff(diff: Diff) -> Iterator[str]:
    ref = diff.new.ref or ""
    if diff.refused:
        yield _write_command("validate")
    elif diff.required_bump and ref.endswith(_WORKTREE) and diff.old.ref:
        command = _write_command("bump", ref.removesuffix(_WORKTREE))
        yield _STATUS if diff.later_release else command


def _after_store_diff(result: StoreDiff) -> Iterator[str]:
    if result.broken or any(diff.refused for diff in result.diffs):
        yield _write_command("validate")
    elif any(diff.later_release for diff in result.diffs):
        yield _STATUS
    elif result.new or any(diff.required_bump for diff in result.diffs):
        changed = [diff.old.ref or "" for diff in result.diffs if diff.required_bump]
        kinds = {ref.partition("/")[0] for ref in changed}
        yield _MOVE_PINS if len(kinds) > 1 else _write_command("bump", "--all")


def _after_status(status: Status) -> Iterator[str]:
    # What was released since the base is done.
    changed = [
        one for one in status.artifacts if one.state != "moved" and not (one.is_released and one.ok)
    ]
    # A removed artifact cannot be bumped, and one that lacks only another branch's release needs no
    # bump.
    wants_bump = any(
        one.working and (one.required_bump or one.working != one.released) for one in changed
    )
    # Those whose version alone is too low, or whose next version another branch has.
    is_refused = any(not one.ok and (one.hint or not one.required_bump) for one in changed)
    broken = [artifact for artifact in changed if artifact.state == "broken"]
    if broken:
        # Hints are shown with the artifacts that have them.
        yield from (
            [_write_command("validate")] if any(not artifact.hint for artifact in broken) else []
        )
    elif any(finding.rule == "pin-behind" for finding in status.findings) and not is_refused:
        yield _MOVE_PINS
    elif wants_bump and not is_refused:
        names = {one.ref for one in changed}
        is_pinned = any(not names.isdisjoint(one.dependents) for one in changed)
        yield _MOVE_PINS if is_pinned else _write_command("bump", "--all")


def _after_gate(result: GateResult) -> Iterator[str]:
    if not result.status.ok:
        yield from _after_status(result.status)
    elif not result.ok:
        worst = sorted(result.all_findings, key=lambda finding: finding.severity != "error")
        yield from (_write_command("explain", finding.rule) for finding in worst[:1])


def _after_bump(result: Released) -> Iterator[str]:
    if result.dry_run:
        return
    if result.pinned and not result.followed:
        names = [pin.ref.partition("@")[0] for pin in result.pinned]
        yield _write_command("bump", *(names if len(names) == 1 else ["--all"]), "--dependents")
    if result.push and result.push.outcome == "ready":
        yield result.push.command


def _after_log(log: ReleaseLog) -> Iterator[str]:
    newest = log.releases[0] if log.releases else None
    if newest and newest.before:
        yield _write_command(
            "diff", f"{newest.before_name}@{newest.before}", f"{log.name}@{newest.logged.version}"
        )


def _after_listing(listing: StoreListing) -> Iterator[str]:
    if any(artifact.working for artifact in listing.artifacts):
        yield _STATUS


def _after_acceptance(_: WrittenAcceptance) -> Iterator[str]:
    yield _STATUS


def _after_score(run: Run) -> Iterator[str]:
    yield _write_command("show", str(run.path))
    yield from _move_pins(run)


def _after_written_run(written: WrittenRun) -> Iterator[str]:
    yield _write_command("show", str(written.run.path), *(["--failed"] if written.failed else []))
    yield from _move_pins(written.run)


def _move_pins(run: Run) -> Iterator[str]:
    if any("[pin-behind]" in note for note in run.notes):
        yield _MOVE_PINS


def _after_view(view: RunView) -> Iterator[str]:
    if view.choice.question is None and view.rows:
        yield _write_command("show", str(view.run.path), "--question", view.rows[0].id)


def _after_audit(report: AuditReport) -> Iterator[str]:
    audit = report.audit
    shares = [share for factor in audit.factors if factor.changed for share in factor.worst]
    if shares:
        most = max(shares, key=lambda share: abs(share.share))
        yield _write_command("audit", audit.a.run, audit.b.run, "--question", most.id)


def _after_comparability(found: Comparability) -> Iterator[str]:
    if found.dataset:
        yield _write_command("score", found.dataset, found.a)


def _after_history(history: ScoreHistory) -> Iterator[str]:
    if history.runs and len(history.releases) > 1:
        yield _write_command("history", history.name, "--run", history.runs[0].run, "--bisect")


def _after_bisection(bisection: Bisection) -> Iterator[str]:
    bad = bisection.first_bad
    if bad and bad.version and bisection.last_good:
        yield _write_command(
            "diff", *(f"{bisection.name}@{at}" for at in (bisection.last_good, bad.version))
        )


def _after_replay(replay: RunReplay) -> Iterator[str]:
    if (
        replay.moved
        and replay.recorded_ref
        and replay.recorded_ref.startswith(f"{replay.resolved.name}@")
    ):
        yield _write_command("diff", replay.recorded_ref, replay.resolved.ref)


def _after_measurement(measured: Agreement | JudgeNoise) -> Iterator[str]:
    if measured.written and measured.diff:
        yield _write_command("bump", measured.judge.ref.partition("@")[0])


def _after_replacement(moved: JudgeReplacement) -> Iterator[str]:
    if moved.written and moved.diff:
        yield _write_command("bump", moved.judge.ref.partition("@")[0], "--dependents")


FINDERS: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "Agreement": _after_measurement,
    "AuditReport": _after_audit,
    "Bisection": _after_bisection,
    "Comparability": _after_comparability,
    "CreatedStore": _after_init,
    "Diff": _after_diff,
    "Findings": _explain_first,
    "GateResult": _after_gate,
    "JudgeNoise": _after_measurement,
    "JudgeReplacement": _after_replacement,
    "ExportResult": _after_export,
    "MigrationReport": _after_migration,
    "Released": _after_bump,
    "ReleaseLog": _after_log,
    "Run": _after_score,
    "RunReplay": _after_replay,
    "RunView": _after_view,
    "ScoreHistory": _after_history,
    "StartedFile": lambda _: [_write_command("validate")],
    "Status": _after_status,
    "StoreDiff": _after_store_diff,
    "StoreListing": _after_listing,
    "TopicList": lambda _: [_write_command("explain", "regex")],
    "Verification": _explain_first,
    "WrittenAcceptance": _after_acceptance,
    "WrittenRun": _after_written_run,
}
