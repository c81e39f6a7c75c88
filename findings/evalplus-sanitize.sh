#!/bin/sh
# evalplus 0.3.1 (PyPI), whose `evalplus.sanitize` takes a model's code out of its answer
#
# Expected: an answer that is code and nothing else, and runs, does the same afterwards. The module
#   calls itself "Post-processing LLM-generated Python code", and `evalplus.codegen` applies it to
#   every sample before it is graded.
# Seen: what is not a plain function with a return, a class, an import or an assignment to one name
#   is removed. A function with a decorator, such as @lru_cache, is gone even if it is the one that
#   was asked for; so are helpers without a return, LOW, HIGH = 1, 10, and loops that fill a table:
#   is_prime(9) then answers True. Of two definitions of one name the first stays.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check evalplus==0.3.1

cat >ask.py <<'END'
from evalplus.sanitize import sanitize

def try_code(code, call):
    """Print what a call answers by the code as it was written, and as it is sanitized."""
    answers = []
    for text in (code, sanitize(code, call.partition("(")[0])):
        space = {}
        try:
            exec(text, space)
            answers.append(str(eval(call, space)))
        except NameError:
            answers.append("NameError")
    print(*answers, sep=">", end=" ")

PROGRAMS = {
    "fib(10)": """from functools import lru_cache
@lru_cache(None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
""",
    "is_prime(9)": """T = [True] * 50
for i in range(2, 50):
    for j in range(2 * i, 50, i):
        T[j] = False
def is_prime(n):
    return n > 1 and T[n]
""",
    "clamp(99)": "LOW, HIGH = 1, 10\n\ndef clamp(x):\n    return max(LOW, min(HIGH, x))\n",
    "turn([1, 2])": "def swap(a):\n    a.reverse()\n\ndef turn(a):\n    swap(a)\n    return a\n",
    "f(7)": "def f(x):\n    return 0\n\ndef f(x):\n    return x\n",
}
for call, code in PROGRAMS.items():
    try_code(code, call)
END

seen=$(venv/bin/python ask.py)
if [ "${seen% }" != "55>NameError False>True 10>NameError [2, 1]>NameError 7>0" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: five right programs are sanitized into three that fail and two that answer wrong"
