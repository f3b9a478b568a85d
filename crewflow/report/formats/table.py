"""The formats of `validate`, by the word that asks for them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.report.formats.checked import Checked

FORMATS: Final = {
    "text": "text",
    "json": "document",
    "github": "github",
    "gitlab": "gitlab",
    "sarif": "sarif",
    "junit": "junit",
}
"""Word -> the module here, and the function of the same name in it; each is loaded when it is asked for."""


def written(form: str, checked: Checked) -> str:
    """What was found, in a format."""
    name = FORMATS[form]
    write: Callable[[Checked], str] = getattr(import_module(f"{__package__}.{name}"), name)
    return write(checked)
