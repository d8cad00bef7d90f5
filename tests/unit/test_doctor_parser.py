"""doctor says which parser reads command texts, and how to give one where there is none."""

from __future__ import annotations

import os
import sys

from shell_rig import needs_parser

from ringfence.pipelines import command
from ringfence.pipelines.doctor import reader


@needs_parser
def test_the_parser_that_is_used():
    found, todo = reader(sys.prefix, os.path.dirname(sys.executable))
    assert found.startswith("shfmt v3.")
    assert command.find_parser(sys.prefix, os.path.dirname(sys.executable)) in found
    assert todo == ()


def test_no_parser(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.metadata.files", lambda _name: None)
    found, (todo,) = reader(str(tmp_path), "")
    assert found == "no: no parser is installed"
    assert "pip install shfmt-py" in todo
    assert f"{tmp_path}/bin/shfmt" in todo


def test_what_it_says_helps(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "shfmt"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert command.find_parser(str(tmp_path), "") == str(program)
    found, todo = reader(str(tmp_path), "")
    assert found.startswith("no: ")  # it is there and does not answer as shfmt does
    assert todo
