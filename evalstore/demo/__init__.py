"""Replays the sample story: lays folders over a repository, commits as their authors, runs the real commands."""

from evalstore.demo.replay import (
    CommandResult,
    ReplayedStory,
    Story,
    StoryStep,
    read_story,
    replay_story,
    write_first_store,
)

__all__ = ["CommandResult", "ReplayedStory", "Story", "StoryStep", "read_story", "replay_story", "write_first_store"]
