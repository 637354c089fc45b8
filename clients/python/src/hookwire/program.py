"""Where the program is that serves hooks."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from .protocol import VERSION


class NoProgram(Exception):
    """The program hookwire can't be found."""


def find_program() -> str:
    """HOOKWIRE, else the program that this distribution brought, else the one on PATH."""
    if named := os.environ.get("HOOKWIRE"):
        return named
    for directory in _script_directories():
        program = directory / "hookwire"
        if program.is_file() and os.access(program, os.X_OK):
            return str(program)
    if found := shutil.which("hookwire"):
        return found
    raise NoProgram("there is no program hookwire: not with this package, not on PATH, and HOOKWIRE doesn't name it")


def _script_directories() -> list[Path]:
    package = Path(__file__).resolve().parent
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    # The last is that of `pip install --target`.
    return [Path(sysconfig.get_path("scripts")), Path(user), package.parent / "bin"]


def _version() -> str:
    try:
        return metadata.version("hookwire")
    except metadata.PackageNotFoundError:
        return "?"


def main() -> None:
    """Runs the program in the place of this process: `python -m hookwire`."""
    try:
        program = find_program()
        # For `hookwire doctor --versions`.
        os.environ["HOOKWIRE_CLIENT"] = f"Python {_version()} {VERSION}"
        os.execv(shutil.which(program) or program, [program, *sys.argv[1:]])
    except (NoProgram, OSError) as problem:
        sys.exit(f"hookwire: {problem}")
