"""What changed between two results: empty against itself, the same from both sides, and never a change where nobody can tell."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from capture import acceptance, baseline, document, library, results
from capture.acceptance import Accepted
from capture.diff import diff
from capture.document import Document
from capture.errors import InputRefused
from capture.render import changes, markdown
from tests.comparisons import FAIL, NONE, PASS, UNKNOWN, case, claim, documents, observed, pin, row, smoked, unbuilt, written
from tests.conftest import Command

NAME = "decisions/edit"


def between(before: dict[str, Any], after: dict[str, Any]) -> Document:
    """Return the difference of two cases, each the only one of its pin, after checking that it fits its schema."""
    found = diff(written(pin("a", before)), written(pin("b", after)))
    document.check(found, "difference", "difference")
    return found


def status(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str]:
    """Return what became of a case, and the answer."""
    found = between(before, after)
    entries = found["pins"][0]["cases"]
    return (entries[0]["status"] if entries else "unchanged"), found["answer"]


def mirrored(found: Document) -> Document:
    """Return a difference seen from the other side."""
    turned: Document = _mirrored(found)
    return turned


def _mirrored(value: Any) -> Any:
    if isinstance(value, list):
        return [_mirrored(part) for part in value]
    if not isinstance(value, Mapping):
        return {"added": "removed", "removed": "added"}.get(value, value) if isinstance(value, str) else value
    turned = {key: _mirrored(part) for key, part in value.items()}
    for one, other in (("before", "after"), ("added", "removed")):
        if one in turned:
            turned[one], turned[other] = turned[other], turned[one]
    return turned


@settings(derandomize=True, deadline=None, max_examples=20)
@given(documents(), documents())
def test_what_is_drawn_is_results_and_what_comes_of_it_fits_its_schema(before: Document, after: Document) -> None:
    """The documents of the properties below are accepted by the reader of results, and their difference fits its schema."""
    assert [results.read(document.canonical(found), "drawn") for found in (before, after)] == [before, after]
    document.check(diff(before, after), "difference", "difference")


@settings(derandomize=True, deadline=None)
@given(documents())
def test_nothing_differs_from_itself(found: Document) -> None:
    """diff(a, a) is empty, whatever is UNKNOWN in a; with no case at all it is no answer."""
    difference = diff(found, found)
    assert [entry for compared in difference["pins"] for entry in compared["cases"]] == []
    assert difference["answer"] == ("unchanged" if difference["counts"]["unchanged"] else "not known")
    assert difference["counts"]["unchanged"] == sum(len(known["cases"]) for known in found["pins"])


@settings(derandomize=True, deadline=None)
@given(documents(), documents())
def test_a_difference_is_the_same_from_both_sides(before: Document, after: Document) -> None:
    """diff(a, b) mirrors diff(b, a), in canonical bytes, and what is rendered of it has no character that steers a terminal."""
    found = diff(before, after)
    assert document.canonical(mirrored(found)) == document.canonical(diff(after, before))
    assert markdown.difference(found).replace("\n", "").isprintable()


@settings(derandomize=True, deadline=None)
@given(documents(), documents())
def test_every_case_has_become_something(before: Document, after: Document) -> None:
    """Each case of either side is counted once, and a change is one only where both sides could be seen."""
    for compared in diff(before, after)["pins"]:
        names = {*_cases(before, compared["before"]), *_cases(after, compared["after"])}
        assert sum(compared["counts"].values()) == len(names)
        assert {*compared["unchanged"], *(entry["case"] for entry in compared["cases"])} == names
        for entry in compared["cases"]:
            reasons = {entry[key]["reason"] for key in ("before", "after") if entry[key]}
            assert entry["status"] != "changed" or not reasons & {"environment", "smoke"}


def _cases(found: Document, name: str | None) -> list[str]:
    return [known["case"] for compared in found["pins"] if compared["pin"] == name for known in compared["cases"]]


OTHER = [{"tool": "delete", "args": {"bill": "A"}}]


@pytest.mark.parametrize(
    ("before", "after", "became"),
    [
        (case(NAME), case(NAME), ("unchanged", "unchanged")),
        (case(NAME), case(NAME, claim("core/one@1", FAIL)), ("changed", "changed")),
        (case(NAME, claim("core/one@1", FAIL)), case(NAME, claim("core/one@1", FAIL, observed=1)), ("changed", "changed")),
        (case(NAME), case(NAME, rows=[row(dispatched=OTHER)]), ("changed", "changed")),
        (case(NAME), case(NAME, rows=[row(dispatched=[])]), ("changed", "changed")),
        (case(NAME), case(NAME, rows=[row(), row("d")]), ("changed", "changed")),
        (case(NAME), case(NAME, rows=[row(kept=None)]), ("changed", "changed")),
        (case(NAME), case(NAME, rows=[row(reported=[{"status": "error", "content": "paid"}])]), ("changed", "changed")),
        (case(NAME), case(NAME, rows=[row(reported=[{"status": "success", "content": "done"}])]), ("detail", "unchanged")),
        (
            case(NAME),
            case(NAME, observations=observed([row()], told=[{"call": "c", "status": "success", "content": "x"}])),
            ("detail", "unchanged"),
        ),
        (case(NAME), case(NAME, observations=observed([row()], dispatches=2)), ("changed", "changed")),
        (case(NAME), case(NAME, digest="b"), ("not comparable", "not known")),
        (case(NAME), case(NAME, claim("core/one@2")), ("not comparable", "not known")),
        (case(NAME), case(NAME, claim("core/one@1"), claim("core/two@1")), ("not comparable", "not known")),
        (case(NAME), case(NAME, claim("core/one@1"), claim("core/two@1", FAIL)), ("not comparable", "not known")),
        (
            case(NAME, claim("core/one@1"), claim("core/two@1")),
            case(NAME, claim("core/one@1", FAIL), claim("core/two@2")),
            ("changed", "changed"),
        ),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "timeout"), rows=[]), ("hidden", "not known")),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "error")), ("hidden", "not known")),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "unobservable"), rows=[]), ("hidden", "not known")),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "ambiguous")), ("hidden", "not known")),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "ambiguous"), rows=[row(dispatched=OTHER)]), ("changed", "changed")),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "unsupported")), ("changed", "changed")),
        (case(NAME), case(NAME, claim("core/one@1", UNKNOWN, "unfinished")), ("changed", "changed")),
        (case(NAME), case(NAME, claim("core/one@1", NONE)), ("changed", "changed")),
        (case(NAME), unbuilt(NAME), ("hidden", "not known")),
        (case(NAME, claim("core/one@1", FAIL)), unbuilt(NAME), ("hidden", "not known")),
        (unbuilt(NAME), unbuilt(NAME), ("unchanged", "unchanged")),
        (case(NAME), smoked(case(NAME)), ("hidden", "not known")),
        (case(NAME), smoked(case(NAME, claim("core/one@1", FAIL))), ("hidden", "not known")),
        (
            case(NAME, claim("core/one@1", FAIL), claim("core/two@1")),
            case(NAME, claim("core/one@1", FAIL), claim("core/two@1", UNKNOWN, "timeout"), rows=[]),
            ("hidden", "not known"),
        ),
        (
            case(NAME, claim("core/one@1"), claim("core/two@1")),
            case(NAME, claim("core/one@1", FAIL), claim("core/two@1", UNKNOWN, "timeout"), rows=[]),
            ("changed", "changed"),
        ),
        (case(NAME), case("decisions/approve"), ("added", "not known")),
    ],
)
def test_what_became_of_a_case(before: dict[str, Any], after: dict[str, Any], became: tuple[str, str]) -> None:
    """A change is what ran, was shown, stored, kept or answered otherwise, or another verdict; what hides an answer is none."""
    assert status(before, after) == became


def test_the_evidence_stands_side_by_side() -> None:
    """A changed case has verdict, reason, row and outcomes of both sides, its changed claims, and what differs by name."""
    ran = row(dispatched=OTHER)
    after = case(NAME, claim("core/one@1", FAIL, observed="x"), claim("core/two@1"), rows=[ran])
    (entry,) = between(case(NAME, claim("core/one@1"), claim("core/two@1")), after)["pins"][0]["cases"]
    assert (entry["before"]["verdict"], entry["after"]["verdict"]) == (PASS, FAIL)
    assert entry["differs"] == ["verdict", "dispatched", "received"]
    assert [found["claim"] for found in entry["claims"]] == ["core/one@1"]
    assert entry["unchanged"] == ["core/two@1"]
    assert entry["calls"] == [{"call": "c", "differs": ["dispatched"], "before": row(), "after": ran}]
    assert list(changes.evidence(entry)) == [
        ("verdict", "PASS", "FAIL"),
        ("core/one@1", "PASS", 'FAIL: at dispatch/x/1 expected nothing, observed "x"'),
        ("c, dispatched", 'pay({"bill": "A"})', 'delete({"bill": "A"})'),
        ("received", 'pay({"bill": "A"})', 'delete({"bill": "A"})'),
    ]


def test_long_words_are_shown_where_they_differ() -> None:
    """Of two long tool messages the part is shown in which they begin to differ."""
    told = [[{"status": "success", "content": "same " * 100 + end + " rest" * 100}] for end in ("one", "two")]
    (entry,) = between(*(case(NAME, rows=[row(reported=said)]) for said in told))["pins"][0]["cases"]
    ((what, before, after),) = [found for found in changes.evidence(entry) if found[0] == "c, words"]
    assert (what, before[:1], before[-1:]) == ("c, words", "…", "…")
    assert ("one" in before, "two" in after) == (True, True)


def test_pins_are_paired_by_name_or_one_to_one() -> None:
    """One pin is compared with one, whatever their names; of several, those with the same name, in the order of versions."""
    single = diff(written(pin("x-1.4.2", case(NAME))), written(pin("x-1.4.10", case(NAME))))
    assert [(found["before"], found["after"]) for found in single["pins"]] == [("x-1.4.2", "x-1.4.10")]
    left = written(pin("x-1.4.10", case(NAME)), pin("x-1.4.2", case(NAME)))
    right = written(pin("x-1.4.2", case(NAME)), pin("x-1.5.0", case(NAME)))
    several = diff(left, right)
    pairs = [(found["before"], found["after"]) for found in several["pins"]]
    assert pairs == [("x-1.4.2", "x-1.4.2"), ("x-1.4.10", None), (None, "x-1.5.0")]
    assert (several["answer"], several["counts"]["added"], several["counts"]["removed"]) == ("not known", 1, 1)


def test_text_from_results_is_harmless() -> None:
    """Escapes, markup and pipes in results are shown as text in Markdown."""
    hostile = "\x1b[31m<script>alert(1)</script> | `x` \u202e\n# head"
    found = between(case(NAME), case(NAME, rows=[row(hostile, hostile, reported=[{"status": hostile, "content": hostile}])]))
    shown = markdown.difference(found)
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\n# head" not in shown
    assert all(line.count("|") - line.count("\\|") == 4 for line in shown.splitlines() if line.startswith("|"))


# --- a baseline, and what is accepted

ACCEPTED = Accepted(NAME, "core/one@1", "we know")


@pytest.mark.parametrize(
    ("before", "after", "accepted", "answer"),
    [
        (case(NAME, claim("core/one@1", FAIL)), case(NAME, claim("core/one@1", FAIL)), (), "unchanged"),
        (case(NAME), case(NAME, claim("core/one@1", FAIL)), (), "changed"),
        (case(NAME), case(NAME, claim("core/one@1", FAIL)), (ACCEPTED,), "unchanged"),
        (case(NAME), case(NAME, claim("core/one@1", FAIL), claim("core/two@1", FAIL)), (ACCEPTED,), "changed"),
        (case(NAME, claim("core/one@1", FAIL)), case(NAME), (ACCEPTED,), "changed"),
        (case(NAME, claim("core/one@1", FAIL)), case(NAME, claim("core/one@1", FAIL), rows=[]), (ACCEPTED,), "changed"),
        (case("decisions/approve"), case(NAME, claim("core/one@1", FAIL)), (), "changed"),
        (case("decisions/approve"), case(NAME, claim("core/one@1", FAIL)), (ACCEPTED,), "not known"),
        (case("decisions/approve"), case(NAME), (), "not known"),
        (case(NAME, claim("core/one@1", FAIL), digest="b"), case(NAME, claim("core/one@1", FAIL)), (), "changed"),
        (case(NAME, claim("core/one@1", UNKNOWN, "timeout")), case(NAME, claim("core/one@1", FAIL)), (), "changed"),
        (case(NAME, claim("core/one@1", UNKNOWN, "timeout")), case(NAME), (), "not known"),
    ],
)
def test_what_breaks_a_build(before: dict[str, Any], after: dict[str, Any], accepted: tuple[Accepted, ...], answer: str) -> None:
    """What is known or accepted breaks nothing; a change does, and so does a FAIL that nobody knew."""
    found = baseline.against(written(pin("a", before)), written(pin("b", after)), accepted)
    document.check(found, "difference", "difference")
    assert found["answer"] == answer
    assert markdown.difference(found)


@pytest.mark.parametrize(
    ("before", "after", "accepted", "answer"),
    [
        (case(NAME), case(NAME, claim("core/one@1", FAIL)), (ACCEPTED,), "unchanged"),
        (case(NAME), case(NAME, claim("core/one@1", FAIL), rows=[row(dispatched=OTHER)]), (ACCEPTED,), "unchanged"),
        (case(NAME), case(NAME, claim("core/one@1", FAIL)), (Accepted(NAME, "core/one@1", "we know", "a"),), "changed"),
        (case(NAME), case(NAME, rows=[row(dispatched=OTHER)]), (ACCEPTED,), "changed"),
        (case(NAME, claim("core/one@1", FAIL)), case(NAME), (ACCEPTED,), "changed"),
        (case("decisions/approve"), case(NAME, claim("core/one@1", FAIL)), (), "not known"),
        (case(NAME), unbuilt(NAME), (ACCEPTED,), "not known"),
    ],
)
def test_a_change_that_is_accepted(
    before: dict[str, Any], after: dict[str, Any], accepted: tuple[Accepted, ...], answer: str
) -> None:
    """Of two sides a change is no more if it is that of FAILs that are accepted at the second; nothing else is excused."""
    found = baseline.accepting(written(pin("a", before)), written(pin("b", after)), accepted)
    document.check(found, "difference", "difference")
    assert found["answer"] == answer
    assert markdown.difference(found)


@settings(derandomize=True, deadline=None)
@given(documents(), documents())
def test_where_nothing_is_accepted_the_answer_is_that_of_the_difference(before: Document, after: Document) -> None:
    """A file of accepted FAILs that is empty changes no answer."""
    assert baseline.accepting(before, after, ())["answer"] == diff(before, after)["answer"]


@pytest.mark.parametrize(
    ("meant", "holds"),
    [
        (None, True),
        ("langchain-1.4.2", True),
        ("langchain-1.4.1", False),
        ("langchain<1.5", True),
        ("LangChain==1.4.*", True),
        ("langchain<1.4.2", False),
        ("langgraph<2", False),
    ],
)
def test_an_accepted_fail_holds_at_the_pins_that_are_meant(meant: str | None, holds: bool) -> None:
    """A FAIL is accepted at all pins, at one by name, or at those whose packages meet a requirement; else it is FAIL."""
    found = written(pin("langchain-1.4.2", case(NAME, claim("core/one@1", FAIL)), version="1.4.2"))
    accepted = (Accepted(NAME, "core/one@1", "we know", meant),)
    assert acceptance.left(accepted, found) == (set() if holds else {FAIL})
    assert acceptance.report(accepted, found)[0]["stands"] == ("FAILs" if holds else "not run")


def test_a_version_that_is_none_is_no_pin_that_is_meant() -> None:
    """What results call a version may be none; then no requirement is met by it."""
    found = pin("x", case(NAME, claim("core/one@1", FAIL)), version="unknown")
    assert not Accepted(NAME, "core/one@1", "r", "langchain<9").holds_at(found)


@pytest.mark.parametrize(
    ("found", "stands"),
    [
        (case(NAME, claim("core/one@1", FAIL)), "FAILs"),
        (case(NAME), "no longer FAILs"),
        (case(NAME, claim("core/one@1", UNKNOWN, "timeout")), "UNKNOWN"),
        (unbuilt(NAME), "UNKNOWN"),
        (smoked(case(NAME, claim("core/one@1", FAIL))), "UNKNOWN"),
        (case("decisions/approve"), "not run"),
        (case(NAME, claim("core/one@2", FAIL)), "not run"),
    ],
)
def test_what_became_of_an_accepted_fail(found: dict[str, Any], stands: str) -> None:
    """One that no longer FAILs is told from one that nobody can tell, and from one that was not run or is another version."""
    assert acceptance.report((ACCEPTED,), written(pin("a", found)))[0]["stands"] == stands


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("accepted = 1", "key accepted"),
        ("[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one@1'", "the key 'reason' is missing"),
        ("[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one@1'\nreason = ' '", "key accepted.0.reason"),
        ("[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one'\nreason = 'x'", "key accepted.0.claim"),
        ("[[accepted]]\ncase = 'edit'\nclaim = 'core/one@1'\nreason = 'x'", "key accepted.0.case"),
        ("[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one@1'\nreason = 'x'\nmore = 1", "unknown key 'more'"),
        ("[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one@1'\nreason = 'x'\npin = 'a b'", "'a b' is no name for a pin"),
        ("[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one@1'\nreason = 'x'\npin = 'x[y]<2'", "is no name for a pin"),
        (2 * "[[accepted]]\ncase = 'decisions/edit'\nclaim = 'core/one@1'\nreason = 'x'\n", "accepted twice"),
        ("[[accepted]", "not TOML"),
    ],
)
def test_a_file_of_accepted_fails_that_cannot_be_meant_is_refused(text: str, says: str, tmp_path: Path) -> None:
    """An accepted FAIL without a reason, of no claim's version, or for pins that cannot be meant is refused with its key."""
    path = tmp_path / "accepted.toml"
    path.write_text(text)
    with pytest.raises(InputRefused) as refusal:
        acceptance.read(path)
    assert str(path) in refusal.value.message
    assert says in refusal.value.message


def test_a_file_of_accepted_fails_may_be_empty(tmp_path: Path) -> None:
    """Once nothing FAILs any more, the file may stay."""
    path = tmp_path / "accepted.toml"
    path.write_text("# nothing\n")
    assert acceptance.read(path) == ()


# --- the command line

PUBLISHED = library.records_folder() / "i05" / "r1"


def test_two_pins_are_run_and_compared(command: Command) -> None:
    """A change from one pin to another exits 1, names what changed, and is the difference of their results."""
    done = command("diff", "langchain-1.4.1", "langchain-1.4.2", "--case", NAME)
    found = json.loads(done.stdout)
    (entry,) = found["pins"][0]["cases"]
    assert (done.returncode, entry["before"]["verdict"], entry["after"]["verdict"]) == (1, FAIL, PASS)
    assert {"checkpointed", "kept"} <= set(entry["differs"])
    assert {fact["name"] for fact in found["pins"][0]["packages"]} == {"langchain"}
    assert "saved in" in done.stderr


def test_a_change_from_pin_to_pin_may_be_accepted(command: Command, tmp_path: Path) -> None:
    """Of a release that runs what was rejected the change exits 1; with the FAIL accepted 0, and the reason is shown."""
    asked = ("diff", "langchain-1.3.2", "langchain-1.3.3", "--case", "policy/when-true-then-false-rejected")
    refused = command(*asked)
    claims = [claim["claim"] for claim in json.loads(refused.stdout)["pins"][0]["cases"][0]["claims"]]
    assert (refused.returncode, len(claims)) == (1, 2), refused.stderr
    entries = [f"[[accepted]]\ncase = '{asked[-1]}'\nclaim = '{name}'\nreason = 'our predicates are pure'\n" for name in claims]
    (tmp_path / "accepted.toml").write_text("\n".join(entries))
    (tmp_path / "fewer.toml").write_text(entries[0])
    accepted = command(*asked, "--accept", "accepted.toml", "--format", "markdown")
    assert (accepted.returncode, accepted.stdout.count("our predicates are pure")) == (0, 4), accepted.stderr
    assert command(*asked, "--accept", "fewer.toml").returncode == 1


def test_saved_results_and_a_pin_are_compared(command: Command) -> None:
    """Saved results and their own pin are the same; the cases that were saved are those that are run."""
    saved = command("run", "--pin", "i05", "--case", "decisions/edit", "--case", "decisions/approve", "--out", "saved")
    assert saved.returncode == 0, saved.stderr
    done = command("diff", "./saved", "i05")
    assert (done.returncode, json.loads(done.stdout)["counts"]["unchanged"]) == (0, 2), done.stderr


def test_saved_results_are_compared_and_nothing_is_run(command: Command, tmp_path: Path) -> None:
    """A results file is compared with a copy, a folder that has one, and one that lacks a case: 0, 0, 3."""
    (tmp_path / "copy.json").write_bytes((PUBLISHED / "results.json").read_bytes())
    lacking = json.loads((PUBLISHED / "results.json").read_bytes())
    lacking["pins"][0]["cases"].pop()
    for counts in (lacking["counts"], lacking["pins"][0]["counts"]):
        counts["PASS"] -= 1
    (tmp_path / "less.json").write_bytes(document.canonical(lacking))
    for form in ("text", "markdown", "json"):
        codes = [
            command("diff", PUBLISHED, other, "--format", form).returncode for other in ("copy.json", "./copy.json", "less.json")
        ]
        assert codes == [0, 0, 3]
    assert command("diff", PUBLISHED, "less.json", "--case", NAME).returncode == 0


def test_a_run_against_a_baseline(command: Command, tmp_path: Path) -> None:
    """What a baseline knows breaks no build; a change does, unless its FAILs are accepted; one that is gone is reported."""
    base = tmp_path / "base"
    arguments = ("run", "--pin", "langchain-1.4.1", "--case", NAME)
    assert command(*arguments, "--out", base).returncode == 1
    same = command(*arguments, "--against", "./base")
    assert (same.returncode, json.loads(same.stdout)["answer"]) == (0, "unchanged")
    upgraded = command("run", "--pin", "langchain-1.4.2", "--case", NAME, "--against", "base/results.json", "--format", "text")
    assert (upgraded.returncode, "Something changed." in upgraded.stdout) == (1, True)
    fails = [found["claim"] for found in json.loads((base / "results.json").read_bytes())["pins"][0]["cases"][0]["claims"]]
    accepted = [f"[[accepted]]\ncase = '{NAME}'\nclaim = '{name}'\nreason = 'we know'\n" for name in fails]
    (tmp_path / "accepted.toml").write_text("\n".join(accepted))
    lenient = command(*arguments, "--accept", "accepted.toml", "--format", "markdown")
    assert (lenient.returncode, "no longer FAILs" in lenient.stdout) == (0, True)


def test_the_schema_is_that_of_what_is_printed(command: Command) -> None:
    """With --against, run prints a difference, and --schema its schema, in whichever order they stand."""
    for arguments in (("--schema", "--against", "x"), ("--against=x", "--schema")):
        assert json.loads(command("run", *arguments).stdout)["$id"] == "difference.schema.json"
    assert json.loads(command("run", "--schema").stdout)["$id"] == "results.schema.json"
    assert json.loads(command("diff", "--schema").stdout)["$id"] == "difference.schema.json"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("diff", "i05"), 2, "Missing argument 'B'"),
        (("diff", "none.json", "i05"), 4, "none.json: there is no such file"),
        (("diff", "bad.json", "bad.json"), 4, "bad.json: not JSON"),
        (("diff", "no-such-pin", "i05"), 4, "there is no such pin"),
        (("diff", "./empty", "i05"), 4, "empty/pin.toml: there is no such file"),
        (("diff", "./broken", "i05"), 4, "the run in this folder did not come to its end"),
        (("diff", "many.json", "other.json"), 4, "none of its pins is on the other side"),
        (("diff", "many.json", "i05"), 4, "none of its pins is on the other side"),
        (("diff", "strange.json", "i05"), 4, "the suite has none of the cases"),
        (("diff", "many.json", "i05", "--case", "none/such"), 4, "there is no such case or family"),
        (("run", "--pin", "i05", "--against", "i05"), 4, "neither a results file nor the folder of a run"),
        (("run", "--pin", "i05", "--against", "many.json"), 4, "none of its pins is on the other side"),
        (("run", "--pin", "i05", "--accept", "none.toml"), 4, "none.toml: there is no such file"),
        (("diff", "i05", "langchain-1.4.2", "--accept", "none.toml"), 4, "none.toml: there is no such file"),
        (("diff", "i05", "langchain-1.4.2", "--accept", "./empty/pin.toml"), 4, "there is no such file"),
        (("run", "--pin", "i05", "--against", "many.json", "--format", "junit"), 2, "give one of them"),
        (("transitions", "i05"), 4, "neither a results file nor the folder of a run"),
        (("transitions", "bad.json"), 4, "bad.json: not JSON"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_what_cannot_be_compared_is_refused(
    arguments: tuple[str, ...], code: int, says: str, command: Command, tmp_path: Path
) -> None:
    """Bad input ends with its code and one sentence, nothing on standard output, and no traceback."""
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text('{"run": 1, "started": ""}')
    (tmp_path / "many.json").write_bytes(document.canonical(written(pin("x", case(NAME)), pin("y", case(NAME)))))
    (tmp_path / "other.json").write_bytes(document.canonical(written(pin("z", case(NAME)))))
    (tmp_path / "strange.json").write_bytes(document.canonical(written(pin("i05", case("no/such")))))
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "running" not in done.stderr
