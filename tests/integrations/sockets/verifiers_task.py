"""A task of verifiers whose config names our reward scores a trace: `verifiers_task.py STORE`."""

from __future__ import annotations

import asyncio
import sys

import pytest
import verifiers.v1 as vf

from evalstore.integrations.rewards import make_verifiers_reward

STORE = sys.argv[1]
# What a config names: the functions of a module.
tone = make_verifiers_reward("rubric/tone@1.0.0", store=STORE)
tools = make_verifiers_reward("rubric/tools@1.0.0", store=STORE)


def make_trace(task: vf.Task[vf.TaskData, vf.State], reply: str) -> vf.Trace:
    """Return the trace of a task whose agent said one thing."""
    said = vf.MessageNode(parent=None, sampled=True, message=vf.AssistantMessage(content=reply))
    info = vf.AgentInfo(config=vf.AgentConfig())
    return vf.Trace(task=vf.TraceTask(type="Task", data=task.data), agent=info, nodes=[said])


names = {"tone": {"fn": f"{__name__}:tone", "weight": 2.0}, "tools": {"fn": f"{__name__}:tools"}}
task = vf.Task(vf.TaskData(prompt="Say two."), vf.TaskConfig(rewards=names))
trace = make_trace(task, "moreover! thanks")
asyncio.run(task.score(trace))
assert trace.last_reply == "moreover! thanks"
assert trace.rewards["tone"].score == pytest.approx(1 / 3)
assert trace.reward == pytest.approx(2 / 3)
assert "tools" not in trace.rewards, "what cannot be graded has no reward"
