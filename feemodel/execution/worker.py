"""The child process of `feemodel.execution.pool`: executes what it is asked to until the pipe closes.

It is sent a state, or what overrides change of the state that it has, or a method of `Execute` with its arguments.
A state is answered once all is loaded that executing on it needs; a message by the execution, or by the
exception that was raised.
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
from feemodel.execution.engines import Engine, engine_named
from feemodel.execution.message import Message
from feemodel.execution.state import CallState, Overlay

LOOK = 1_000  # milliseconds between looks at who the parent is: another of its children may hold the pipe open


def main(descriptor: int) -> None:
    """Serve the pipe with this file descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides when to end
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
    """A parent that was killed closes the pipe, but whoever executes does not look at it for a minute."""
    pipe = select.poll()
    pipe.register(descriptor, 0)  # for its end alone, which poll reports in any case
    while os.getppid() == parent and not pipe.poll(LOOK):
        pass
    os._exit(1)


def _load(engine: Engine, call_state: CallState) -> None:
    """Have the specification load what it needs, which takes longer than a call may."""
    with suppress(FeeModelError):  # whatever it says of this call, it has loaded
        engine.run(call_state, lambda execute: execute(Message(to=bytes(20)), TRANSACTION_GAS))


def _answer(engine: Engine, call_state: CallState, method: str, *given: Any) -> Any:
    """Return the result of a method of `Execute`, or the exception that it raises."""
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
