"""Adds an example to the working file of a rubric or judge without changing any other byte."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.diff import Diff, DiffFinding, Witness
from evalstore.diff.attempts import repeat_sample
from evalstore.documents import encode_document
from evalstore.documents.edit import put_item
from evalstore.errors import Place, RefError, RefusedError
from evalstore.model import Kind, Question, Sample, Verdict, parse_ref
from evalstore.model.example import EXAMPLES, Example, read_examples, write_example
from evalstore.release.transactions.locking import lock_repository, write_locked_file
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import ARTIFACT_LIMIT
from evalstore.text import make_excerpt

_MOST = 1_000  # examples in a file, according to its schema


class SavedExample(NamedTuple):
    """An example, its place in the file of an artifact, and whether it was added.

    An existing one that asks the same stays.
    """

    place: Place
    expected: str
    added: bool


def save_example(
    store: ArtifactStore, name: str, sample: Sample, expected: Verdict | Fraction, note: str = ""
) -> SavedExample:
    """Add an example to the working file of the artifact `name`.

    The file stays as it is if it has one that asks the same. Raises `RefusedError` if it cannot be
    added without changing more of the file.
    """
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working files to write", hint="run it in a clone"
        )
    if parse_ref(name).kind is Kind.DATASET:
        raise RefusedError(
            f"{name} is a dataset, which has no examples", hint="save it in a rubric or a judge"
        )
    item = write_example(sample, expected, note)
    path = parse_ref(name).path
    with lock_repository(store, {}):
        document = store.resolve(f"{name}@worktree").artifact.document
        if known := _find_same(document.value, item):
            return SavedExample(document.locate(known.place), known.expected, added=False)
        listed = document.value.get(EXAMPLES, [])
        if not isinstance(listed, list) or len(listed) >= _MOST:
            hint = f"it takes a list of at most {_MOST:,}"
            raise RefusedError("no more examples can be added", place=Place(path), hint=hint)
        edited = put_item(document, EXAMPLES, len(listed), item)
        data = encode_document(edited)
        if len(data) > ARTIFACT_LIMIT:
            raise RefusedError(
                f"with this example it would have more than {ARTIFACT_LIMIT:,} bytes",
                place=Place(path),
            )
        write_locked_file(store.root, path, data)
    return SavedExample(
        edited.locate((EXAMPLES, len(listed))),
        str(item.get("verdict", item.get("score"))),
        added=True,
    )


def _find_same(value: Mapping[str, Any], item: Mapping[str, Any]) -> Example | None:
    """Return the example that asks the same; raises `RefusedError` for an impossible example."""
    new = next(read_examples({EXAMPLES: [item]}), None)
    if new is None or not all(
        isinstance(call.get("args", {}), Mapping | str) for call in item.get("tool_calls", ())
    ):
        raise RefusedError(
            "a call of a tool without a name, or with a list as its arguments, cannot be an example"
        )
    return next((known for known in read_examples(value) if known.key == new.key), None)


class ShownOutput(NamedTuple):
    """What shows a change: an output, its result under the new version, and the change in words."""

    sample: Sample
    result: Verdict | Fraction
    message: str


def find_shown_output(diff: Diff, fingerprint: str) -> ShownOutput:
    """Return the output that shows the change with this fingerprint.

    It has no id if its question is invented. Its result is a score if the verdict is the same on
    both sides. Raises `RefError` for an unknown fingerprint, and `RefusedError` for a change that
    nothing shows, or only what judges would say.
    """
    finding = _find_finding(diff, fingerprint)
    witness = finding.witness
    if not isinstance(witness, Witness):
        what = "a judge's reply, and not an output" if witness else "no output"
        raise RefusedError(
            f"{fingerprint} is shown by {what}", hint="--run RUN finds outputs that it moves"
        )
    if witness.judged and not witness.example:
        raise RefusedError(
            f"{fingerprint} is shown by an output whose judges are only assumed to answer so",
            hint="save an output that a judge has graded: evalstore score --save-example",
        )
    sample = repeat_sample(witness).sample
    if sample.question and not witness.example:
        row = {key: value for key, value in sample.question.row.items() if key != "id"}
        sample = Sample(sample.output, Question("", sample.question.input, row))
    score = witness.new_score if witness.old_verdict is witness.new_verdict else None
    return ShownOutput(sample, witness.new_verdict if score is None else score, finding.message)


def _find_finding(diff: Diff, fingerprint: str) -> DiffFinding:
    found = next((finding for finding in diff.findings if finding.fingerprint == fingerprint), None)
    if found is None:
        raise RefError(
            f"no change has the fingerprint {make_excerpt(fingerprint)}",
            hint="list them: evalstore diff REF --verbose",
        )
    return found
