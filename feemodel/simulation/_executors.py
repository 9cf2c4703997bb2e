"""Run numbered tasks on threads, processes, Dask or a `concurrent.futures.Executor`, and yield results in order.

The number of tasks that are submitted at a time is limited, to limit the memory for results. If a worker process that
this module started dies, new processes compute the unfinished tasks again, and a warning is issued. If an executor that
the caller passed fails, an error is raised.
"""

import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import SpawnContext, SpawnProcess
from operator import call
from typing import Any, Generic, Protocol, TypeAlias, TypeGuard, TypeVar

from feemodel._extras import install_command
from feemodel._processors import cores, end_with_parent
from feemodel.checks import whole_scalar
from feemodel.errors import InvalidInput, UpstreamError

Result = TypeVar("Result")
Job: TypeAlias = Callable[[int], Result]


class DaskClient(Protocol):
    """The methods and attributes of `dask.distributed.Client` that this module uses."""

    asynchronous: bool
    status: str

    def wait_for_workers(self, n_workers: int, timeout: float) -> object:
        """Wait until the given number of workers is available."""

    def nthreads(self) -> Mapping[str, int]:
        """Return the number of threads of each worker."""

    def submit(self, func: Callable[..., Any], *args: Any, pure: bool) -> Any:
        """Submit one task."""

    def get_executor(self, *, pure: bool) -> Any:
        """Return a `concurrent.futures.Executor` that runs tasks on the cluster."""


Where: TypeAlias = str | Executor | DaskClient | None

THREADS, PROCESSES = "threads", "processes"
AHEAD = 3  # number of tasks that are submitted for each worker at a time, so that no worker waits for a task
RESTARTS = 3  # maximum number of restarts of the worker processes between two results
CLUSTER_TIMEOUT = 5  # seconds
MAX_WORKERS = 1_024  # more than 1,024 workers are probably a mistake


@dataclass(frozen=True, eq=False)
class Selected(Generic[Result]):
    """Job with a selection of the tasks of another job."""

    job: Job[Result]
    numbers: tuple[int, ...]

    def __call__(self, index: int) -> Result:
        """Run the task `numbers[index]` of the other job."""
        return self.job(self.numbers[index])


class WorkersDied(RuntimeWarning):
    """Warning that worker processes died, possibly for lack of memory; their tasks are computed again."""


@dataclass(frozen=True)
class Team:
    """Workers that run the tasks of a job."""

    submit: Callable[[int], "Future[Any]"]
    workers: int


def in_order(
    job: Job[Result], count: int, *, executor: Where = None, workers: int | None = None
) -> Generator[Result, None, None]:
    """Run `job(0)`, `job(1)`, … `job(count − 1)` in parallel, and yield the results in this order.

    Parameters
    ----------
    job : function that is called with the number of a task. With processes or a cluster, the function must be
        picklable.
    count : number of tasks.
    executor : "threads" (the default), "processes", the address of a Dask scheduler such as "tcp://host:8786", or a
        `dask.distributed.Client` or `concurrent.futures.Executor`. A client or executor that the caller passes is not
        closed.
    workers : number of threads or processes, at most 1,024; `None` means the number of processors. With a cluster,
        `workers` must be `None`.

    Raises
    ------
    InvalidInput : the executor is unknown or was shut down, `workers` is given with a cluster, or the job cannot be
        pickled.
    UpstreamError : the cluster cannot be reached or has no workers, workers die repeatedly, or the caller's executor
        fails or cancels a task.

    Warns `WorkersDied` if tasks of dead workers are computed again.

    >>> list(in_order(abs, 3))
    [0, 1, 2]
    """
    done, restarts = 0, 0
    finished: dict[int, Future[Result]] = {}
    while done < count:
        pending = finished
        try:
            with _team(executor, job, workers) as team:
                try:
                    while done < count:
                        for number in range(done, min(count, done + AHEAD * team.workers)):
                            if number not in pending:
                                pending[number] = team.submit(number)
                        result = pending.pop(done).result()
                        done, restarts = done + 1, 0
                        yield result
                finally:
                    for future in pending.values():
                        future.cancel()
        except BrokenExecutor as error:
            if isinstance(executor, Executor):
                raise UpstreamError(
                    f"the given executor failed at task {done:,}: {str(error) or type(error).__name__}"
                ) from error
            restarts += 1
            if restarts > RESTARTS:
                reason = "out of memory, or the function ends its process"
                raise UpstreamError(f"worker processes ended {restarts} times at task {done:,}: {reason}") from error
            warnings.warn(
                f"worker processes ended; tasks from {done:,} on run in new processes", WorkersDied, stacklevel=2
            )
            ended = {number: future for number, future in pending.items() if future.done() and not future.cancelled()}
            finished = {number: future for number, future in ended.items() if future.exception() is None}
        except CancelledError as error:
            raise UpstreamError(f"the given executor cancelled task {done:,}") from error


@contextmanager
def _team(where: Where, job: Job[Any], workers: int | None) -> Iterator[Team]:
    count = cores() if workers is None else whole_scalar("workers", workers, minimum=1, maximum=MAX_WORKERS)
    if where is None or (isinstance(where, str) and where == THREADS):
        with ThreadPoolExecutor(count) as pool:
            yield Team(partial(_submitted_to, pool, job), count)
    elif isinstance(where, str) and where == PROCESSES:
        context = _Spawning()
        with ProcessPoolExecutor(count, context, initializer=_receive, initargs=(_pickled(job),)) as processes:
            try:
                yield Team(partial(_submitted, processes), count)
            except BrokenExecutor:
                context.terminate()
                raise
    elif _is_dask(where):
        if workers is not None:
            raise InvalidInput(
                "workers",
                "expected only with threads or processes, because a cluster has its own number of workers",
                workers,
            )
        with _dask_client(where) as client, _dask_team(client, job) as team:
            yield team
    elif isinstance(where, Executor):
        if isinstance(where, ProcessPoolExecutor):
            _pickled(job)  # raises an error if pickling fails
        yield Team(partial(_submitted_to, where, job), count)
    else:
        expected = '"threads", "processes", the address of a Dask scheduler such as "tcp://host:8786", a Dask Client'
        raise InvalidInput("executor", f"expected {expected} or an Executor", where)


class _Spawning(SpawnContext):
    """Context that spawns processes and keeps a list of them.

    Processes are spawned and not forked, because a forked process would copy locks that other threads hold.

    A broken process pool terminates its running workers, but waits forever for a worker that is just starting.
    `terminate` terminates all processes in the list, including a worker that is just starting.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802  # the name of the base class's method
        self._made.append(SpawnProcess(*arguments, **options))
        return self._made[-1]

    def terminate(self) -> None:
        """Terminate all processes that are still running."""
        for process in self._made:
            if process.is_alive():
                process.terminate()


def _submitted_to(executor: Executor, job: Job[Any], number: int) -> "Future[Any]":
    try:
        return executor.submit(call, job, number)
    except BrokenExecutor:
        raise
    except RuntimeError as error:  # raised by `concurrent.futures` after a shutdown
        raise InvalidInput("executor", f"expected an executor that accepts tasks ({error})", executor) from None


def _submitted(pool: ProcessPoolExecutor, number: int) -> "Future[Any]":
    """Submit a task to the pool, which may start a process for it.

    SIGINT is blocked during the call. A process that starts during the call inherits the blocked signal, so an
    interrupt cannot end the process before the process calls `_receive`, which makes the process ignore SIGINT.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return pool.submit(_run_received, number)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_run_received, number)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_dask(where: Where) -> TypeGuard[str | DaskClient]:
    distributed: Any = sys.modules.get("distributed")  # imported by every caller who has a Dask client
    return (isinstance(where, str) and "://" in where) or (
        distributed is not None and isinstance(where, distributed.Client)
    )


@contextmanager
def _dask_client(where: str | DaskClient) -> Iterator[DaskClient]:
    """Yield the caller's Dask client, which stays open, or a new client for an address, which is closed at the end."""
    if not isinstance(where, str):
        if where.asynchronous:
            raise InvalidInput("executor", "expected a Dask Client made with asynchronous=False", where)
        if where.status != "running":
            raise InvalidInput("executor", f"expected a running Dask Client, its status is {where.status}", where)
        yield where
        return
    try:
        import distributed
    except ImportError:
        raise InvalidInput("executor", f"expected Dask to be installed: {install_command('dask')}", where) from None
    dask: Any = distributed  # many functions of Dask have no type annotations
    try:
        client = dask.Client(where, timeout=CLUSTER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UpstreamError(f"{where}: no Dask scheduler answers ({error})") from None
    with client:
        yield client


@contextmanager
def _dask_team(client: DaskClient, job: Job[Any]) -> Iterator[Team]:
    import distributed

    dask: Any = distributed
    address = getattr(getattr(client, "scheduler", None), "address", "Dask")
    try:
        client.wait_for_workers(1, timeout=CLUSTER_TIMEOUT)
    except TimeoutError:
        raise UpstreamError(f"{address}: the Dask cluster has no workers") from None
    # Submit the job as a Dask task of its own, so that Dask sends the job only once to each worker.
    held = client.submit(_same, job, pure=False)
    with client.get_executor(pure=False) as pool:
        try:
            yield Team(partial(pool.submit, call, held), sum(client.nthreads().values()))
        except dask.KilledWorker as error:
            raise UpstreamError(f"{address}: {error}") from None


def _pickled(job: Job[Any]) -> bytes:
    try:
        return pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        reason = "expected a function that another process can import, or executor='threads'"
        raise InvalidInput("function", f"{reason} ({error})", job) from None


_received: bytes | Job[Any] = b""  # the worker's job, sent when the process starts


def _receive(pickled: bytes) -> None:
    global _received
    _received = pickled
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles interrupts
    end_with_parent()


def _run_received(number: int) -> Any:
    global _received
    if isinstance(_received, bytes):
        _received = pickle.loads(_received)  # not unpickled in `_receive`, where an error would break the pool
    return _received(number)  # type: ignore[operator]  # unpickled above


def _same(job: Job[Any]) -> Job[Any]:
    return job
