"""Observation: cases go through the environment of a pin, and what was seen of them comes back, or why nothing could be seen."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from capture import cache, environment, persistence
from capture.case import Case, smoke
from capture.environment import Environment
from capture.errors import EnvironmentFailed, InputRefused, ProbeFailed
from capture.history import CaseHistory, History
from capture.interpreter import Interpreter
from capture.lock import Lock
from capture.pin import Pin
from capture.postgres import Postgres
from capture.recorder import Recorder
from capture.saved import SavedHistory
from capture.scenario import is_persistent

__all__ = ["STEP_SECONDS", "Cases", "Watch", "observe", "observe_in"]

Cases = Callable[[], Sequence[Case]]
"""Gives the cases of a run; asked several times, it gives the same ones."""

REBUILDS = 3
"""How often a run starts again because its environment was damaged, or built anew by another run, before it gives up."""

WORTH_A_PROBE = 60
"""How many cases take about as long as a second probe's import of what is audited."""

STEP_SECONDS = 60.0
"""How long a step may take before it is UNKNOWN(timeout), unless the record says otherwise."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Watch:
    """How to observe: with which Python, where the journals go, how long a step may take, and with how many probes at most."""

    python: Interpreter
    folder: Path
    seconds: float = STEP_SECONDS
    probes: int = os.cpu_count() or 1
    worth: int = WORTH_A_PROBE
    """How many cases one probe more is worth: where most of them end a process, the import is what they cost anyway."""
    postgres: Postgres | None = None
    """The server that the whole run shares; without it, cases that need one get one of their own."""


def observe(pin: Pin, cases: Cases, watch: Watch) -> SavedHistory:
    """Run cases at one pin, and return what was seen; an environment that is not as pinned is refused.

    The cases are asked for once the probe was started, or before anything is built, so that reading them costs no time.
    """
    environment.refuse_python(pin, watch.python)
    if pin.yanked is not None:
        _LOG.info("pin %s: the registry has yanked the release: %s", pin.name, pin.yanked)
    seen = _whole(pin, pin.lock, lambda: _own(cases()), watch)
    return persistence.joined(pin, seen, cases(), partial(_persistent, pin, watch))


def _persistent(pin: Pin, watch: Watch, lock: Lock, suite: Sequence[Case]) -> SavedHistory:
    """Run the cases with a persistent checkpointer, in the environment that has it; its packages are read from inside as well."""
    with nullcontext(watch.postgres) if watch.postgres else Postgres(watch.python) as server:
        return _whole(persistence.widened(pin, lock), lock, lambda: suite, replace(watch, worth=1, postgres=server))


def _own(suite: Sequence[Case]) -> list[Case]:
    """Return the cases that the pin's own environment can run."""
    return [case for case in suite if not is_persistent(case.scenario)]


def _whole(pin: Pin, lock: Lock, cases: Cases, watch: Watch) -> SavedHistory:
    """Run cases in the environment of a lock, building it again if it is damaged."""
    if not environment.is_there(lock, watch.python):
        cases()
    seen = _observed(pin, environment.ensure(lock, watch.python), cases, watch)
    for _ in range(REBUILDS):
        if seen is None:
            seen = _observed(pin, environment.rebuild(lock, watch.python), cases, watch)
    if seen is None:
        raise EnvironmentFailed(f"pin {pin.name}: its environment was damaged or replaced {REBUILDS} times.", "Check the disk.")
    return seen


def observe_in(place: Environment, pin: Pin, cases: Cases, watch: Watch) -> SavedHistory:
    """Run cases in an environment that was made in another way than by the pin's lock, but has to be as pinned all the same."""
    seen = _observed(pin, place, lambda: _own(cases()), watch, sound=True)
    if seen is None:
        raise EnvironmentFailed(f"pin {pin.name}: its environment is damaged.", "Check the disk.")
    return persistence.joined(pin, seen, cases(), None)


def _observed(pin: Pin, place: Environment, cases: Cases, watch: Watch, *, sound: bool = False) -> SavedHistory | None:
    """Return what was seen of the cases and of the environment, or None if that is not as it was installed.

    An environment that is known to be `sound` is not looked at again.
    """
    journals = watch.folder / "journals"
    with cache.storage(journals):
        journals.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        database = watch.postgres.address if watch.postgres else None
        recorder = partial(Recorder, place, journals, watch.seconds, database=database)
        recorders = [stack.enter_context(recorder())]
        suite = cases()
        if not sound and environment.damage(place):
            return None
        further = range(1, min(watch.probes, len(suite) // watch.worth))
        recorders += [stack.enter_context(recorder()) for _ in further]
        try:
            seen = _seen(recorders, pin, suite)
        except ProbeFailed:
            if sound or (_are_current(recorders) and not environment.damage(place)):
                raise
            return None
        # Another run may have built the environment anew while a probe was importing or running.
        return seen if _are_current(recorders) else None


def _are_current(recorders: Iterable[Recorder]) -> bool:
    return all(recorder.is_current() for recorder in recorders)


def _seen(recorders: Sequence[Recorder], pin: Pin, suite: Sequence[Case]) -> SavedHistory:
    """Return what was seen of all cases, each of which goes through one of the probes; the smoke test goes through the first."""
    if suite:
        _LOG.info("running %s at pin %s", "1 case" if len(suite) == 1 else f"{len(suite)} cases", pin.name)
    shares = [suite[number :: len(recorders)] for number in range(len(recorders))]
    with ThreadPoolExecutor(max_workers=len(recorders)) as executor:
        lanes = list(executor.map(partial(_lane, pin), recorders, shares, [smoke(), *[()] * (len(recorders) - 1)]))
    described, smoked, _ = lanes[0]
    heads = [{key: other[key] for key in ("packages", "files", "blocked")} for other, _, _ in lanes]
    if any(head != heads[0] for head in heads):
        raise ProbeFailed("the probes of one environment do not agree about what it is")
    found = {known.case: known for _, _, part in lanes for known in part}
    head = {"kind": "environment", "history": 1, "pin": pin.name, **heads[0]}
    machine = {"python": described["python"], "distributions": described["distributions"]}
    return SavedHistory.of(History(head, smoked, tuple(found[case.id] for case in suite)), machine)


_Lane = tuple[Mapping[str, Any], tuple[CaseHistory, ...], tuple[CaseHistory, ...]]


def _lane(pin: Pin, recorder: Recorder, share: Sequence[Case], smoked: Iterable[Case]) -> _Lane:
    """Return what one probe says of its environment, and what was seen of the smoke test, if it is its to run, and of its cases."""
    described = recorder.describe(pin.packages, pin.files)
    for difference in environment.differences(pin, described):
        raise InputRefused(f"pin {pin.name}: {difference}.", "Correct pin.toml, or add another pin for what is installed.")
    smoke_histories = [recorder.record(case, smoke=True) for case in smoked]
    return described, _all(smoke_histories), _all([recorder.record(case) for case in share])


def _all(histories: Iterable[Future[CaseHistory]]) -> tuple[CaseHistory, ...]:
    return tuple(found.result() for found in histories)
