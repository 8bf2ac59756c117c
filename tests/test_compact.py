"""What several pins share stands once in results and histories, and nothing is lost or mixed up by that."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture import compact, document, histories, results
from capture.errors import InputRefused
from capture.record import find
from capture.saved import SavedHistory
from tests.comparisons import documents

Change = Callable[[dict[str, Any]], object]


@given(documents())
def test_results_are_the_same_when_they_are_read_again(found: dict[str, Any]) -> None:
    """The compact form holds everything, whatever pins share and whatever they lack."""
    saved = document.canonical(compact.pack(found))
    read = compact.unpack(json.loads(saved), "results.json")
    assert [pin["pin"] for pin in read["pins"]] == [pin["pin"] for pin in found["pins"]]
    for before, after in zip(found["pins"], read["pins"], strict=True):
        assert {key: after[key] for key in after if key != "cases"} == {key: before[key] for key in before if key != "cases"}
        assert by_case(after) == by_case(before)
    assert document.canonical(compact.pack(read)) == saved


def by_case(pin: dict[str, Any]) -> dict[str, bytes]:
    """Return the bytes of each case, in which true and 1 are not the same."""
    return {case["case"]: document.line(case) for case in pin["cases"]}


def received(name: str) -> list[dict[str, Any]]:
    """Return what a tool of this name received."""
    return [{"tool": name, "args": {}}]


def many(*verdicts: str) -> dict[str, Any]:
    """Return results of one published case at as many pins as there are names of states; equal names share a row."""
    published = find("i05").revision(None).file("results").read_bytes()
    found: dict[str, Any] = json.loads(published)
    (pin,) = found["pins"]
    case = pin["cases"][0]
    rows = {name: {**case, "observations": {**case["observations"], "received": received(name)}} for name in verdicts}
    counts = {"PASS": 1, "FAIL": 0, "UNKNOWN": 0}
    pins = [{**pin, "pin": f"p{number}", "cases": [rows[name]], "counts": counts} for number, name in enumerate(verdicts)]
    return dict(results.build(pins))


def test_a_state_names_the_pins_at_which_it_was_seen() -> None:
    """Neighbours are named by the first and the last of them."""
    (case,) = compact.pack(many("a", "a", "b", "a", "b", "b"))["cases"]
    assert [state["at"] for state in case["states"]] == [[["p0", "p1"], ["p3", "p3"]], [["p2", "p2"], ["p4", "p5"]]]


def test_only_results_of_several_pins_are_compact() -> None:
    """Those of one pin are published as they are, and what is no object at all is refused."""
    assert results.packed(many("a"))["results"] == 1
    assert results.packed(many("a", "a"))["results"] == compact.VERSION
    for data in (b"5", b'["cases"]', b"null"):
        with pytest.raises(InputRefused, match="must be of type object"):
            results.read(data, "results.json")


def test_what_is_shared_is_one_object_in_memory() -> None:
    """Reading results of many pins takes the memory of their different states."""
    read = results.read(document.canonical(results.packed(many("a", "a", "b"))), "results.json")
    first, second, third = (pin["cases"][0] for pin in read["pins"])
    assert (first is second, first is third, first["calls"] is third["calls"]) == (True, False, True)


def test_true_and_one_are_not_shared() -> None:
    """Python takes true for 1; as evidence they differ."""
    found = many("a", "b")
    for pin, value in zip(found["pins"], (True, 1), strict=True):
        seen = {"received": [], "middleware": [{"name": "x", "value": value}]}
        pin["cases"][0]["observations"] = {**pin["cases"][0]["observations"], **seen}
    read = compact.unpack(compact.pack(found), "results.json")
    values = [pin["cases"][0]["observations"]["middleware"][0]["value"] for pin in read["pins"]]
    assert (values[0] is True, values[1] is True) == (True, False)


def at(value: list[list[str]]) -> Change:
    """Return the change of where the first state was seen."""
    return lambda found: found["cases"][0]["states"][0].update(at=value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (at([["p0", "p9"]]), "there are no pins from p0 to p9"),
        (at([["p1", "p0"]]), "there are no pins from p1 to p0"),
        (at([["p0", "p2"]]), "two states at pin p2"),
        (at([["p0", "p0"], ["p0", "p0"]]), "two states at pin p0"),
        (lambda found: found["cases"][0]["states"][0].update(claims=7), "claims 7 is not among the values"),
        (lambda found: found["values"].pop("told"), "told 0 is not among the values"),
        (lambda found: found["cases"][0]["states"][0].update(claims=-1), "must be at least 0"),
        (lambda found: found["cases"][0]["states"][0].update(extra=1), "unknown key 'extra'"),
        (lambda found: found["cases"].append(found["cases"][0]), "decisions/approve stands twice"),
        (lambda found: found["values"].update(links=[[{"call": 1}]]), "case decisions/approve"),
        (lambda found: found["cases"].extend([found["cases"][0]] * 200_000), "pins times cases"),
        (lambda found: found["pins"][2].update(smoke="UNKNOWN"), "no history go together"),
        (lambda found: found["counts"].update(PASS=9), "counts does not count"),
        (lambda found: found["pins"].append(found["pins"][0]), "key pins: one of them stands twice"),
        (lambda found: found.update(results=3), "must be 2"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: Change, says: str) -> None:
    """A number, a pin or a state that cannot be is refused in one sentence with its place."""
    found: dict[str, Any] = json.loads(document.canonical(results.packed(many("a", "a", "b"))))
    change(found)
    with pytest.raises(InputRefused) as refused:
        results.read(document.canonical(found), "results.json")
    assert refused.value.message.startswith("results.json: ")
    assert says in refused.value.message


def seen_at(*pins: str) -> list[SavedHistory]:
    """Return what was published of I05 as if it had been seen at several pins."""
    path = find("i05").revision(None).file("history")
    found = SavedHistory.read(path.read_bytes(), str(path))
    return [SavedHistory({**found.environment, "pin": pin}, found.smoke, found.cases) for pin in pins]


def test_the_history_of_every_pin_can_be_had_from_the_shared_file() -> None:
    """Byte for byte, and what is shared stands once."""
    seen = seen_at("a", "b")
    lacking = SavedHistory({**seen[0].environment, "pin": "c"}, seen[0].smoke, seen[0].cases[1:3])
    data = histories.write([*seen, lacking])
    read = histories.read(data, "histories.jsonl")
    assert [(name, found.data()) for name, found in read.items()] == [
        (found.environment["pin"], found.data()) for found in (*seen, lacking)
    ]
    assert data.count(b'"kind":"prompt"') == 0
    assert data.count(b'"vantage":"review"') == len({line for line in seen[0].data().splitlines() if b'"vantage":"review"' in line})


def changed(data: bytes, number: int, change: Change) -> bytes:
    """Return a file of lines with one of them changed."""
    lines = data.splitlines(keepends=True)
    entry = json.loads(lines[number])
    change(entry)
    lines[number] = document.line(entry)
    return b"".join(lines)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda _: b"", "not JSON"),
        (lambda data: b"".join(data.splitlines(keepends=True)[:-1]), "other lines than its first one counts"),
        (lambda data: data + data.splitlines(keepends=True)[-1], "other lines than its first one counts"),
        (lambda data: data[:-20], "not JSON"),
        (lambda data: changed(data, 0, lambda head: head.update(lines=head["lines"] - 1)), "'lines' is missing"),
        (lambda data: changed(data, 0, lambda head: head.update(histories=2)), "must be 1"),
        (lambda data: changed(data, 0, lambda head: head.update(lines=10**30)), "key lines"),
        (lambda data: changed(data, -3, lambda case: case.update(lines=case["lines"] * 5000)), "is larger than"),
        (lambda data: changed(data, -1, lambda pin: pin["cases"].append(99)), "a number in it is that of nothing"),
        (lambda data: changed(data, -1, lambda pin: pin["environment"].update(pin="a")), "a pin stands twice"),
        (lambda data: changed(data, -1, lambda pin: pin["environment"].pop("files")), "'files' is missing"),
        (lambda data: changed(data, -3, lambda case: case["lines"].pop(0)), "'case' is missing"),
    ],
)
def test_a_shared_file_that_is_not_whole_is_refused(spoil: Callable[[bytes], bytes], says: str) -> None:
    """Cut, added to or changed: one sentence with file and line."""
    with pytest.raises(InputRefused) as refused:
        histories.read(spoil(histories.write(seen_at("a", "b"))), "histories.jsonl")
    assert refused.value.message.startswith("histories.jsonl")
    assert says in refused.value.message, refused.value.message


def test_a_line_inside_a_shared_case_is_checked_when_it_is_judged() -> None:
    """The lines of a case are read as strictly as those of a history file."""
    data = histories.write(seen_at("a"))
    spoiled = histories.read(data.replace(b'"kind":"end"', b'"kind":"fin"'), "histories.jsonl")
    with pytest.raises(InputRefused):
        spoiled["a"].cases[0].history()


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=12))
def test_any_order_of_states_is_read_back(names: list[str]) -> None:
    """A state may come and go."""
    found = many(*names)
    read = compact.unpack(deepcopy(compact.pack(found)), "results.json")
    assert [pin["cases"][0]["observations"]["received"] for pin in read["pins"]] == [received(name) for name in names]
