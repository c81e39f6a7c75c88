"""The words of a release's commit and tags; pure."""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.release.step import ReleaseStep


def format_commit_message(steps: Sequence[ReleaseStep], text: str | None, *, tagged: bool) -> str:
    """Return the commit's message: what the user said or a summary, and a line an artifact where there are several."""
    verb = "Release" if tagged else "Set the version of"
    summary = f"{verb} {steps[0].ref}" if len(steps) == 1 else f"{verb} {len(steps)} artifacts"
    lines = "".join(f"\n- {step.words}" for step in steps) if len(steps) > 1 else ""
    return (text or summary) + (f"\n{lines}" if lines else "") + "\n"


def format_tag_message(step: ReleaseStep, text: str | None) -> str:
    """Return a tag's message: one line, then the trailers that `log` and `verify` read."""
    summary = text.partition("\n")[0] if text else step.words
    trailers = {
        "Evalstore-Digest": step.artifact.digest,
        "Evalstore-Bump": str(step.bump),
        "Evalstore-Previous": step.previous or "none",
    }
    lines = "".join(f"{key}: {value}\n" for key, value in trailers.items())
    return f"{summary}\n\n{lines}"
