"""Replays a story: folders laid over a repository, commits by their authors, and the real commands."""

from evalstore.demo.replay import Ran, Told, replay
from evalstore.demo.story import Step, Story, read_story

__all__ = ["Ran", "Step", "Story", "Told", "read_story", "replay"]
