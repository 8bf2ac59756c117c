"""Running tests against mutants: the tests are imported and collected once, and each mutant lives in a fork of that process.

A mutant is made by giving the functions that are there the code of the changed module, so that nothing is imported again. Only
the tests that call the changed function are run, those first that killed a mutant of it before; the first one that fails kills.
"""

import ast
import contextlib
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.mutants.operators import Mutant, places

__all__ = ["KILLED", "SURVIVED", "TIMED_OUT", "UNMADE", "Engine"]

KILLED, SURVIVED, TIMED_OUT, UNMADE = "killed", "survived", "timed out", "could not be made"

_SECONDS = 60
_DEAD, _UNMADE = 9, 10


@dataclass
class Engine:
    """A plugin of pytest that runs the collected tests once, then each mutant against those that call it."""

    mutants: list[Mutant]
    jobs: int
    say: Callable[[str], None]
    results: dict[str, str] = field(default_factory=dict)
    killers: dict[str, list[int]] = field(default_factory=dict)
    called: dict[str, dict[int, float]] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    child: bool = False
    current: int = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests, then the mutants."""
        for name in {_module(mutant) for mutant in self.mutants}:
            _instrument(sys.modules[name])
        for number, item in enumerate(session.items):
            self._observe(number, item)
        self._control(session.items)
        left = f"{len(self.failed)} of them left out since they fail"
        self.say(f"{len(session.items)} tests in {time.process_time():.0f} s, {left}; {len(self.mutants)} mutants")
        self._all(session.items)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a test that fails; in a mutant it ends the process."""
        if report.failed and self.child:
            os._exit(_DEAD)
        # An expected failure says nothing about a mutant either.
        if report.failed or hasattr(report, "wasxfail"):
            self.failed.add(self.current)

    def _observe(self, number: int, item: pytest.Item) -> None:
        """Run a test and take note of the functions that it calls."""
        self.current, start = number, time.process_time()
        SEEN.clear()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        for name in SEEN:
            self.called.setdefault(name, {})[number] = time.process_time() - start

    def _control(self, items: list[pytest.Item]) -> None:
        """Leave out the tests that fail in a fork in which nothing was changed, such as one that minds being run twice."""
        code = _DEAD
        while code == _DEAD:
            reading, pid = self._born(None, items)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code == _DEAD:
                self.failed.add(_last(reading))
        if code:
            raise RuntimeError(f"the tests do not come to their end in a fork in which nothing was changed: {code}")

    def _all(self, items: list[pytest.Item]) -> None:
        """Run the mutants, so many at a time."""
        waiting = list(reversed(self.mutants))
        running: dict[int, tuple[Mutant, int]] = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                reading, pid = self._born(mutant, items)
                running[pid] = (mutant, reading)
            pid, status = os.wait()
            self._buried(*running.pop(pid), os.waitstatus_to_exitcode(status))

    def _buried(self, mutant: Mutant, reading: int, code: int) -> None:
        self.results[mutant.name] = {0: SURVIVED, _DEAD: KILLED, _UNMADE: UNMADE}.get(code, TIMED_OUT)
        last = _last(reading)
        if code == _DEAD:
            self.killers.setdefault(_key(mutant), []).insert(0, last)
        if code in (0, _UNMADE):
            self.say(f"{self.results[mutant.name]}: {mutant.name}")
        if len(self.results) % 50 == 0:
            self.say(f"{len(self.results)} of {len(self.mutants)}")

    def _born(self, mutant: Mutant | None, items: list[pytest.Item]) -> tuple[int, int]:
        """Fork; return where the numbers of the tests that run there can be read, and the process."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._live(mutant, items, writing)
            finally:
                os._exit(_UNMADE)
        os.close(writing)
        return reading, pid

    def _live(self, mutant: Mutant | None, items: list[pytest.Item], writing: int) -> None:
        """Be a mutant: run the tests that call it until one fails."""
        self.child = True
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        order = list(range(len(items)))
        if mutant is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
            apply(mutant)
            order = self._order(mutant)
        with contextlib.suppress(BaseException):
            for number in order:
                if number not in self.failed:
                    os.write(writing, b"%d " % number)
                    items[number].config.hook.pytest_runtest_protocol(item=items[number], nextitem=None)
            os._exit(0)
        os._exit(_DEAD)

    def _order(self, mutant: Mutant) -> list[int]:
        """Return the tests to run: all for a constant, else those that call the function; killers first, then the fast ones."""
        times = self.called.get(_key(mutant), {})
        if not mutant.where.rpartition(".")[2].islower() or _is_constant(mutant):
            times = {number: spent for known in self.called.values() for number, spent in known.items()}
        killers = list(dict.fromkeys(self.killers.get(_key(mutant), [])))
        rest = sorted(times, key=lambda number: times[number])
        return list(dict.fromkeys([*killers, *rest]))


def _last(reading: int) -> int:
    """Return the number of the test that was begun last, as a fork wrote it."""
    numbers = os.read(reading, 1_000_000).split()
    os.close(reading)
    return int(numbers[-1]) if numbers else -1


SEEN: set[str] = set()
"""The functions that the test at hand has called so far."""


def _instrument(module: ModuleType) -> None:
    """Let each function of a module say that it is called."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    for where, node in places(tree):
        if isinstance(node, ast.FunctionDef):
            say = f"__import__({__name__!r}, fromlist=['SEEN']).SEEN.add({module.__name__ + ':' + where!r})"
            node.body.insert(0, ast.parse(say).body[0])
    codes = dict(_codes(compile(ast.fix_missing_locations(tree), str(module.__file__), "exec")))
    for where, function in _functions(module).items():
        function.__code__ = codes.get(where, function.__code__)


def _module(mutant: Mutant) -> str:
    return mutant.module.replace("/", ".").removesuffix(".py")


def _key(mutant: Mutant) -> str:
    return f"{_module(mutant)}:{mutant.where}"


def _is_constant(mutant: Mutant) -> bool:
    return not any(
        isinstance(node, ast.FunctionDef) and node.name == mutant.where.rpartition(".")[2] for node in ast.walk(mutant.tree)
    )


def apply(mutant: Mutant) -> None:
    """Make a mutant in this process."""
    module = sys.modules[_module(mutant)]
    mutant.change()
    if _is_constant(mutant):
        _rebind(module, mutant)
    else:
        _recode(module, mutant)
    # What was judged before, by the code that is no mutant, is forgotten; what was read stays.
    for known in [known for name, known in sys.modules.items() if name.startswith("capture.") and name != "capture.document"]:
        for value in list(vars(known).values()):
            if hasattr(value, "cache_clear") and value.__module__ != "capture.document":
                value.cache_clear()


def _rebind(module: ModuleType, mutant: Mutant) -> None:
    """Give a constant its new value, wherever it was imported."""
    node = next(
        part
        for part in mutant.tree.body
        if (isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == mutant.where)
        or (isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == mutant.where)
    )
    expression = ast.fix_missing_locations(ast.Expression(node.value or ast.Constant(None)))
    old, new = getattr(module, mutant.where), eval(compile(expression, "mutant", "eval"), vars(module))
    for known in list(sys.modules.values()):
        if vars(known).get(mutant.where) is old:
            setattr(known, mutant.where, new)


def _recode(module: ModuleType, mutant: Mutant) -> None:
    """Give each function of a module the code that it has in the mutant."""
    codes = dict(_codes(compile(ast.fix_missing_locations(mutant.tree), str(module.__file__), "exec")))
    function = _functions(module)[mutant.where]
    function.__code__ = codes[mutant.where]
    node = next(node for node in ast.walk(mutant.tree) if isinstance(node, ast.FunctionDef) and node.name == function.__name__)
    with contextlib.suppress(ValueError):
        function.__defaults__ = tuple(ast.literal_eval(value) for value in node.args.defaults) or None
        words = {
            part.arg: ast.literal_eval(value)
            for part, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if value
        }
        function.__kwdefaults__ = words or None


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part.co_qualname, part
            yield from _codes(part)


def _functions(module: ModuleType) -> dict[str, FunctionType]:
    """Return the functions and methods of a module by qualified name, whatever they are wrapped in."""
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    parts = [part for value in own for part in (vars(value).values() if isinstance(value, type) else [value])]
    found = [_unwrapped(part) for part in parts]
    return {part.__qualname__: part for part in found if isinstance(part, FunctionType)}


def _unwrapped(part: Any) -> Any:
    if isinstance(part, property):
        return part.fget
    if isinstance(part, cached_property):
        return part.func
    return getattr(part, "__wrapped__", part)
