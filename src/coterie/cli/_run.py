"""Run a command: whatever happens, it ends with a line and a code, never with a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from typing import Any, NoReturn

from coterie.cli._app import app
from coterie.cli._speak.command_line import remember
from coterie.cli._speak.screen import as_json
from coterie.cli._speak.trouble import (
    BAD_INPUT,
    DONE,
    FAULT,
    INTERRUPTED,
    Trouble,
    message_of,
    one_line,
    printable,
)


def run(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    remember(arguments)
    machine = "--json" in arguments
    # a service may have closed them
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console that lacks a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    restore = _end_on_sigterm()
    try:
        if any("\udc80" <= letter <= "\udcff" for word in arguments for letter in word):
            raise Trouble("a name that was typed holds bytes that are not UTF-8; rename the file or folder")
        # a command returns its code; help, and `typer.Exit`, return one too
        return int(app(args=arguments, prog_name="coterie", standalone_mode=False) or DONE)
    except Trouble as trouble:
        return _tell(str(trouble), trouble.code, machine, trouble.explanation)
    except KeyboardInterrupt:
        return _tell("interrupted; nothing was written", INTERRUPTED, machine)
    except BrokenPipeError:  # while help was printed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (MemoryError, OSError) as error:
        return _tell(message_of(error), BAD_INPUT, machine)
    except Exception as error:
        if hasattr(error, "format_message"):  # of typer: something typed wrongly
            message = error.format_message()
            if not message:  # no arguments: the help was printed
                return BAD_INPUT
            context = vars(error).get("ctx")
            command = context.command_path if context is not None else "coterie"
            line = one_line(message)
            stop = "" if line.endswith(("?", "!", ".")) else "."
            return _tell(f"{line}{stop} See {command} --help", BAD_INPUT, machine)
        if type(error).__name__ == "TableError":  # by name, so that nothing is loaded to fail
            return _tell(one_line(error), BAD_INPUT, machine)
        if type(error).__name__ == "Abort":
            return _tell("interrupted; nothing was written", INTERRUPTED, machine)
        if os.environ.get("COTERIE_DEBUG"):
            raise
        message = "a fault of ours, please report it (COTERIE_DEBUG=1 shows where)"
        return _tell(f"{message}: {type(error).__name__}: {one_line(error)}", FAULT, machine)
    finally:
        restore()


def _tell(message: str, code: int, machine: bool, explanation: str = "") -> int:
    problem = {"error": message, "exit_code": code, "explanation": explanation or None}
    with contextlib.suppress(OSError):  # where there is nobody to tell, the code tells
        if machine:
            print(as_json(problem, ascii_only=True), flush=True)
        else:
            print(f"coterie: {message}", file=sys.stderr)
            if explanation:
                print(printable(explanation), file=sys.stderr)
    return code


def _end_on_sigterm() -> Any:
    """A polite kill ends like Ctrl-C, so that half-written folders are taken away."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        return lambda: None
    return lambda: signal.signal(signal.SIGTERM, before)
