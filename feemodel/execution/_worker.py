"""Child process of `feemodel.execution._pool`: executes requests until the pipe closes.

A request is a state, an override of the last state, or a method of `Execute` with its arguments. The reply to a state
is sent when everything needed to execute on this state is loaded. The reply to a method call is its result or the
exception raised. An override has no reply.
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

LOOK = 1_000  # milliseconds between checks that the parent exists: another child may hold the pipe open


def main(descriptor: int) -> None:
    """Serve the pipe with this file descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches children too; the parent decides
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
    """End this process when the parent ends, even during an execution, which does not read the pipe."""
    pipe = select.poll()
    pipe.register(descriptor, 0)  # no events requested: poll always reports a closed pipe
    while os.getppid() == parent and not pipe.poll(LOOK):
        pass
    os._exit(1)


def _load(engine: Engine, call_state: CallState) -> None:
    """Make the specification load its modules, which takes longer than the deadline of a call."""
    with suppress(FeeModelError):  # the result of this call does not matter
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
