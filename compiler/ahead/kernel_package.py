"""A compiled program as a function of NumPy arrays.  Needs NumPy and pyopencl only.

This file travels inside wheels of kernels, beside the runner of bundles; there it imports nothing of Relift.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.bench.bundle_runner import Data, Prepared, Row, chosen_device


class Function:
    """The kernels of a folder, built for a device when they are first called on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about: Data = json.loads((folder / "function.json").read_text(encoding="utf-8"))
        self.__doc__ = str(self.about["says"])
        self._built: dict[str, tuple[Any, Prepared]] = {}

    def __repr__(self) -> str:
        return f"<{self.about['says'].splitlines()[0]}>"

    def __call__(self, *arrays: Any, device: str = "cpu") -> Any:
        """The result, as new arrays; `device` is cpu, gpu, or part of a device's name."""
        rows = dict(self._rows(arrays))
        cl, prepared = self._prepared(device, rows)
        scalars = {name for name, row in rows.items() if not row.shape}
        for name, row in rows.items():
            if name in scalars:
                prepared.buffers[name] = row[()]
            else:
                cl.enqueue_copy(prepared.queue, prepared.buffers[name], row)
        if scalars:
            self._set_arguments(prepared)
        prepared.run()
        found = [
            row.reshape(about["own"])[()]
            for row, about in zip(prepared.results(), self.about["outputs"], strict=True)
        ]
        return found[0] if len(found) == 1 else tuple(found)

    def _set_arguments(self, prepared: Prepared) -> None:
        """The kernels' arguments anew: a number is given by its value."""
        taken = {k["name"]: k["arguments"] for k in self._launch["kernels"]}
        for kernel, _ in prepared.kernels:
            kernel.set_args(*(prepared.buffers[name] for name in taken[kernel.function_name]))

    @property
    def _launch(self) -> Data:
        found: Data = json.loads((self.folder / "launch.json").read_text(encoding="utf-8"))
        return found

    def _prepared(self, device: str, rows: dict[str, Row]) -> tuple[Any, Prepared]:
        if device not in self._built:
            cl = importlib.import_module("pyopencl")
            context = cl.Context([chosen_device(cl, device)])
            given = {name: row.reshape(-1) for name, row in rows.items()}
            self._built[device] = cl, Prepared(cl, context, self.folder, self.about, given)
        return self._built[device]

    def _rows(self, arrays: Sequence[Any]) -> Iterator[tuple[str, Row]]:
        """Each buffer's row; raises `TypeError` for what is no array of the type and shape of its parameter."""
        parameters = self.about["parameters"]
        if len(arrays) != len(parameters):
            raise TypeError(f"{len(parameters)} arguments are taken, {len(arrays)} are given")
        for value, parameter in zip(arrays, parameters, strict=True):
            parts = value if parameter["tuple"] else (value,)
            for part, about in zip(parts, parameter["components"], strict=True):
                row = np.asarray(part)
                if about["shape"] and (row.dtype, list(row.shape)) != (
                    np.dtype(about["dtype"]),
                    about["shape"],
                ):
                    raise TypeError(
                        f"{parameter['name']} is {row.dtype}{list(row.shape)}; "
                        f"{about['dtype']}{about['shape']} is taken"
                    )
                yield (
                    about["buffer"],
                    np.ascontiguousarray(row, about["dtype"]).reshape(about["shape"]),
                )
