#!/bin/sh
# ragas 0.4.3 (PyPI), the metrics ToolCallF1 and ToolCallAccuracy
#
# Expected: F1 is below 1 if a call is missing, and 1 if all is right. The documentation says that it
#   "helps quantify how close the agent was to the expected behavior even if it over- or
#   under-calls", and that accuracy is the stricter one.
# Seen: F1 compares sets: one payment where two equal ones are expected is perfect (1.0), and so are
#   ten where one is expected; accuracy is 0 for both. If no tool is expected and none is called, F1
#   is 0 and accuracy 1, so a suite with such a case can never reach 1. The text "5" for the number
#   5 has F1 0 and accuracy 1; true for the number 1 has F1 1 and accuracy 0.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
# ragas imports a module that later releases of langchain-community do not have.
venv/bin/pip install --quiet --disable-pip-version-check ragas==0.4.3 langchain-community==0.3.31

cat >ask.py <<'END'
import asyncio
from ragas.messages import AIMessage, ToolCall
from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1

def grade(called, expected):
    """Print F1 and accuracy of calls of one tool with these amounts."""
    made = [ToolCall(name="pay", args={"sum": amount}) for amount in called]
    wanted = [ToolCall(name="pay", args={"sum": amount}) for amount in expected]
    turns = [AIMessage(content="", tool_calls=made)]
    for metric in (ToolCallF1(), ToolCallAccuracy()):
        result = asyncio.run(metric.ascore(user_input=turns, reference_tool_calls=wanted))
        print(result.value, end=" ")

grade([5], [5])
grade([5], [5, 5])
grade([5] * 10, [5])
grade([], [])
grade(["5"], [5])
grade([True], [1])
END

seen=$(RAGAS_DO_NOT_TRACK=true venv/bin/python -W ignore ask.py)
if [ "${seen% }" != "1.0 1.0 1.0 0.0 1.0 0.0 0.0 1.0 0.0 1.0 1.0 0.0" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: one of two expected payments has F1 1, and no call where none is expected has F1 0"
