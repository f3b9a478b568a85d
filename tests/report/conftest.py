"""Makes `flows` importable for the tests of this folder, and gives snapshots of exact text."""

import sys
from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

sys.path.insert(0, str(Path(__file__).parents[1] / "graph"))


class TextFile(SingleFileSnapshotExtension):
    """Each text is a file of its own, byte for byte."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def text_file(snapshot):
    return snapshot.use_extension(TextFile)
