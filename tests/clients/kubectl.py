"""kubectl as people run it, and what it prints."""

import os
import queue
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import yaml

from apis.meta.transaction import Object
from tests.harness.server import ServerProcess

SECONDS = 60.0
"""No command takes longer, and no line of one that goes on is longer in coming."""

Done = subprocess.CompletedProcess[str]


def minor_version() -> int:
    """Of the binary that the tests run: flags came one by one."""
    shown = subprocess.run(
        ["kubectl", "version", "--client"], capture_output=True, text=True, check=True
    )
    found = re.search(r"v1\.(\d+)", shown.stdout)
    assert found is not None, shown.stdout
    return int(found[1])


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Runs as the admin, in a namespace of its own, with a home of its own: what it learnt of other
    servers is not asked. What goes in are objects, as YAML on its standard input."""

    server: ServerProcess
    home: Path
    namespace: str
    minor: int

    def __call__(
        self, *arguments: str, objects: Sequence[Object] = (), editor: Path | None = None
    ) -> Done:
        return subprocess.run(
            self._command(arguments),
            input=yaml.safe_dump_all(objects) if objects else None,
            stdin=None if objects else subprocess.DEVNULL,
            env=self._environment(editor),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def output(self, *arguments: str, objects: Sequence[Object] = ()) -> str:
        """What a command that succeeds prints."""
        done = self(*arguments, objects=objects)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def complaint(self, *arguments: str, objects: Sequence[Object] = ()) -> str:
        """What a command that fails says."""
        done = self(*arguments, objects=objects)
        assert done.returncode == 1, (arguments, done.stdout, done.stderr)
        return done.stderr

    def get(self, *arguments: str) -> Object:
        """An object or a list, as kubectl got it."""
        found: Object = yaml.safe_load(self.output("get", *arguments, "-o", "yaml", *self.managed))
        return found

    @property
    def managed(self) -> tuple[str, ...]:
        """The flag that shows managedFields, where they are not shown anyway."""
        return ("--show-managed-fields",) if self.minor >= 21 else ()

    @contextmanager
    def following(self, *arguments: str) -> Iterator["Lines"]:
        """A command that goes on; it is ended at the end."""
        process = subprocess.Popen(
            self._command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment(None),
            text=True,
        )
        assert process.stdout is not None
        lines = Lines(process.stdout)
        try:
            yield lines
        finally:
            process.terminate()
            process.wait(SECONDS)
            lines.close()

    def _command(self, arguments: Sequence[str]) -> list[str]:
        kubeconfig = str(self.server.data_dir / "admin.kubeconfig")
        return ["kubectl", "--kubeconfig", kubeconfig, "--namespace", self.namespace, *arguments]

    def _environment(self, editor: Path | None) -> dict[str, str]:
        edit = {"KUBE_EDITOR": str(editor)} if editor is not None else {}
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self.home),
            **edit,
        }


class Lines:
    """What a process prints, line by line; a line that does not come is an error."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def next(self) -> str:
        return self._lines.get(timeout=SECONDS)

    def close(self) -> None:
        """After the process has ended."""
        self._reader.join(SECONDS)
        self._stream.close()

    def _read(self) -> None:
        for line in self._stream:
            self._lines.put(line.rstrip("\n"))


def rows(printed: str) -> list[dict[str, str]]:
    """A table's rows, by column; cells lie below their headers."""
    header, *lines = printed.rstrip("\n").split("\n")
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S+(?: \S+)*", header)]
    ends = [*starts[1:], None]
    spans = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    return [{header[span].strip(): line[span].strip() for span in spans} for line in lines if line]


def script(path: Path, command: str) -> Path:
    """An editor that does always the same to the file that it is given."""
    path.write_text(f'#!/bin/sh\n{command} "$1"\n')
    path.chmod(0o700)
    return path
