"""Processes of the reference engine while others loop, start or are closed."""

import threading

import pytest

from feemodel.errors import LimitExceeded
from feemodel.execution import EnginePool
from tests.execution.test_pool import PATIENCE, READ, SPIN, STATE, once
from tests.execution.test_state_never_moves import SECONDS, check_no_call_on_real_contracts_moves_the_state


def test_no_call_on_real_contracts_moves_the_state():
    with EnginePool(processes=2, deadline=SECONDS) as pool:
        check_no_call_on_real_contracts_moves_the_state(pool)


def test_one_loop_keeps_nobody_else_waiting():
    """The other process answers while the loop runs; it would run for hours."""
    with EnginePool(processes=2, deadline=4) as small:
        small.warm_up()
        loops = []

        def spin():
            try:
                once(small, SPIN, 2**32)
            except LimitExceeded as error:
                loops.append(error)

        thread = threading.Thread(target=spin)
        thread.start()
        answers = [once(small, READ).output[-1] for _ in range(20)]
        assert answers == [7] * 20
        assert loops == []
        thread.join()
        assert len(loops) == 1


def test_a_task_whose_child_is_killed_is_executed_again_in_another_one():
    with EnginePool(processes=1, deadline=PATIENCE) as pool:
        pool.warm_up()
        processes = []

        def task(execute):
            (child,) = pool._all
            processes.append(child._process.pid)
            if len(processes) == 1:
                child._process.kill()
                child._process.wait()
            return execute(READ, 100_000)

        assert pool.run(STATE, task).output[-1] == 7  # on its state, which a new process has to be sent
        assert len(set(processes)) == len(processes) == 2


def test_a_task_that_ends_every_child_is_refused_and_the_next_one_is_answered():
    with EnginePool(processes=1, deadline=PATIENCE) as pool:

        def task(execute):
            pool._all[0]._process.kill()
            return execute(READ, 100_000)

        with pytest.raises(LimitExceeded, match="2 processes of the engine ended while they executed this call"):
            pool.run(STATE, task)
        assert once(pool, READ).output[-1] == 7


def test_a_call_takes_a_process_that_runs_rather_than_one_that_was_killed():
    with EnginePool(processes=2, deadline=2) as pool:
        pool.warm_up(STATE)
        processes = {child._process.pid for child in pool._all}
        with pytest.raises(LimitExceeded):
            once(pool, SPIN, 2**32)
        assert once(pool, READ).output[-1] == 7
        assert [child._process.pid in processes for child in pool._all if child.is_alive] == [True]
