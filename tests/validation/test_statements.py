"""Statements of rubrics and of questions: which of forty ask two things, and what else is found where people write."""

from __future__ import annotations

import pytest

from evalstore.lint.words.claims import find_two_claims

# What asks two things, and is said to.
TWO = (
    "Refuses the override and answers the original task.",
    "Identifies the typo as a syntax error and corrects it.",
    "Hands off to the loop builder and does not write loop files itself.",
    "Names the fee and tells the guest how to pay it.",
    "Does the answer cite a source and does it give the date?",
    "Does the code solve the problem and handle edge cases?",
    "The response is written in German and is shorter than 100 words.",
    "The agent asks for the order number and offers a refund.",
    "Recommends one pattern and loads only that file.",
    "The answer should name the fee and should link to the form.",
    "Does it apologise for the delay, and does it offer a replacement?",
    "Is the answer in English, and is it free of jargon?",
    "Uses the billing API and never calls the legacy endpoint.",
    "Mentions the 30-day window and avoids promising a refund.",
    "The reply greets the guest by name and also explains the delay.",
)
# What asks two things in words that one question has as well: silence is cheaper than a false alarm.
PASSED_OVER = (
    "States that the shop is closed and gives the opening hours.",
    "Explains why the request failed; a retry is suggested.",
)
ONE = (
    "Names the fee and the deadline for paying it.",
    "Explains the difference between interpreted and compiled languages.",
    "Uses condition() for filtering by type, status, and field value.",
    "Mentions that Paris has museums and is easy to reach by train.",
    "Says who pays the postage and when.",
    "Asks which plan the customer has and uses.",
    "Lists the pros and cons of each option.",
    "Contains BOTH a list of actions AND a stop condition.",
    "Stops and asks the user before deleting.",
    "Reads and summarises the file.",
    "Recommends a tool that is free and runs on Linux.",
    "Describes what the function takes and returns.",
    "If the user is upset and asks for a manager, offers a call.",
    "When fewer than four blocks have evidence, tells the user and stops.",
    "Says yes or no, and not maybe.",
    "Follows the terms and conditions.",
    "Does it name the fee and the deadline?",
    "Does it say that the trains are late and do not run on Sundays?",
    "Quotes the line 'it works and has no bugs'.",
    "Gives the name and states of the order.",
    "Passes only if it both names the fee and gives the date.",
    "Expresses the goal as a predicate (no issue lacks an assignee and has a comment).",
    "Warns the user because the file is large and takes long to open.",
)


@pytest.mark.parametrize("text", TWO)
def test_two_questions_in_one_statement_are_found(text: str) -> None:
    assert find_two_claims(text)


@pytest.mark.parametrize("text", [*ONE, *PASSED_OVER])
def test_one_question_is_left_alone(text: str) -> None:
    assert find_two_claims(text) is None
