"""Memory, time and children of a server's processes."""

from contextlib import suppress
from pathlib import Path

import psutil

MIB = 1 << 20


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and all its descendants; an empty list if it has ended."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    return []


def workers(pid: int) -> list[psutil.Process]:
    """Return the serving processes: the children that listen, or the process itself if it has none of these."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if _listens(child):
                    found.append(child)
        if not found and _listens(psutil.Process(pid)):
            return [psutil.Process(pid)]
    return found


def _listens(process: psutil.Process) -> bool:
    return any(each.status == psutil.CONN_LISTEN for each in process.net_connections("tcp"))


def memory(process: psutil.Process) -> int:
    """Return the resident memory of a process [byte]; 0 if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_info().rss)
    return 0


def unscheduled(pid: int) -> float:
    """Return how long the first thread of a process has waited for a processor; 0 where Linux does not tell [s]."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that still run; zombies do not."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
