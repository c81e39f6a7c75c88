#!/bin/sh
# mlcroissant 1.1.1 (PyPI), the reader of data sets described as Croissant
#
# Expected: a field declared as sc:Text holds the text of the file: the id "01" stays "01".
# Seen: it comes out as "1", and the answer "2.50" as "2.5", from CSV and from JSON Lines, where the
#   values are texts in the file. A column is read as numbers first, if all of its values look like
#   numbers, and the type that the description declares is applied to what is left. Adding one row
#   with another id brings the zeros back.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mlcroissant==1.1.1 pandas==2.3.3

cat >ask.py <<'END'
import hashlib
import json
from pathlib import Path
import mlcroissant

rows = [{"id": "01", "answer": "2.50"}, {"id": "02", "answer": "4"}]

def read(rows, name, media_type):
    lines = [json.dumps(row) for row in rows]
    if media_type == "text/csv":
        lines = ["id,answer", *(",".join(row.values()) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n")
    digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    file = mlcroissant.FileObject(id=name, name=name, content_url=name, encoding_formats=[media_type], sha256=digest)
    fields = [
        mlcroissant.Field(
            id=f"rows/{key}",
            name=key,
            data_types=[mlcroissant.DataType.TEXT],
            source=mlcroissant.Source(file_object=name, extract=mlcroissant.Extract(column=key)),
        )
        for key in rows[0]
    ]
    records = mlcroissant.RecordSet(id="rows", name="rows", fields=fields)
    described = mlcroissant.Metadata(name="d", distribution=[file], record_sets=[records])
    Path("croissant.json").write_text(json.dumps(described.to_json(), default=str))
    first = next(iter(mlcroissant.Dataset("croissant.json").records("rows")))
    print(*(value.decode() for value in first.values()), end="; ")

read(rows, "rows.csv", "text/csv")
read(rows, "rows.jsonl", "application/jsonlines")
read([*rows, {"id": "b1", "answer": "none"}], "more.jsonl", "application/jsonlines")
END

seen=$(venv/bin/python ask.py 2>errors) || cat errors
if [ "$seen" != "1 2.5; 1 2.5; 01 2.50; " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: of a field of texts, \"01\" is read as 1, and as 01 where another row has a letter"
