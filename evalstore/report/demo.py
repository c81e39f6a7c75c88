"""The sample story as JSON; as text it is told while it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstore.demo import CommandResult, StoryStep, ReplayedStory


def document(told: ReplayedStory) -> Any:
    """Return the JSON document."""
    return {"folder": str(told.folder), "steps": [_step(step, ran) for step, ran in told.steps]}


def _step(step: StoryStep, ran: tuple[CommandResult, ...]) -> dict[str, Any]:
    commands = [{"command": list(one.words), "exit_code": one.code, "out": one.out} for one in ran]
    return {"title": step.title, "author": step.author, "date": step.date, "commands": commands}
