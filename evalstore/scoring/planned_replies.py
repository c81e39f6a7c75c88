"""Answers judges as a plan says: each prompt by the one reply that was kept for it; asks nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evalstore.errors import Place, RefusedError
from evalstore.judging import NO_REPLY, JudgeSession, ReplyCache
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.plan import PlannedJudges, PlannedReply


@dataclass(frozen=True, slots=True)
class ReplyReplay:
    """Answers from kept replies, and refuses what the plan counts on and is not kept here."""

    planned: PlannedJudges
    replies: Callable[[], ReplyCache]

    def ask(self, call: JudgeCall) -> JudgeReply:
        """Return the reply that the plan names for a call."""
        reply = self.planned.replies.get(call.key)
        if reply is None:
            raise RefusedError("a check asks a judge what the plan does not list", hint="plan again")
        if reply.problem:
            return JudgeReply(problem=reply.problem)
        if reply.digest is None:
            return NO_REPLY
        cache = self.replies()
        kept = next((one for one in cache.find_replies(call) if one.digest == reply.digest), None)
        if kept is None:
            raise RefusedError(
                "a reply of a judge that the plan counts on is not kept here",
                place=Place(str(cache.path)),
                hint="copy the file of replies from where the plan was made, and name it with --cache",
            )
        return kept


@dataclass(frozen=True, slots=True)
class ReplyRecorder:
    """Asks a session, and notes the answer to each prompt, as a plan lists it."""

    session: JudgeSession
    answers: dict[str, PlannedReply] = field(default_factory=dict)

    def ask(self, call: JudgeCall) -> JudgeReply:
        """Return the session's answer."""
        reply = self.session.ask(call)
        if reply.problem and reply is not NO_REPLY:
            self.answers[call.key] = PlannedReply(None, reply.problem)
        else:
            self.answers[call.key] = PlannedReply(reply.digest or None)
        return reply
