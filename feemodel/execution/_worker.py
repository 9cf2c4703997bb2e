"""Child process of `feemodel.execution._pool` that executes requests until the pipe closes.

A request is a state, an override of the last state, or a method call of `Execute`. The child process replies to a state
as soon as it has loaded everything that executions on the state need. The reply to a method call is the result of the
method, or the exception that the method raised. The child process does not reply to an override.
"""

import os
import pickle
import select
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution._engines import Engine, engine_named
from feemodel.execution._message import Message
from feemodel.execution._state import CallState, Overlay

# Milliseconds between checks that the parent still runs. It is not enough to wait until the pipe is closed, because the
# pipe stays open if another child has a copy of the parent's end.
LOOK = 1_000


def main(descriptor: int) -> None:
    """Execute the requests that arrive on the pipe with this file descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also signals child processes; the parent handles the signal
    threading.Thread(target=_end_with_parent, args=(os.getppid(), descriptor), daemon=True).start()
    engine = engine_named("reference")
    call_state = overridden = CallState(accounts={})
    with Connection(descriptor) as pipe:
        while True:
            try:
                asked = pipe.recv()
            except EOFError:
                return
            if isinstance(asked, CallState):
                call_state = overridden = asked
                _load(engine, call_state)
                pipe.send(True)
            elif isinstance(asked, Overlay):
                overridden = replace(call_state, changes=asked.changes, block=replace(call_state.block, **asked.block))
            else:
                method, message, gas_limit = asked
                pipe.send(_answer(engine, overridden, method, message, gas_limit))


def _end_with_parent(parent: int, descriptor: int) -> None:
    """End this process when the parent ends, even while this process is executing and does not read the pipe."""
    pipe = select.poll()
    pipe.register(descriptor, 0)  # 0: request no events, because poll reports a closed pipe anyway
    while os.getppid() == parent and not pipe.poll(LOOK):
        pass
    os._exit(1)


def _load(engine: Engine, call_state: CallState) -> None:
    """Load the modules of the execution specs in advance, because loading takes longer than the deadline of a call."""
    with suppress(FeeModelError):  # only the loading of modules matters, so ignore an error of the execution
        engine.run(call_state, lambda execute: execute(Message(to=bytes(20)), TRANSACTION_GAS))


def _answer(engine: Engine, call_state: CallState, method: str, *given: Any) -> Any:
    """Return the result of a method of `Execute`, or the exception that the method raises."""
    try:
        return engine.run(call_state, lambda execute: getattr(execute, method)(*given))
    except Exception as error:
        return _sendable(error)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    main(int(sys.argv[1]))
