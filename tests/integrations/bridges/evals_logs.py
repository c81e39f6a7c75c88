"""openai/evals grades its completion function `dummy` by a match and by a fuzzy match."""

import json
import subprocess
import sys
from pathlib import Path

SAID = "This is a dummy response."
for folder in ("evals", "data/bridge", "completion_fns"):
    (Path("registry") / folder).mkdir(parents=True)
rows = ({"input": f"ask {n}", "ideal": [SAID if n % 3 else "another thing"]} for n in range(150))
Path("registry/data/bridge/samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
classes = {"match": "match:Match", "fuzzy": "fuzzy_match:FuzzyMatch"}
specs = {}
for name, class_ in classes.items():
    specs[name] = {"id": f"{name}.test.v1", "metrics": ["accuracy"]}
    specs[f"{name}.test.v1"] = {
        "class": f"evals.elsuite.basic.{class_}", "args": {"samples_jsonl": "bridge/samples.jsonl"},
    }  # fmt: skip
Path("registry/evals/bridge.yaml").write_text(json.dumps(specs))
own = {}
for name in classes:
    program = str(Path(sys.executable).with_name("oaieval"))
    argv = [program, "dummy", name, "--registry_path", "registry", "--record_path", f"{name}.jsonl"]
    subprocess.run([*argv, "--log_to_file", f"{name}.txt"], check=True, capture_output=True)
    own[f"{name}.jsonl"] = [
        # A fuzzy match that fails leaves no word of the output in the log.
        {
            "id": f"{name}.test.{n}",
            "output": SAID if n % 3 or name == "match" else None,
            "passed": bool(n % 3),
            "checks": {"match": float(bool(n % 3))},
        }
        for n in range(150)
    ]
json.dump(own, sys.stdout)
