#!/bin/sh
# lm-eval 0.4.13 (PyPI), its task MGSM: school mathematics whose answers are numbers
#
# Expected: to the question whose answer is 250, the reply 2.50 is wrong, and to 12, -12.
# Seen: both are right, under both of the task's filters, and so is 1.8 for 18. The task compares
#   texts and asks for ignore_punctuation, which removes the decimal point and the minus sign. The
#   settings are read from the installed task; only its questions, which would be downloaded, are
#   replaced. The same settings are in the tasks made from it (afrimgsm, and MGSM in Basque, Catalan
#   and Galician).
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check lm-eval==0.4.13

cat >questions.jsonl <<'END'
{"question": "How many metres are 0.25 km?", "answer": null, "answer_number": 250}
{"question": "How many are three times four?", "answer": null, "answer_number": 12}
{"question": "How many are twice nine?", "answer": null, "answer_number": 18}
{"question": "How many are three and four?", "answer": null, "answer_number": 7}
END
cat >ask.py <<'END'
from pathlib import Path
import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

class Fixed(LM):
    def generate_until(self, requests):
        return [["2.50", "-12", "1.8", "8"][request.doc_id] for request in requests]

    def loglikelihood(self, requests): ...

    def loglikelihood_rolling(self, requests): ...

Path("tasks").mkdir()
settings = Path(lm_eval.__file__).parent / "tasks/mgsm/direct/direct_yaml"
Path("tasks/local.yaml").write_text(f"""include: {settings}
task: local
dataset_path: json
dataset_kwargs: {{data_files: {{train: questions.jsonl, test: questions.jsonl}}}}
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer_number|string}}}}"
""")
tasks = TaskManager(include_path="tasks", include_defaults=False)
found = lm_eval.simple_evaluate(Fixed(), tasks=["local"], task_manager=tasks, bootstrap_iters=0)["results"]["local"]
print(found["exact_match,remove_whitespace"], found["exact_match,flexible-extract"])
END

seen=$(HF_HUB_OFFLINE=1 HF_HOME="$work" venv/bin/python ask.py 2>errors) || cat errors
if [ "$seen" != "0.75 0.75" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: 2.50 counts as 250, -12 as 12, and 1.8 as 18"
