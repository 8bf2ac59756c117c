"""The sides of a comparison: saved results, the folder of a run, or a pin or lock at which the cases are run."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capture import demand, document, results, run_folder, runs
from capture.baseline import fitting
from capture.case import Case, all_cases, contained, find
from capture.document import Document
from capture.errors import InputRefused
from capture.interpreter import Interpreter
from capture.pin import Pin, refuse_twice
from capture.target import Kind, kind

__all__ = ["Sides", "of", "read", "saved"]


@dataclass(frozen=True)
class Sides:
    """What is compared, and the folder of the run if one was needed for it."""

    before: Document
    after: Document
    folder: Path | None


def read(target: str) -> Document:
    """Return the results in a file or in the folder of a run; anything else is refused."""
    found = saved(target)
    if found is None:
        raise InputRefused(
            f"{target}: neither a results file nor the folder of a run.", "Give a results.json, or a run's folder as ./FOLDER."
        )
    return found


def saved(target: str) -> Document | None:
    """Return the results that a target has saved, or None if the cases are to be run there: at a pin, or at a lock."""
    path = Path(target)
    match kind(target):
        case Kind.FOLDER:
            return _of_folder(path)
        case Kind.RESULTS:
            return results.read(document.read(path), target)
        case _:
            return None


def of(targets: tuple[str, str], cases: Sequence[str], python: Callable[[], Interpreter], folder: Callable[[], Path]) -> Sides:
    """Return both sides, with the cases run at those that are pins: those named, else those of the other side, else all."""
    known = {target: saved(target) for target in targets}
    chosen = find(cases) if cases else None
    there = {target: found for target, found in known.items() if found is not None}
    wanted = [target for target in known if target not in there]
    run = None
    if wanted:
        interpreted = python()
        named = dict(zip(wanted, demand.find_each(wanted, interpreted), strict=True))
        for target, found in there.items():
            fitting(found, [known.name for known in named.values()], None, target)  # refused before anything is run
        suite = chosen or _suite(list(there.values()))
        run = runs.run_pins(_once(named.values()), lambda: suite, runs.Plan(interpreted, folder()))
        rows = {row["pin"]: row for row in run.results["pins"]}
        there |= {target: results.build([rows[known.name]]) for target, known in named.items()}
    ids = {case.id for case in chosen} if chosen else None
    before, after = targets
    sides = [_fitting(there, *pair, ids, whole=pair[1] not in wanted) for pair in ((before, after), (after, before))]
    return Sides(sides[0], sides[1], run.folder if run else None)


def _once(pins: Iterable[Pin]) -> list[Pin]:
    """Return pins without those that are there already: two locks with the same lines are one pin, and it is run once."""
    found: list[Pin] = []
    for known in pins:
        if known not in found:
            found.append(known)
    refuse_twice(known.name for known in found)
    return found


def _fitting(known: Mapping[str, Document], target: str, other: str, cases: Collection[str] | None, *, whole: bool) -> Document:
    """Return a side with the chosen cases; pins that the other side lacks are left out unless it is as `whole` as it was saved."""
    names = [{pin["pin"] for pin in known[side]["pins"]} for side in (target, other)]
    found = fitting(known[target], names[1], cases, target)
    return found if not whole else results.narrowed(known[target], names[0], _cases(known[target]) if cases is None else cases)


def _cases(found: Document) -> set[str]:
    return {case["case"] for pin in found["pins"] for case in pin["cases"]}


def _of_folder(folder: Path) -> Document | None:
    path = folder / "results.json"
    if run_folder.is_run(folder):
        run_folder.refuse_unfinished(folder)
    return results.read(document.read(path), str(path)) if path.exists() else None


def _suite(known: Sequence[Document]) -> list[Case]:
    """Return the cases of the suite that saved results have, or all of it if nothing is saved."""
    if not known:
        return contained()
    suite = all_cases()
    names = set().union(*map(_cases, known))
    shared = [case for case in suite if case.id in names]
    if not shared:
        raise InputRefused("diff: the suite has none of the cases that were saved.", "Name the cases to run with --case.")
    return shared
