"""A child process for tasks: it is shared by them, killed when one takes too long, and replaced when it is gone."""

import asyncio
import os
import signal
import time
from functools import partial

import pytest

from feemodel.errors import LimitExceeded
from feemodel.explorer._process import ChildProcess

PATIENCE = 60.0  # seconds, on a busy machine
MODULES = partial(time.sleep, 0)


def test_a_process_is_shared_by_tasks_and_replaced_when_it_was_killed():
    process = ChildProcess("nap", MODULES)

    async def tasks():
        numbers = [await process.run(os.getpid, PATIENCE) for _ in range(2)]
        with pytest.raises(LimitExceeded, match=r"^a nap: at most 0\.1 s$"):
            await process.run(partial(time.sleep, PATIENCE), 0.1)
        numbers.append(await process.run(os.getpid, PATIENCE))
        os.kill(numbers[-1], signal.SIGKILL)
        with pytest.raises(LimitExceeded, match=r"^the process of naps ended: try again$"):
            await process.run(partial(time.sleep, PATIENCE), PATIENCE)
        return [*numbers, await process.run(os.getpid, PATIENCE)]

    try:
        first, second, third, fourth = asyncio.run(tasks())
    finally:
        process.close()

    assert first == second
    assert len({os.getpid(), first, third, fourth}) == 4


def test_an_error_of_a_task_is_the_callers():
    process = ChildProcess("nap", MODULES)
    try:
        with pytest.raises(ValueError, match="must be non-negative"):
            asyncio.run(process.run(partial(time.sleep, -1), PATIENCE))
    finally:
        process.close()
