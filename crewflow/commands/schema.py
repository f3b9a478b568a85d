"""`crewflow schema`: the JSON Schemas of documents and of what commands print."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crewflow.commands.arguments import SCHEMAS
from crewflow.errors import ExitCode
from crewflow.spec.schema import schema

if TYPE_CHECKING:
    from crewflow.report.console import Console


def run(console: Console, folder: str, *, kind: str | None) -> int:
    """Print the schema of a kind of document, or the kinds there are."""
    del folder
    if console.as_json:
        console.document({"kinds": list(SCHEMAS)} if kind is None else {"kind": kind, "schema": schema(kind)})
    elif kind is None:
        console.data("\n".join(SCHEMAS))
    else:
        console.data(json.dumps(schema(kind), indent=2, ensure_ascii=False))
    return int(ExitCode.DONE)
