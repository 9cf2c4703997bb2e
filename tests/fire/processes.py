"""What the processes of a server hold: memory, open files."""

from contextlib import suppress
from dataclasses import dataclass

import psutil

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Held:
    """By all processes of a server together."""

    memory: int  #: resident [byte]
    largest: int  #: of one process [byte]
    processes: int
    files: int  #: open, of the process that has most


def tree(pid: int) -> list[psutil.Process]:
    """A process and all that it has started, down to the last."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    return []


def workers(pid: int) -> list[psutil.Process]:
    """The processes of a server that answer."""
    found = []
    for process in tree(pid)[1:]:
        with suppress(psutil.NoSuchProcess):
            if process.ppid() == pid and any("spawn_main" in part for part in process.cmdline()):
                found.append(process)
    return found


def engines(pid: int) -> list[psutil.Process]:
    """The processes that a server executes calls in."""
    found = []
    for process in tree(pid)[1:]:
        with suppress(psutil.NoSuchProcess):
            if "feemodel.execution.worker" in process.cmdline():
                found.append(process)
    return found


def held(pid: int) -> Held:
    """What the processes of a server hold now."""
    sizes, files = [], 0
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            sizes.append(process.memory_info().rss)
            files = max(files, process.num_fds())
    return Held(sum(sizes), max(sizes, default=0), len(sizes), files)


def serving_memory(pid: int) -> int:
    """Resident memory of the process that answers and holds most [byte]."""
    sizes = [0]
    for process in workers(pid):
        with suppress(psutil.NoSuchProcess):
            sizes.append(process.memory_info().rss)
    return max(sizes)


def serving_time(pid: int) -> float:
    """Processor time that the processes which answer have taken so far [s]; what they do, others wait for."""
    total = 0.0
    for process in workers(pid):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
