"""The sample story as JSON; as text it is told while it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstore.demo import CommandResult, ReplayedStory, StoryStep


def document(story: ReplayedStory) -> Any:
    """Return the JSON document."""
    return {"folder": str(story.folder), "steps": [_step_document(step, ran) for step, ran in story.steps]}


def _step_document(step: StoryStep, results: tuple[CommandResult, ...]) -> dict[str, Any]:
    commands = [{"command": list(one.words), "exit_code": one.code, "out": one.out} for one in results]
    return {"title": step.title, "author": step.author, "date": step.date, "commands": commands}
