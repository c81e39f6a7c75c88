"""Replays a story: folders laid over a repository, commits by their authors, and the real commands."""

from evalstore.demo.replay import CommandResult, ReplayedStory, Story, StoryStep, read_story, replay_story

__all__ = ["CommandResult", "StoryStep", "Story", "ReplayedStory", "read_story", "replay_story"]
