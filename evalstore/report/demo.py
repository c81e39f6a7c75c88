"""Renders the replayed sample story as JSON; `evalstore demo` prints the text itself, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstore.demo import CommandResult, ReplayedStory, StoryStep


def document(story: ReplayedStory) -> Any:
    """Return the JSON document."""
    return {"folder": str(story.folder), "steps": [_step_document(step, results) for step, results in story.steps]}


def _step_document(step: StoryStep, results: tuple[CommandResult, ...]) -> dict[str, Any]:
    commands = [{"command": list(result.words), "exit_code": result.code, "out": result.out} for result in results]
    return {"title": step.title, "author": step.author, "date": step.date, "commands": commands}
