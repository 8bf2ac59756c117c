"""The sides of a comparison: saved results, the folder of a run, or a pin at which the cases are run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capture import demand, document, results, run_folder, runs
from capture.baseline import fitting
from capture.case import Case, all_cases, find
from capture.document import Document
from capture.errors import InputRefused
from capture.interpreter import Interpreter

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
    """Return the results that were saved under a name, or None if it can only be a pin's: its name, or its folder."""
    path = Path(target)
    if "/" in target and path.is_dir():
        return _of_folder(path)
    return results.read(document.read(path), target) if "/" in target or target.endswith(".json") else None


def of(targets: tuple[str, str], cases: Sequence[str], python: Callable[[], Interpreter], folder: Callable[[], Path]) -> Sides:
    """Return both sides, with the cases run at those that are pins: those named, else those of the other side, else all."""
    known = {target: saved(target) for target in targets}
    chosen = find(cases) if cases else None
    there = {target: found for target, found in known.items() if found is not None}
    wanted = [target for target in known if target not in there]
    run = None
    if wanted:
        interpreted = python()
        named = demand.find_all(wanted, interpreted)
        for target, found in there.items():
            fitting(found, [pin.name for pin in named], None, target)  # refused before anything is run
        suite = chosen or _suite(list(there.values()))
        run = runs.run_pins(named, lambda: suite, runs.Plan(interpreted, folder()))
        there |= {target: results.build([row]) for target, row in zip(wanted, run.results["pins"], strict=True)}
    ids = {case.id for case in chosen} if chosen else None
    before, after = targets
    sides = [_fitting(there, *pair, ids, whole=pair[1] not in wanted) for pair in ((before, after), (after, before))]
    return Sides(sides[0], sides[1], run.folder if run else None)


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
    suite = all_cases()
    if not known:
        return suite
    names = set().union(*map(_cases, known))
    shared = [case for case in suite if case.id in names]
    if not shared:
        raise InputRefused("diff: the suite has none of the cases that were saved.", "Name the cases to run with --case.")
    return shared
