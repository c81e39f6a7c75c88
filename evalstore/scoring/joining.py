"""Joins the parts of a plan, in the plan's order, into the run that one process would have written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import Place, RefusedError
from evalstore.runs import Run, SeriesNames, read_outputs, write_run
from evalstore.scoring.job import ScoringJob, choose_file_name
from evalstore.scoring.part_result import PartRecord
from evalstore.scoring.parts import PartFile, locate_parts, make_broken_error, read_part
from evalstore.scoring.plan import ScorePlan
from evalstore.scoring.run_record import JudgeRecord, UsedRulers, finish_run

_SHOWN_PARTS = 12


def list_missing_parts(plan_file: Path, plan: ScorePlan) -> list[int]:
    """Return the numbers of the parts whose counts are not there."""
    folder = locate_parts(plan_file)
    return [number for number in range(1, len(plan.spans) + 1) if not (folder / f"part-{number}.json").is_file()]


def refuse_missing_parts(plan_file: Path, plan: ScorePlan) -> None:
    """Raise `RefusedError`, which names them, where parts are not there."""
    if missing := list_missing_parts(plan_file, plan):
        shown = ", ".join(map(str, missing[:_SHOWN_PARTS])) + (", …" if len(missing) > _SHOWN_PARTS else "")
        raise RefusedError(
            f"{len(missing):,} of {len(plan.spans):,} parts are still to be done: {shown}",
            place=Place(str(plan_file)),
            hint=f"evalstore score --part {missing[0]} {plan_file}",
        )


def join_parts(job: ScoringJob, plan: ScorePlan, parts: Iterable[PartFile], out: Path) -> Run:
    """Write the run of some parts, which are all of the plan in its order, into the folder `out`.

    Raises `RefusedError` for what no part can see alone: a second answer to one question, outputs of several series.
    """
    job.refuse_links(out)
    pairs, tally = job.open_counts()
    rulers, series, repeats = UsedRulers(), SeriesNames(), 0
    with write_run(out, choose_file_name(job.run)) as draft:
        for part in parts:
            result = part.result
            if not series.join(result.series, job.choice.single_parts):
                _raise_as_whole(job)
            repeated = set[int]()
            for position, record in enumerate(_check_numbers(part, job.questions.count)):
                if pairs.note_output(record.number, record.sample, record.line, record.output_hash):
                    tally.add(record.result, record.number)
                else:
                    repeated.add(position)
            pairs.odd.join(result.odd)
            repeats += result.repeats
            rulers = rulers.join(result.rulers)
            _copy_rows(part, repeated, draft.rows)
        if job.choice.only and not series.wanted:
            _raise_as_whole(job)
        pairs.repeats += repeats
        judges = plan.judges.record if plan.judges else JudgeRecord()
        return draft.publish(finish_run(job.run, tally, pairs, rulers, judges))


def read_parts(plan_file: Path, plan: ScorePlan) -> Iterable[PartFile]:
    """Yield the parts of a plan in its order, one in memory at a time."""
    return (read_part(locate_parts(plan_file), plan, number) for number in range(1, len(plan.spans) + 1))


def _check_numbers(part: PartFile, questions: int) -> Iterable[PartRecord]:
    if max(part.result.numbers, default=-1) >= questions:
        raise make_broken_error(part.counts)
    return part.result.list_records()


def _copy_rows(part: PartFile, repeated: set[int], target: BinaryIO) -> None:
    if not repeated:
        part.copy_rows(target)
        return
    # A row that gives an output of an earlier part once more, for another metric, is left out as within one part.
    target.writelines(line for position, line in enumerate(part.list_rows()) if position not in repeated)


def _raise_as_whole(job: ScoringJob) -> None:
    """Raise what reading the whole file in one go raises, with the names of all its series."""
    for _ in read_outputs(job.samples, job.choice):
        pass
    raise RefusedError("is no longer the file that was planned", place=Place(str(job.samples)), hint="plan again")
