"""Executors whose run is interrupted, whose workers die again and again, or that are not there."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import distributed
import pytest

from feemodel.errors import UpstreamError
from feemodel.simulation._executors import RESTARTS, WorkersDied, in_order
from tests.conftest import ROOT
from tests.simulation.test_executors import EXPECTED, killed_once, square


def killed_always(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_die_again_and_again_are_an_error():
    with (
        pytest.warns(WorkersDied),
        pytest.raises(UpstreamError, match=rf"worker processes ended {RESTARTS + 1} times at task 0"),
    ):
        list(in_order(killed_always, 20, executor="processes", workers=1))


INTERRUPTED = """
import signal
import sys
from tests.system.test_executors import slow
from feemodel.simulation._executors import in_order

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
    for number in in_order(slow, 1_000, executor=sys.argv[1], workers=2):
        print(number, flush=True)
"""


def slow(number):
    time.sleep(0.05)
    return number


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_an_interrupt_ends_the_run_and_its_workers(tmp_path, executor):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, script, executor],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as run:
        assert run.stdout.readline() == "0\n"
        # While it waits: a signal at the very moment at which a lock of `concurrent.futures` is taken leaves it taken
        # for ever (CPython 3.11), and the next interrupt is needed.
        time.sleep(0.02)
        try:
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the workers too
            _, errors = run.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)  # or leaving the block would wait for it without end
            raise

    assert run.returncode != 0
    assert errors.strip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") <= 1  # the workers say nothing
    assert _gone(run.pid)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, script, "processes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    ) as run:
        assert run.stdout.readline() == b"0\n"
        run.kill()
        run.wait()
        try:
            assert _gone(run.pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


def _gone(session, seconds=10):
    """Whether all processes of a session end; Python's own tracker of resources ends shortly after its parent."""
    deadline = time.monotonic() + seconds
    while any(_session(process) == session for process in Path("/proc").iterdir() if process.name.isdigit()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _session(process):
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, ValueError):
        return None


def test_a_killed_worker_of_a_cluster_costs_time_and_not_the_result(cluster, tmp_path):
    job = partial(killed_once, tmp_path)

    assert list(in_order(job, 20, executor=cluster.scheduler_address)) == EXPECTED
    assert (tmp_path / "killed").exists()


def test_a_cluster_that_is_not_there_is_an_error_within_seconds():
    with socket.socket() as taken:  # bound and not listening: nobody answers
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(UpstreamError, match=f"{address}: no Dask scheduler answers"):
            list(in_order(square, 3, executor=address))

    assert time.monotonic() - started < 15


def test_a_cluster_without_workers_is_an_error():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(UpstreamError, match="the Dask cluster has no workers"),
    ):
        list(in_order(square, 3, executor=empty.scheduler_address))
