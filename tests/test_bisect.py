"""Bisection: the right release with few runs, whatever is unknown on the way; and at real releases, what a linear walk finds."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from capture import (
    asked,
    axis,
    bisection,
    case,
    constraints,
    document,
    environment,
    first_change,
    interpreter,
    pin,
    registry,
    results,
)
from capture import trial as trials
from capture.asked import Asked
from capture.axis import Axis, Release
from capture.bisection import Outcome, search
from capture.diff import diff
from capture.document import Document
from capture.errors import EnvironmentFailed, InputRefused, Unresolved
from capture.render import bisected, changes, markdown, terminal
from capture.trial import Trial
from capture.workers import Broken
from tests import comparisons
from tests.comparisons import FAIL, NONE, PASS, UNKNOWN, claim, row
from tests.conftest import Command

NAME = "decisions/edit"
TOGETHER = "per-call/together-one-invalid@async"

# --- the search

SILENT = st.sampled_from([True, False, False])


@st.composite
def turning(draw: st.DrawFn) -> list[str | None]:
    """Draw answers that change at most once, a to b, with holes anywhere."""
    before, after = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    return [None if draw(SILENT) else answer for answer in "a" * before + "b" * after]


def walked(answers: Sequence[str | None]) -> tuple[str, int | None, int | None]:
    """Return what a walk over all places finds: what is known, the last that is like the first with an answer, the first unlike."""
    known = [place for place, answer in enumerate(answers) if answer is not None]
    unlike = [place for place in known if answers[place] != answers[known[0]]]
    if len(known) < 2:
        return "not known", None, None
    if not unlike:
        return "unchanged", None, None
    last = max(place for place in known if place < unlike[0])
    return ("changed" if unlike[0] == last + 1 else "interval"), last, unlike[0]


def searched(answers: Sequence[str | None], **options: Any) -> Outcome[int, str]:
    """Search, and check that no place is asked twice and that what is told comes before each question."""
    questions: list[int] = []
    told: list[int] = []

    def answer(place: int) -> str | None:
        questions.append(place)
        assert told == questions
        return answers[place]

    found = search(range(len(answers)), answer, told=lambda place, _: told.append(place), **options)
    assert len(set(questions)) == len(questions)
    assert sorted(questions) == sorted(found.asked)
    return found


@settings(derandomize=True, deadline=None, max_examples=500)
@given(turning())
def test_one_change_is_found_wherever_it_is_and_whatever_is_unknown(answers: list[str | None]) -> None:
    """The search finds what a walk over all places finds, or the same smallest interval, with about log2 of them asked."""
    found = searched(answers)
    assert (found.kind, found.last, found.first) == walked(answers)
    holes = sum(answer is None for answer in found.asked.values())
    assert len(found.asked) <= 2 + len(answers).bit_length() + holes
    assert all(answers[place] is None and place in found.asked for place in found.between)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=40))
def test_of_several_changes_one_is_found(answers: list[str | None]) -> None:
    """Whatever the answers, what comes out is true: the last is like the good end, the first is not, nothing is known between."""
    found = searched(answers)
    if found.kind in ("changed", "interval"):
        assert found.last is not None
        assert found.first is not None
        assert found.good is not None
        assert answers[found.last] == answers[found.good]
        assert answers[found.first] not in (None, answers[found.good])
        assert {answers[place] for place in found.between} <= {None}
    elif found.kind == "unchanged":
        assert found.good is not None
        assert found.bad is not None
        assert answers[found.good] == answers[found.bad]
    else:
        assert sum(answer is not None for answer in answers) < 2


@settings(derandomize=True, deadline=None)
@given(turning())
def test_an_end_that_was_named_is_not_replaced(answers: list[str | None]) -> None:
    """A named end without an answer leaves nothing known, and nothing else is asked in its place."""
    found = searched(answers, named=(True, True))
    if not answers or answers[0] is None:
        assert (found.kind, list(found.asked)) == ("not known", [0][: len(answers)])
    elif len(answers) == 1 or answers[-1] is None:
        assert found.kind == "not known"
        assert len(found.asked) <= 2
    else:
        assert found.kind == walked(answers)[0]


def test_an_answer_that_cannot_be_compared_is_stepped_over() -> None:
    """Where nobody can tell whether an answer is another one, the place is as good as unknown, at an end too."""
    answers = "aa?b?"
    found = search(range(5), lambda place: answers[place], lambda one, other: None if "?" in (one, other) else one != other)
    assert (found.kind, found.last, found.first, found.bad) == ("interval", 1, 3, 3)
    assert list(found.between) == [2]


def test_a_large_search_is_short() -> None:
    """One change among a thousand takes the two ends and ten more."""
    for first in (1, 500, 999):
        assert len(searched("a" * first + "b" * (1000 - first)).asked) <= 12


# --- what is an answer


def tried(version: str, found: dict[str, Any] | None, package: str = "langchain") -> Trial:
    """Return the trial of a release that came out as a case of results; without one, nothing could be run."""
    release = Release(version, f"{package}-{version}", None)
    if found is None:
        return Trial(
            release, None, comparisons.pin(release.pin, comparisons.unbuilt(NAME)), Broken("no"), "it does not go with anything"
        )
    return Trial(release, pin.find("langchain-1.4.2"), comparisons.pin(release.pin, found, version=version), Broken("not run"))


GOOD = comparisons.case(NAME)
BAD = comparisons.case(NAME, claim("core/one@1", FAIL))
OTHER = comparisons.case(NAME, claim("core/one@1", FAIL, observed=2))
LATE = comparisons.case(NAME, claim("core/one@1", UNKNOWN, "timeout"))
MOVED = comparisons.case(NAME, rows=[row(dispatched=[])])
UNCLEAR = comparisons.case(NAME, claim("core/one@1"), claim("core/two@1", UNKNOWN, "ambiguous"))
CLEAR = comparisons.case(NAME, claim("core/one@1"), claim("core/two@1"))
ABSENT = comparisons.case(NAME, claim("core/one@1", UNKNOWN, "unsupported"))
WORDS = comparisons.case(NAME, rows=[row(reported=[{"status": "success", "content": "thanks"}])])


def question(name: str | None = None) -> Asked:
    """Return what is asked of the hand-written results."""
    return Asked(case.find([NAME])[0], name)


@pytest.mark.parametrize(
    ("one", "other", "of", "differ"),
    [
        (GOOD, GOOD, None, False),
        (GOOD, WORDS, None, False),
        (GOOD, BAD, None, True),
        (BAD, OTHER, None, True),
        (BAD, OTHER, "core/one@1", False),
        (GOOD, MOVED, None, True),
        (GOOD, MOVED, "core/one@1", False),
        (GOOD, ABSENT, None, True),
        (GOOD, ABSENT, "core/one@1", True),
        (UNCLEAR, CLEAR, None, None),
        (UNCLEAR, CLEAR, "core/one@1", False),
        (UNCLEAR, UNCLEAR, None, False),
        (GOOD, LATE, "core/one@1", None),
    ],
)
def test_answers_differ_as_a_difference_says(
    one: dict[str, Any], other: dict[str, Any], of: str | None, differ: bool | None
) -> None:
    """Of a case whatever `diff` calls a change is another answer, of a claim its verdict; the same from both sides."""
    sides = tried("1", one), tried("2", other)
    assert question(of).differs(*sides) is differ
    assert question(of).differs(*reversed(sides)) is differ


@pytest.mark.parametrize(
    ("found", "of", "silent"),
    [
        (GOOD, None, False),
        (ABSENT, None, False),
        (ABSENT, "core/one@1", False),
        (comparisons.case(NAME, claim("core/one@1", NONE)), "core/one@1", False),
        (LATE, None, True),
        (LATE, "core/one@1", True),
        (UNCLEAR, None, False),
        (UNCLEAR, "core/one@1", False),
        (UNCLEAR, "core/two@1", True),
        (comparisons.smoked(BAD), None, True),
        (comparisons.smoked(BAD), "core/one@1", True),
        (None, None, True),
        (None, "core/one@1", True),
    ],
)
def test_what_hides_everything_is_no_answer(found: dict[str, Any] | None, of: str | None, silent: bool) -> None:
    """Without an environment, after a failed smoke test, or if all that is asked about is hidden, a release says nothing."""
    assert question(of).is_silent(tried("1", found)) is silent


# --- what is reported


def reported(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *cases: dict[str, Any] | None, of: str | None = None, **options: Any
) -> Document:
    """Bisect releases 1.0, 1.1 … with these outcomes, and return the report, which fits its schema and its renderings."""
    outcomes = dict(zip(options.get("versions", [f"1.{place}" for place in range(len(cases))]), cases, strict=True))
    monkeypatch.setattr(trials, "run", lambda release, *_: tried(release.version, outcomes[release.version]))
    yanked = options.get("yanked", {})
    releases = tuple(Release(version, f"langchain-{version}", yanked.get(version)) for version in outcomes)
    there = Axis("langchain", None, releases, options.get("named", (False, False)))
    found = first_change.find(there, question(of), interpreter.find(None), folder)
    document.check(found, "bisection", "bisection")
    saved = results.read(document.read(folder / "results.json"), "results.json")
    assert [known["pin"] for known in saved["pins"]] == [entry["pin"] for entry in found["tried"]]
    return found


@pytest.mark.parametrize(
    ("cases", "answer", "last", "first", "says"),
    [
        ((GOOD, GOOD, BAD, BAD), "changed", "1.1", "1.2", "langchain 1.2 is the first release that changed decisions/edit; 1.1 is"),
        ((GOOD, None, LATE, BAD), "interval", "1.0", "1.3", "decisions/edit changed in (1.0, 1.3] of langchain."),
        ((GOOD, None, BAD), "interval", "1.0", "1.2", "Unknown in between: 1.1, because it does not go with anything."),
        ((GOOD, LATE, BAD), "interval", "1.0", "1.2", "Unknown in between: 1.1, because it is UNKNOWN (timeout)."),
        ((GOOD, BAD, GOOD), "unchanged", None, None, "Changes in between that cancel each other out would not be seen."),
        ((GOOD, WORDS), "unchanged", None, None, "has the same answer at langchain 1.0 and 1.1."),
        ((None, GOOD, BAD, None), "changed", "1.1", "1.2", "Run at 2 of 4 releases of langchain, 1.0 to 1.3."),
        ((None, None, LATE), "not known", None, None, "Not known: no release has an answer."),
        ((None, GOOD, None), "not known", None, None, "no release but 1.1 has an answer that can be compared with it"),
        ((GOOD, OTHER, BAD), "changed", "1.0", "1.1", "It changed more than once: 1.1 answers neither as 1.0 nor as 1.2."),
        (
            (UNCLEAR, CLEAR),
            "not known",
            None,
            None,
            "compared, because what is UNKNOWN (ambiguous) at 1.0 may have changed.",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_what_was_found_is_said_in_a_sentence(
    cases: tuple[dict[str, Any] | None, ...],
    answer: str,
    last: str | None,
    first: str | None,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Each outcome has its sentence, in text and in Markdown, and both sides and the script wherever there is a change."""
    found = reported(monkeypatch, tmp_path / "run", *cases)
    assert (found["answer"], found["last"], found["first"]) == (answer, last, first)
    terminal.bisection(found)
    shown = " ".join(capsys.readouterr().out.split())
    assert says in shown
    assert markdown.text(says) in " ".join(markdown.bisection(found).split())
    assert (found["difference"] is not None, found["script"] is not None) == (first is not None, first is not None)
    assert ("uv run" in shown, (tmp_path / "run" / "script" / "script.py").is_file()) == (first is not None, first is not None)


def test_an_end_that_was_named_and_says_nothing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The release that was named and has no answer is said with its reason, and no other is taken in its place."""
    found = reported(monkeypatch, tmp_path / "run", GOOD, BAD, None, named=(True, True))
    assert (found["answer"], found["good"], found["bad"]) == ("not known", "1.0", None)
    assert "langchain 1.2 has no answer that can be compared, because it does not go with anything" in _plain(
        markdown.bisection(found)
    )


def _plain(text: str) -> str:
    return text.replace("\\", "")


def test_what_was_tried_is_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each release stands with what it answers as; neighbours unknown for one reason share a row; yanked ones are marked."""
    found = reported(monkeypatch, tmp_path / "run", None, None, LATE, GOOD, OTHER, BAD, yanked={"1.3": "no good"})
    assert bisected.rows(found) == [
        ("1.0 to 1.1, 2 of them", "UNKNOWN (environment)", "it does not go with anything"),
        ("1.2", "UNKNOWN (timeout)", "it is UNKNOWN (timeout)"),
        ("1.3 (yanked)", "PASS", "as 1.3"),
        ("1.4", "FAIL", "as neither end"),
        ("1.5", "FAIL", "as 1.5"),
    ]
    terminal.bisection(found)
    assert "1.0 to 1.1, 2 of them" in capsys.readouterr().out
    assert "`1.3 (yanked)`" in markdown.bisection(found)


def test_a_search_that_goes_backwards_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The good end may be the newer one: what comes out is where its answer ends, on the way back."""
    found = reported(monkeypatch, tmp_path / "run", GOOD, GOOD, BAD, versions=["1.10", "1.9", "1.2"], named=(True, True))
    assert (found["last"], found["first"]) == ("1.9", "1.2")
    assert "The search went backwards, from 1.10 to 1.2." in markdown.bisection(found)


def test_after_a_smoke_test_that_failed_no_claim_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What such a release says of a claim is not believed, and not shown as its verdict."""
    found = reported(monkeypatch, tmp_path / "run", GOOD, comparisons.smoked(BAD), BAD, of="core/one@1")
    entry = found["tried"][1]
    assert (found["answer"], entry["verdict"], entry["because"]) == ("interval", UNKNOWN, "it is UNKNOWN (smoke)")


def test_of_a_claim_only_what_hides_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Why a claim has no answer is its own reason, and not what hides another claim of the case."""
    mixed = comparisons.case(NAME, claim("core/one@1", UNKNOWN, "timeout"), claim("core/two@1", UNKNOWN, "ambiguous"))
    found = reported(monkeypatch, tmp_path / "run", GOOD, mixed, BAD, of="core/one@1")
    assert found["tried"][1]["because"] == "it is UNKNOWN (timeout)"


def test_a_claim_is_asked_about_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a claim the verdict counts, and not what else changed in its case."""
    found = reported(monkeypatch, tmp_path / "run", GOOD, MOVED, BAD, of="core/one@1")
    assert (found["last"], found["first"], found["claim"]) == ("1.1", "1.2", "core/one@1")
    assert "that changed core/one@1 in decisions/edit" in markdown.bisection(found)
    assert [entry["verdict"] for entry in found["tried"]] == [PASS, PASS, FAIL]


def test_nothing_of_an_earlier_run_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder that is used again, no script of another change is left."""
    reported(monkeypatch, tmp_path / "run", GOOD, BAD)
    assert (tmp_path / "run" / "script").is_dir()
    reported(monkeypatch, tmp_path / "run", GOOD, GOOD)
    assert not (tmp_path / "run" / "script").exists()


def test_text_of_a_case_breaks_out_of_no_rendering(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Escapes, markup and fences in a case stay text, in the tables and in the script."""
    hostile = "\x1b[31m</td><script>alert(1)</script> ``` `x` | \u202e\n````\n# head"
    scenario = {**case.find([NAME])[0].scenario, "question": hostile}
    monkeypatch.setattr("tests.test_bisect.question", lambda name=None: Asked(case.Case(NAME, scenario, ()), name))
    left = comparisons.case(NAME, rows=[row(tool=hostile)])
    right = comparisons.case(NAME, claim("core/one@1", FAIL, observed=hostile), rows=[row(tool=hostile, dispatched=[])])
    found = reported(monkeypatch, tmp_path / "run", left, right)
    terminal.bisection(found)
    for shown in (capsys.readouterr().out, markdown.bisection(found)):
        assert shown.replace("\n", "").isprintable()
    lines = markdown.bisection(found).splitlines()
    fences = [line for line in lines if line.startswith("```")]
    assert (len(fences), "# head" in lines) == (6, False)


def test_a_file_that_one_pin_names_is_not_called_another_file() -> None:
    """Older pins have the digests of fewer files: whether those changed is not known, and not said."""
    sides = [{**comparisons.pin(name, GOOD), "files": files} for name, files in (("a", {"x": "1"}), ("b", {"x": "2", "y": "3"}))]
    (compared,) = diff(*(results.build([side]) for side in sides))["pins"]
    assert changes.facts(compared) == ["x is another file", "y has a digest in one of the pins only"]


# --- the axis

KNOWN = {"0.9": None, "1.0.0": None, "1.2.9": None, "1.2.10": "broken", "1.3.0a1": None, "1.3.0": None, "2.0.0rc1": None}


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the registry list these releases of everything."""
    monkeypatch.setattr(registry, "releases", lambda _: KNOWN)


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("good", "bad", "versions", "named"),
    [
        (None, None, ["1.0.0", "1.2.9", "1.2.10", "1.3.0"], (False, False)),
        ("1.2", None, [], None),
        ("1.0", "1.2.10", ["1.0.0", "1.2.9", "1.2.10"], (True, True)),
        ("langgraph==1.2.10", "1.2.9", ["1.2.10", "1.2.9"], (True, True)),
        ("LangGraph==1.2.9", None, ["1.2.9", "1.2.10", "1.3.0"], (True, False)),
        ("langgraph-1.2.9", "langchain-1.4.6+langgraph-1.3.0a1", ["1.2.9", "1.2.10", "1.3.0a1"], (True, True)),
        (None, "2.0.0rc1", ["1.0.0", "1.2.9", "1.2.10", "1.3.0a1", "1.3.0", "2.0.0rc1"], (False, True)),
    ],
)
def test_an_axis_has_the_releases_between_its_ends(
    good: str | None, bad: str | None, versions: list[str], named: tuple[bool, bool] | None
) -> None:
    """Stable releases from 1.0.0 on in the order of versions, yanked ones too; pre-releases only if an end is one."""
    if named is None:
        with pytest.raises(InputRefused, match="there is no such release"):
            axis.of("langgraph", "langchain==1.4.6", good, bad)
        return
    found = axis.of("langgraph", "langchain==1.4.6", good, bad)
    assert ([known.version for known in found.releases], found.named) == (versions, named)
    assert {known.pin for known in found.releases} == {f"langchain-1.4.6+langgraph-{version}" for version in versions}
    assert {known.version for known in found.releases if known.yanked} == {"1.2.10"} & set(versions)


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("package", "fixed", "good", "bad", "says"),
    [
        ("langgraph", None, None, None, "langgraph varies beside a release of langchain that stays fixed"),
        ("langchain", "langchain==1.4.6", None, None, "--pin is what stays fixed, but langchain varies"),
        ("langgraph", "1.4.6", None, None, "--pin '1.4.6': that is not the pin of a release"),
        ("langgraph", "i05", None, None, "that is not the pin of a release"),
        ("langgraph", "langchain>=1.4", None, None, "that is not the pin of a release"),
        ("langgraph", "langchain-1.4.6+langgraph-1.2.9", None, None, "fixes langgraph, which is to vary"),
        ("langgraph", "langchain==1.4.6", "1.2.9", "langgraph==1.2.9", "there is only langgraph 1.2.9"),
        ("langgraph", "langchain==1.4.6", None, "1.0.0", "there is only langgraph 1.0.0"),
        ("langgraph", "langchain==1.4.6", "1.2.99", None, "langgraph 1.2.99: there is no such release"),
        ("langgraph", "langchain==1.4.6", "0.9", None, "langgraph 0.9: there is no such release"),
        ("langgraph", "langchain==1.4.6", "1.2.x", None, "--good '1.2.x' is no release of langgraph with langchain-1.4.6"),
        ("langgraph", "langchain==1.4.6", None, "langchain==1.4.6", "--bad 'langchain==1.4.6' is no release of langgraph"),
        ("langgraph", "langchain==1.4.6", None, "langchain-core-1.2.9", "is no release of langgraph"),
        ("langgraph", "langchain==1.4.6", "langchain-1.4.5+langgraph-1.2.9", None, "is no release of langgraph with langchain-1.4"),
        ("langchain", None, "langgraph==1.2.9", None, "--good 'langgraph==1.2.9' is no release of langchain"),
        ("langchain", None, "langchain-1.4.6+langgraph-1.2.9", None, "is no release of langchain"),
        ("langchain", None, "i05", None, "--good 'i05' is no release of langchain"),
        ("langchain", None, "", None, "--good '' is no release of langchain"),
        ("langchain", None, "9" * 5000, None, "is no release of langchain"),
        ("langchain", None, f"langchain-{'9' * 5000}", None, "is no release of langchain"),
        ("langchain", None, "\x1b[31m", None, r"--good '\\x1b\[31m' is no release of langchain"),
    ],
)
def test_an_axis_that_cannot_be_meant_is_refused(
    package: str, fixed: str | None, good: str | None, bad: str | None, says: str
) -> None:
    """What stays fixed and what the ends are is refused in one sentence, with what to write in its place."""
    with pytest.raises(InputRefused, match=says) as refusal:
        axis.of(package, fixed, good, bad)
    assert refusal.value.hint
    assert len(refusal.value.message) < 200


def test_shipped_pins_are_an_axis_without_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two shipped pins nothing is asked; without ends a registry that does not answer is no obstacle, else it is one."""

    def nobody(name: str) -> Mapping[str, str | None]:
        raise EnvironmentFailed(f"{name}: the registry did not answer.")

    monkeypatch.setattr(registry, "releases", nobody)
    found = axis.of("langchain", None, "1.2.4", "langchain-1.2.6")
    assert [(known.version, bool(known.yanked)) for known in found.releases] == [
        ("1.2.4", False),
        ("1.2.5", True),
        ("1.2.6", False),
    ]
    everything = [known.version for known in axis.of("langchain", None, None, None).releases]
    assert everything == sorted(everything, key=Version)
    assert {"1.0.0", "1.4.10", "1.5.2"} <= set(everything)
    for arguments in (("langchain", None, "1.4.99", None), ("langgraph", "langchain==1.4.6", None, None)):
        with pytest.raises(EnvironmentFailed):
            axis.of(*arguments)


def test_what_the_fixed_release_does_not_allow_is_known_from_its_wheel() -> None:
    """The wheel of langchain 1.4.6 requires langgraph from 1.2.12 on, below 1.3: no resolver has to be asked about the others."""
    releases = [
        Release(version, f"langchain-1.4.6+langgraph-{version}", None) for version in ("1.2.11", "1.2.12", "1.2.99", "1.3.0")
    ]
    found = constraints.fitted(Axis("langgraph", "langchain-1.4.6", tuple(releases), (False, False)), pin.find("langchain-1.4.6"))
    assert [known.fits for known in found.releases] == [False, True, True, False]
    one = trials.run(found.releases[0], found, case.find([NAME])[0], interpreter.find(None), Path())
    assert (one.because, one.case["reason"]) == ("it does not go with langchain-1.4.6", "environment")


@pytest.mark.parametrize(
    ("error", "because"),
    [
        (Unresolved("uv pip failed: it explains this in many lines."), "no lock with it can be resolved"),
        (EnvironmentFailed("uv pip failed: it said nothing."), "no pin could be made of it"),
        (InputRefused("pin add: the first day of langchain-1.6.0 ends at noon, which is not past."), "its first day is not over"),
    ],
)
def test_a_release_without_a_pin_is_unknown_with_a_reason(
    error: Exception, because: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Why no pin was made is said in words of ours, which are the same on every machine."""

    def find(asked: str, python: interpreter.Interpreter) -> pin.Pin:
        del asked, python
        raise error

    monkeypatch.setattr("capture.demand.find", find)
    there = Axis("langchain", None, (Release("1.6.0", "langchain-1.6.0", None),), (False, False))
    one = trials.run(there.releases[0], there, case.find([NAME])[0], interpreter.find(None), tmp_path)
    assert (one.because, one.pin, one.case["reason"]) == (because, None, "environment")


# --- the case and the claim


@pytest.mark.parametrize(
    ("name", "of", "says"),
    [
        ("decisions", None, r"'decisions' means several: decisions/approve, .* and \d+ more"),
        ("decisions/no-such", None, "there is no such case"),
        ("none.toml", None, "none.toml: there is no such file"),
        (NAME, "core/no-such", "--claim 'core/no-such': decisions/edit is not judged by it"),
        (NAME, "answer/bad-refused", "--claim 'answer/bad-refused': decisions/edit is not judged by it"),
        (NAME, "messages/proposal-kept@99", "is not judged by it"),
        (NAME, "", "is not judged by it"),
    ],
)
def test_a_case_or_claim_that_cannot_be_meant_is_refused(name: str, of: str | None, says: str) -> None:
    """One case is asked for, and a claim that judges it; the refusal says which there are."""
    with pytest.raises(InputRefused, match=says) as refusal:
        asked.of(name, of)
    assert refusal.value.hint


def test_a_claim_may_be_named_without_its_version() -> None:
    """Both forms are the claim in the version that judges the case."""
    for name in ("messages/proposal-kept", "messages/proposal-kept@1"):
        assert asked.of(NAME, name).claim == "messages/proposal-kept@1"
    assert asked.of(f"{NAME}@async", None).case.id == f"{NAME}@async"


def test_a_file_that_varies_is_refused_with_what_it_makes(tmp_path: Path) -> None:
    """A file of several cases is refused with their ids, and with what to do about it."""
    (tmp_path / "mine").mkdir()
    path = Path(shutil.copy(Path(case.__file__).parent / "cases" / "decisions" / "edit.toml", tmp_path / "mine" / "edit.toml"))
    with pytest.raises(InputRefused, match=r"mine/edit, mine/edit@async, .*") as refusal:
        asked.of(str(path), None)
    assert "vary" in refusal.value.hint


# --- the command, at real releases


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "Missing option '--case'"),
        (("--case", NAME, "--vary", "pydantic"), 2, "Invalid value for '--vary'"),
        (("--case", "decisions"), 4, "means several"),
        (("--case", NAME, "--good", "1.4.1", "--bad", "langchain==1.4.1"), 4, "there is only langchain 1.4.1"),
        (("--case", NAME, "--vary", "langgraph"), 4, "Name it: --pin langchain==VERSION"),
        (("--case", NAME, "--vary", "langgraph", "--pin", "langchain==1.4.99"), 5, "the registry has no such release"),
        (("--case", NAME, "--good", "1.4.1", "--bad", "1.4.2", "--python", "/bin/false"), 4, "does not answer as a Python does"),
        (("--case", NAME, "--good", "1.4.1", "--bad", "1.4.2", "--out", "full"), 4, "something else in this folder"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_bad_input_ends_with_one_sentence(
    arguments: tuple[str, ...], code: int, says: str, command: Command, tmp_path: Path
) -> None:
    """What cannot be meant is refused before anything is run, with nothing on standard output and no traceback."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    done = command("bisect", *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "running" not in done.stderr


@pytest.mark.parametrize(
    ("name", "of", "good", "bad", "first"),
    [
        (NAME, "messages/proposal-kept", "1.4.0", "1.4.4", "1.4.2"),
        ("decisions/respond", None, "1.2.15", "1.2.18", "1.2.17"),
        ("policy/misspelt-allowed-decisions", "policy/misspelt-refused", "1.3.13", "1.3.17", "1.3.15"),
        ("decisions/edit-into-unknown-tool", None, "1.4.4", "1.4.0", "1.4.1"),
    ],
)
def test_the_release_that_changed_it_is_found(
    name: str, of: str | None, good: str, bad: str, first: str, command: Command, tmp_path: Path
) -> None:
    """Changes that were measured independently are found, from the older end or from the newer one, and end with 1."""
    claimed = ("--claim", of) if of else ()
    done = command("bisect", "--case", name, *claimed, "--good", good, "--bad", bad, "--out", "run")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    fits(done.stdout)
    assert (found["answer"], found["first"], found["runs"] <= found["axis"]["releases"]) == ("changed", first, True)
    assert "left, about" in done.stderr
    assert command("verify", "./run").returncode == 0
    assert sorted(path.name for path in (tmp_path / "run" / "script").iterdir()) == sorted(
        ["script.py", f"langchain-{found['last']}.txt", f"langchain-{first}.txt"]
    )


def fits(printed: str) -> None:
    """Refuse what is printed if it is not canonical, or does not fit the schema."""
    document.check(json.loads(printed), "bisection", "bisect")
    assert document.canonical(json.loads(printed)).decode() == printed


def test_nothing_changed_is_0_and_the_bytes_are_the_same_anywhere(command: Command, tmp_path: Path) -> None:
    """The same answer at both ends is said so, in the same bytes in another folder, time zone and locale."""
    arguments = ("bisect", "--case", "decisions/approve", "--good", "1.4.3", "--bad", "1.4.4")
    one = command(*arguments, "--out", tmp_path / "one")
    other = command(*arguments, "--out", "other", variables={"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "7"})
    assert (one.returncode, json.loads(one.stdout)["answer"]) == (0, "unchanged"), one.stderr
    assert one.stdout == other.stdout
    assert str(tmp_path) not in one.stdout
    assert "cancel each other out" in command(*arguments, "--format", "markdown").stdout
    assert json.loads(command("bisect", "--schema").stdout)["$id"] == "bisection.schema.json"


def test_a_damaged_pin_is_stepped_over(command: Command, tmp_path: Path) -> None:
    """A release whose pin is refused has no answer: what comes out is the interval that has the change, and ends with 3."""
    place = tmp_path / "cache" / "pins" / "langchain-1.4.6+langgraph-1.2.16"
    place.mkdir(parents=True)
    (place / "pin.toml").write_text("no = 'pin'\n")
    arguments = ("--vary", "langgraph", "--pin", "langchain==1.4.6", "--good", "1.2.16", "--bad", "1.2.17")
    done = command("bisect", "--case", NAME, *arguments, variables={"DISPATCH_AUDIT_CACHE": str(tmp_path / "cache")})
    found = json.loads(done.stdout)
    assert (done.returncode, found["answer"]) == (3, "not known"), done.stderr
    assert found["tried"][0]["because"] == "no pin could be made of it"


@pytest.fixture(scope="module")
def found_in_langgraph(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Return where langgraph changed the case of two answers together, beside langchain 1.4.6, over the whole axis."""
    folder = tmp_path_factory.mktemp("langgraph")
    there = axis.of("langgraph", "langchain==1.4.6", None, None)
    return first_change.find(there, asked.of(TOGETHER, None), interpreter.find(None), folder)


def test_a_linear_walk_confirms_where_langgraph_changed_it(found_in_langgraph: Document, command: Command) -> None:
    """From langgraph 1.2.16 on a call runs once that ran twice; a run at every release that fits says the same."""
    found = found_in_langgraph
    assert (found["answer"], found["last"], found["first"]) == ("changed", "1.2.15", "1.2.16")
    fitting = [version for version in registry.stable("langgraph") if Version("1.2.12") <= Version(version) < Version("1.3")]
    assert (found["good"], found["bad"]) == (fitting[0], max(fitting[-1:], key=Version))
    pins = [part for version in fitting for part in ("--pin", f"langchain-1.4.6+langgraph-{version}")]
    walk = results.read(command("run", *pins, "--case", TOGETHER).stdout.encode(), "printed")
    verdicts = {each["packages"]["langgraph"]: each["cases"][0]["verdict"] for each in walk["pins"]}
    assert verdicts == {version: PASS if Version(version) >= Version("1.2.16") else FAIL for version in fitting}
    assert found["runs"] < len(fitting)


def test_both_sides_differ_in_one_package_and_in_two_files(found_in_langgraph: Document) -> None:
    """Between two releases on a second axis nothing else changes, and the files that decide say where to look."""
    (compared,) = found_in_langgraph["difference"]["pins"]
    assert [fact["name"] for fact in compared["packages"]] == ["langgraph"]
    assert [fact["name"] for fact in compared["files"]] == ["langgraph/pregel/_loop.py", "langgraph/pregel/_runner.py"]
    assert found_in_langgraph["helpers"] == []
    first = found_in_langgraph["tried"][0]
    assert (first["release"], first["because"]) == ("1.0.0", "it does not go with langchain-1.4.6")


def test_the_script_shows_both_sides(found_in_langgraph: Document, tmp_path: Path) -> None:
    """Run with the packages of each side, the one script dispatches the approved call twice and once."""
    (tmp_path / "script.py").write_text(found_in_langgraph["script"]["text"])
    counts = {}
    for side in ("last", "first"):
        known = pin.find(f"langchain-1.4.6+langgraph-{found_in_langgraph[side]}")
        python = environment.ensure(known.lock, interpreter.find(None)).python
        done = subprocess.run([python, tmp_path / "script.py"], capture_output=True, text=True, check=True, timeout=120)
        counts[side] = done.stdout.count("dispatch: ('send_document'")
        assert f"langgraph=={found_in_langgraph[side]}" in found_in_langgraph["script"][side]
    assert counts == {"last": 2, "first": 1}


def test_steps_are_those_that_halving_takes() -> None:
    """One place takes one answer, and each doubling one more."""
    assert [bisection.steps(left) for left in (0, 1, 2, 3, 4, 63, 64)] == [0, 1, 2, 2, 3, 6, 7]
