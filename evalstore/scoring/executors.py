"""Opens the executors that parts of a plan run in, by the name of an engine; sole user of distributed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from evalstore.about import suggest_install
from evalstore.errors import EvalstoreError, Place, UsageError
from evalstore.workers import OpenExecutor, WorkerLostError, open_processes

LOCAL, DASK = "local", "dask"
ENGINES = (LOCAL, DASK)
_CONNECT_SECONDS = 20


def choose_executor(engine: str, *, jobs: int, scheduler: str | None) -> OpenExecutor:
    """Return how the executor of an engine is opened: `local` has `jobs` processes, `dask` those of a scheduler."""
    if engine == LOCAL:
        if scheduler:
            raise UsageError("--scheduler is of --engine dask", hint="name the engine, too: --engine dask")
        return open_processes(jobs)
    if not scheduler:
        raise UsageError("--engine dask needs the address of its scheduler", hint="--scheduler tcp://HOST:8786")
    return _open_dask(scheduler)


def _open_dask(scheduler: str) -> OpenExecutor:
    try:
        import distributed

        connect: Any = distributed.Client
    except ImportError:
        raise EvalstoreError("--engine dask needs the package distributed", hint=suggest_install("dask")) from None

    @contextmanager
    def open_client() -> Iterator[Executor]:
        try:
            client = connect(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            message = f"no scheduler of Dask answers here: {type(error).__name__}"
            raise EvalstoreError(message, place=Place(scheduler), hint="start one: dask scheduler") from None
        with client, client.get_executor(pure=False) as executor:
            try:
                yield executor
            except distributed.KilledWorker as error:
                raise WorkerLostError(
                    f"Dask gave a part up, because workers died over it: {error}",
                    hint="most often memory is short: make smaller parts, or larger workers",
                ) from None

    return open_client
