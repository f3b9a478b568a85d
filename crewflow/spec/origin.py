"""Where a document was found."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Where a document was found; a name in the project hides a user's, a user's a shipped one."""

    PROJECT = "project"
    USER = "user"
    SHIPPED = "shipped"
