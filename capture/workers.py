"""Workers: who observes several pins side by side. Threads here, each with a probe's process, or the workers of a cluster.

Both are a `concurrent.futures.Executor`, and nothing else is asked of them. What becomes of a pin is a value, so that one which
cannot be had is no accident of the others.
"""

import logging
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from capture import cache, document, interpreter
from capture.case import Case
from capture.errors import EnvironmentFailed, InputRefused, ProbeFailed
from capture.interpreter import Interpreter
from capture.kept import recorded_by
from capture.observation import Watch, observe
from capture.pin import CHECKPOINTERS, Pin
from capture.saved import SavedHistory

__all__ = ["Broken", "Outcome", "Task", "Workers"]


@dataclass(frozen=True)
class Task:
    """A pin, the cases to run at it, and how; the bytes of its lock if somebody else does it who may not have the pin."""

    pin: Pin
    cases: tuple[Case, ...]
    watch: Watch
    lock: bytes = b""
    checkpointers: bytes = b""
    """The bytes of the lock of the pin's checkpointers, in the same case."""
    code: str = ""
    """The SHA-256 of what makes a history, for somebody else who may have another version of it."""


@dataclass(frozen=True)
class Broken:
    """Why there is nothing to be seen at a pin."""

    message: str


Outcome = SavedHistory | Broken

_ADDRESS = re.compile(r"(?:tcp|tls|ws|wss)://[^\s/]+:[0-9]+")


@dataclass(frozen=True)
class Workers:
    """How many pins are observed at once here, or the address of a scheduler whose workers do it."""

    jobs: int = os.cpu_count() or 1
    scheduler: str | None = None

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield what became of each task, as soon as it is done; nothing is held of those that were yielded."""
        with _cluster(self.scheduler) if self.scheduler else _here(self.jobs) as executor:
            work = _elsewhere if self.scheduler else _work
            given = [_sent(task) if self.scheduler else task for task in tasks]
            waiting = {executor.submit(work, task): task for task in given}
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), _from_afar(future) if self.scheduler else future.result()


@contextmanager
def _here(jobs: int) -> Iterator[Executor]:
    executor = ThreadPoolExecutor(max_workers=jobs)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError:
        raise InputRefused("--scheduler: the extra `cluster` is not installed.", "pip install 'dispatch-audit[cluster]'") from None
    if not _ADDRESS.fullmatch(address):
        raise InputRefused(f"--scheduler {address!a}: that is no address.", "Write it as tcp://HOST:PORT.")
    logging.getLogger("distributed").setLevel(logging.ERROR)
    try:
        client = Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]  # the library has no types
    except OSError as error:
        raise EnvironmentFailed(f"--scheduler {address!a}: nobody answers there ({error}).", "Check the address.") from None
    with client:
        # Each run's tasks are its own: the cluster must not give back what it remembers of another.
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]  # as above


def _sent(task: Task) -> Task:
    beside = task.pin.checkpointers
    locks = document.read(task.pin.lock.path), document.read(beside.path) if beside else b""
    return replace(task, lock=locks[0], checkpointers=locks[1], code=recorded_by())


def _from_afar(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 -- a worker that lacks this package, or died: whatever it is, it is the worker's
        return Broken(f"a worker of the cluster failed: {type(error).__name__}: {str(error)[:200]}")


def _work(task: Task) -> Outcome:
    try:
        return observe(task.pin, lambda: task.cases, task.watch)
    except (EnvironmentFailed, InputRefused, ProbeFailed) as error:
        return Broken(error.message)


def _elsewhere(task: Task) -> Outcome:
    """Do a task on the worker of a cluster, with the Python that is there, in a folder of its own; only the lock came along."""
    wanted = task.watch.python
    with cache.scratch("observation") as folder:
        path = folder / task.pin.name / "requirements.txt"
        document.write(path, task.lock)
        try:
            python = interpreter.find(wanted.asked)
        except InputRefused as error:
            return Broken(error.message)
        if unlike := _unlike(task, python):
            return Broken(unlike)
        pin = replace(task.pin, lock=replace(task.pin.lock, path=path))
        if pin.checkpointers:
            beside = path.with_name(CHECKPOINTERS)
            document.write(beside, task.checkpointers)
            pin = replace(pin, checkpointers=replace(pin.checkpointers, path=beside, base=path))
        with task.watch.postgres or nullcontext():
            return _work(replace(task, pin=pin, watch=replace(task.watch, python=python, folder=folder / "seen")))


def _unlike(task: Task, python: Interpreter) -> str | None:
    """Return in what a worker differs from whoever gave it the task, so that what it sees would be kept for something else."""
    wanted = task.watch.python
    for what in ("implementation", "version", "machine"):
        here, there = getattr(python, what), getattr(wanted, what)
        if here != there:
            return f"the worker has Python with the {what} {here}, but this run is with {there}"
    return None if task.code == recorded_by() else "the worker has another version of dispatch-audit"
