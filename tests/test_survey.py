"""The survey of all releases: its evidence judged again, its size, what it found, and that it can be made again."""

import json
import shutil
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from capture import document, library, results, survey
from capture.transitions import transitions
from tests.conftest import Command

RELEASES = library.records_folder() / "releases"


@pytest.mark.parametrize("name", survey.all_names())
def test_a_published_survey_is_verified(name: str, command: Command) -> None:
    """Digests, evidence, judgement and renderings hold, without anything being run."""
    done = command("verify", name, "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, [check for check in found["checks"] if not check["held"]]) == (0, []), done.stderr
    names = {check["check"] for check in found["checks"]}
    assert {"README.md", "report.html", "judged again", "SHA256SUMS, survey.toml"} <= names
    assert command("rejudge", f"./results/{name}").returncode == 4
    assert command("rejudge", name).returncode == 0


@pytest.mark.parametrize("name", survey.all_names())
def test_it_is_of_every_release_that_it_names_and_stays_small(name: str) -> None:
    """All releases that it is of, in their order, in less than five megabytes."""
    found = survey.load(library.records_folder() / name)
    assert [pin["pin"] for pin in found.published["pins"]] == [pin.name for pin in found.releases()]
    assert sum(path.stat().st_size for path in found.folder.iterdir()) < 5_000_000


def test_a_survey_by_a_package_has_one_pin_for_each_release_of_it() -> None:
    """Each release of langgraph stands once, with the first release of langchain that took it."""
    found = survey.load(library.records_folder() / "interrupt-state-updates").releases()
    every = survey.load(RELEASES).releases()
    versions = [pin.packages["langgraph"] for pin in found]
    assert versions == list(dict.fromkeys(pin.packages["langgraph"] for pin in every))
    firsts = [next(pin.name for pin in every if pin.packages["langgraph"] == version) for version in versions]
    assert [pin.name for pin in found] == firsts


def turns(case: str, claim: str | None) -> dict[str, tuple[str, str]]:
    """Return at which pins the verdict of a case or claim changed in the survey, from what and to what."""
    rows = transitions(survey.load(RELEASES).published)["changes"]
    (row,) = [row for row in rows if (row["case"], (row["claim"] or "").partition("@")[0] or None) == (case, claim)]
    return {after["first"]: (said(before), said(after)) for before, after in pairwise(row["runs"])}


def said(run: Mapping[str, Any]) -> str:
    """Return the verdict of a run of pins, with its reason."""
    return " ".join(filter(None, (run["verdict"], run["reason"])))


@pytest.mark.parametrize(
    ("case", "claim", "pin", "turned"),
    [
        ("decisions/edit", "messages/proposal-kept", "langchain-1.4.2", ("FAIL", "PASS")),
        ("decisions/respond", None, "langchain-1.2.17", ("UNKNOWN unfinished", "PASS")),
        ("policy/misspelt-allowed-decisions", "policy/misspelt-refused", "langchain-1.3.15", ("FAIL", "PASS")),
        ("decisions/edit-into-unknown-tool-then-approve", None, "langchain-1.4.2", ("PASS", "UNKNOWN unfinished")),
        ("per-call/together-one-invalid@async", None, "langchain-1.4.7", ("FAIL", "PASS")),
    ],
)
def test_the_survey_finds_what_is_known(case: str, claim: str | None, pin: str, turned: tuple[str, str]) -> None:
    """What was measured by hand elsewhere is found by the tool itself, at the same release."""
    assert turns(case, claim)[pin] == turned


def test_an_edit_into_an_unknown_tool_raises_from_1_4_2_on() -> None:
    """The verdict does not change there, the outcome of the step does."""
    found = {
        pin["pin"]: row["observations"]["outcomes"][-1]["status"]
        for pin in survey.load(RELEASES).published["pins"]
        for row in pin["cases"]
        if row["case"] == "decisions/edit-into-unknown-tool"
    }
    names = list(found)
    since = names.index("langchain-1.4.2")
    assert {found[name] for name in names[since:]} == {"raised"}
    assert "raised" not in {found[name] for name in names[:since]}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of a survey of two releases, which is not published yet."""
    folder = tmp_path_factory.mktemp("surveys") / "small"
    folder.mkdir()
    text = (RELEASES / "survey.toml").read_text()
    (folder / "survey.toml").write_text(text.replace('"langchain>=1.0,<=1.5.2"', '"langchain>=1.5.1,<=1.5.2"'))
    yield folder
    shutil.rmtree(folder)


def test_a_survey_is_published_verified_and_made_again(small: Path, command: Command) -> None:
    """The same bytes come from another run; a byte that differs is named."""
    assert command("publish", f"{small}").returncode == 0
    assert sorted(path.name for path in small.iterdir()) == [
        "README.md",
        "SHA256SUMS",
        "histories.jsonl",
        "report.html",
        "results.json",
        "survey.toml",
    ]
    assert command("verify", f"{small}").returncode == 0
    again = command("reproduce", f"{small}", "--format", "json")
    assert (again.returncode, json.loads(again.stdout)["held"]) == (0, True), again.stderr
    path = small / "results.json"
    found: dict[str, Any] = dict(results.read(path.read_bytes(), "results.json"))
    rows = [row for pin in found["pins"] for row in pin["cases"] if row["case"] == "decisions/edit"]
    rows[0]["observations"]["dispatches"] = 2
    path.write_bytes(document.canonical(results.packed(found)))
    other = command("reproduce", f"{small}", "--format", "json")
    assert other.returncode == 1
    assert "decisions/edit" in " ".join(check["detail"] for check in json.loads(other.stdout)["checks"] if check["held"] is False)
    assert command("verify", f"{small}").returncode == 1


def test_the_machine_s_failure_is_not_published(small: Path, command: Command, tmp_path: Path) -> None:
    """Without a registry and without environments nothing takes the place of what is published."""
    before = {path.name: path.read_bytes() for path in small.iterdir()}
    offline = {"DISPATCH_AUDIT_CACHE": str(tmp_path / "empty"), "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}
    done = command("publish", f"{small}", variables=offline)
    assert (done.returncode, "UNKNOWN (environment)" in done.stderr) == (4, True), done.stderr
    assert {path.name: path.read_bytes() for path in small.iterdir()} == before


def test_a_survey_of_one_release_is_refused(tmp_path: Path, command: Command) -> None:
    """It has nothing to compare."""
    text = (RELEASES / "survey.toml").read_text().replace('"langchain>=1.0,<=1.5.2"', '"langchain==1.5.2"')
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "survey.toml").write_text(text)
    done = command("publish", "./one")
    assert (done.returncode, "only langchain-1.5.2 matches" in done.stderr) == (4, True), done.stderr


def test_what_does_not_go_with_a_survey_is_refused(command: Command) -> None:
    """Revisions, upstream tests, archives and single cases belong to records."""
    for arguments in (("reproduce", "releases", "--revision", "r1"), ("publish", "releases", "--case", "decisions/edit")):
        done = command(*arguments)
        assert (done.returncode, "survey" in done.stderr.lower()) == (2, True), done.stderr
