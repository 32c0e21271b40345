"""`plink schema`: print the JSON Schema of a file or of a verb's output."""

from __future__ import annotations

import json

import click

from plink.base.lazy import lazy_imports
from plink.base.text import json_text
from plink.cli.json_output import json_option

with lazy_imports():
    from plink.cli import schemas
    from plink.formats import document


@click.command(epilog="Example: plink schema cluster > cluster.schema.json")
@click.argument("name", metavar="[NAME]", required=False)
@json_option("Print the list as JSON, too.")
def command(name: str | None, as_json: bool) -> None:
    """Print the JSON Schema (draft 2020-12) of a file format or of a verb's --json output.

    Without a NAME, list them all: a kind of file, as `cluster`, or a verb, as `order-output`. Of
    logs and of verbs that print an object a line, the schema is of each line.
    """
    if name is not None:
        text = json.dumps(schemas.schema(name), indent=1)
    elif as_json:
        text = json_text(schemas.describe_schemas())
    else:
        rows = schemas.describe_schemas()
        width = max(len(row["name"]) for row in rows)
        text = "\n".join(f"{row['name']:<{width}}  {row['of']}" for row in rows)
    document.write_bytes(document.STANDARD_STREAM, f"{text}\n".encode())
