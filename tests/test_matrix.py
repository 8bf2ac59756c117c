"""Several pins in one run: side by side, in a fixed order, and nothing again that an earlier run has seen."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from capture import cache, case, document, interpreter, kept, library, pin, results, store, workers
from capture.document import Document
from capture.observation import Watch
from tests.conftest import Command
from tests.seen import seen_at

CASES = ("--case", "decisions/approve", "--case", "decisions/edit")
PINS = ("langchain-1.4.1", "i05", "langchain-1.5.2")
RUN = ("run", *(word for name in PINS for word in ("--pin", name)), *CASES, "--format", "json")


def observed(said: str) -> list[str]:
    """Return the pins at which something was run, by what a run said on standard error."""
    return re.findall(r"^running .* at pin (\S+)$", said, re.MULTILINE)


def read(data: str) -> Document:
    """Return the results that a run printed."""
    return results.read(data.encode(), "printed")


def test_several_environments_are_built_at_once(tmp_path: Path, command: Command) -> None:
    """On an empty cache every pin gets its own, and two that are built side by side do not disturb each other."""
    for number in range(3):
        done = command(*RUN, variables={cache.VARIABLE: str(tmp_path / f"cache-{number}")})
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
        assert done.stderr.count("building the environment") == len(PINS)


@pytest.mark.usefixtures("own_cache")
def test_nothing_is_run_again_that_was_seen(command: Command) -> None:
    """The second run runs nothing and prints the same bytes; a fresh one runs everything and prints them too."""
    first, second, fresh = command(*RUN), command(*RUN), command(*RUN, "--fresh")
    assert [sorted(observed(done.stderr)) for done in (first, second, fresh)] == [sorted(PINS), [], sorted(PINS)]
    assert "3 of 3 pins are as earlier runs saw them; --fresh runs them again" in second.stderr
    assert first.stdout == second.stdout == fresh.stdout
    assert [done.returncode for done in (first, second, fresh)] == [1, 1, 1]
    assert [found["pin"] for found in read(first.stdout)["pins"]] == list(PINS)


@pytest.mark.usefixtures("own_cache")
def test_what_is_new_is_run_and_joined_with_what_was_seen(command: Command) -> None:
    """Another case, or another pin, runs alone; the results are those of a run of everything."""
    few = command("run", "--pin", PINS[0], "--pin", PINS[1], "--case", "decisions/edit", "--format", "json")
    more = command(*RUN)
    assert sorted(observed(few.stderr)) == sorted(PINS[:2])
    assert re.findall(r"^running (\d) cases? at pin (\S+)$", more.stderr, re.MULTILINE) != []
    counts = {name: int(number) for number, name in re.findall(r"^running (\d) cases? at pin (\S+)$", more.stderr, re.MULTILINE)}
    assert counts == {PINS[0]: 1, PINS[1]: 1, PINS[2]: 2}
    assert more.stdout == command(*RUN, "--fresh").stdout


@pytest.mark.usefixtures("own_cache")
def test_one_pin_is_always_run(command: Command) -> None:
    """Whoever runs one pin asks what happens now."""
    alone = [command("run", "--pin", PINS[1], *CASES, "--format", "json") for _ in range(2)]
    assert [observed(done.stderr) for done in alone] == [[PINS[1]], [PINS[1]]]
    assert alone[0].stdout == alone[1].stdout


def test_a_case_that_changed_is_run_again(own_cache: Path, command: Command, tmp_path: Path) -> None:
    """What is kept of a case is found by the digest of its scenario, not by its name."""
    path = tmp_path / "own" / "edit.toml"
    path.parent.mkdir()
    shutil.copy(library.cases_folder() / "decisions" / "edit.toml", path)
    arguments = ["run", "--pin", PINS[0], "--pin", PINS[1], "--case", str(path), "--format", "json"]
    assert sorted(observed(command(*arguments).stderr)) == sorted(PINS[:2])
    assert observed(command(*arguments).stderr) == []
    path.write_text(path.read_text().replace("migration-note.md", "another-note.md"))
    again = command(*arguments)
    assert sorted(observed(again.stderr)) == sorted(PINS[:2])
    assert "another-note.md" in again.stdout
    assert own_cache.joinpath("store").is_dir()


def test_what_the_disk_spoiled_is_run_again(own_cache: Path, command: Command) -> None:
    """A history, a note or a row in the cache that is not as it was written is not there."""
    first = command(*RUN)
    for path in (own_cache / "store").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-2])
    again = command(*RUN)
    assert sorted(observed(again.stderr)) == sorted(PINS)
    assert again.stdout == first.stdout


@pytest.mark.usefixtures("own_cache")
def test_bytes_are_found_by_their_digest_or_not_at_all() -> None:
    """The store gives back what was put there, and nothing else."""
    digest = store.put(b"lines")
    assert (store.get(digest), store.get("0" * 64)) == (b"lines", None)
    store._bytes(digest).write_bytes(b"others")
    assert store.get(digest) is None
    store.note("kind", ["a", 1], {"value": 1})
    assert store.noted("kind", ["a", 1]) == {"value": 1}
    assert (store.noted("kind", ["a", 2]), store.noted("other", ["a", 1])) == (None, None)


@pytest.mark.usefixtures("own_cache")
def test_what_was_spoiled_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history with a fault of the probe is the machine's: the next run tries again."""
    (edit,) = case.find(["decisions/edit"])
    found, python = pin.find(PINS[1]), interpreter.find(None)
    saved = seen_at(PINS[1], [edit])
    fault = {"kind": "fault", "step": 0, "reason": "timeout", "detail": "the probe did not answer open in time"}
    lines = saved.cases[0].lines.splitlines(keepends=True)
    cut = b"".join([*lines[:2], document.line(fault), document.line({"kind": "end", "case": edit.id, "entries": 2})])
    spoiled = type(saved.cases[0])(edit.id, edit.digest, False, cut)
    assert (saved.cases[0].spoiled, spoiled.spoiled) == (False, True)
    assert spoiled.history().of("fault")[0]["reason"] == "timeout"
    kept.keep(found, python, type(saved)(saved.environment, saved.smoke, (spoiled,), {}))
    recalled = kept.recall(found, python, [edit])
    assert recalled is not None
    assert recalled.cases == ()
    kept.keep(found, python, saved)
    recalled = kept.recall(found, python, [edit])
    assert recalled is not None
    assert recalled.data() == saved.data()
    monkeypatch.setattr(kept, "recorded_by", lambda: "another probe")
    assert kept.recall(found, python, [edit]) is None


@pytest.mark.usefixtures("own_cache")
def test_what_is_kept_rests_on_the_python_and_on_the_very_case() -> None:
    """A Python that the pin no longer allows sees nothing, and the history of another case under a name is none."""
    cases = case.find(["decisions/approve", "decisions/reject"])
    found, python = pin.find(PINS[1]), interpreter.find(None)
    saved = seen_at(PINS[1], cases)
    kept.keep(found, python, saved)
    recalled = kept.recall(found, python, cases)
    assert recalled is not None
    assert [seen.case for seen in recalled.cases] == [known.id for known in cases]
    assert kept.recall(replace(found, python=SpecifierSet("<3.5")), python, cases) is None
    swapped = replace(saved.cases[0], lines=saved.cases[1].lines)
    kept.keep(found, python, replace(saved, cases=(swapped, saved.cases[1])))
    recalled = kept.recall(found, python, cases)
    assert recalled is not None
    assert [seen.case for seen in recalled.cases] == ["decisions/reject"]


@pytest.mark.usefixtures("own_cache")
def test_a_note_is_what_it_is_about_and_bytes_heal() -> None:
    """A note that was copied over another is not taken for it; bytes that were spoiled are written again."""
    store.note("kind", "one", {"value": 1})
    store.note("kind", "two", {"value": 2})
    shutil.copy(store._note("kind", "one"), store._note("kind", "two"))
    assert (store.noted("kind", "one"), store.noted("kind", "two")) == ({"value": 1}, None)
    digest = store.put(b"lines")
    store._bytes(digest).write_bytes(b"spoiled")
    assert store.put(b"lines") == digest
    assert store.get(digest) == b"lines"


def test_a_worker_that_is_not_like_whoever_asks_is_no_witness() -> None:
    """Another version of the probe, another Python: what it sees would be kept as what ours saw."""
    python = interpreter.find(None)
    task = workers.Task(pin.find(PINS[1]), (), Watch(python, Path("/nowhere")), code=kept.recorded_by())
    assert workers._unlike(task, python) is None
    assert workers._unlike(replace(task, code="another"), python) == "the worker has another version of dispatch-audit"
    said = workers._unlike(task, replace(python, version="3.9.1"))
    assert said is not None
    assert "version 3.9.1" in said


@pytest.mark.usefixtures("own_cache")
def test_the_folder_of_a_run_that_goes_on_is_not_deleted() -> None:
    """However many runs are started beside it."""
    first = cache.new_run()
    ended = first.with_name("20200101T000000.000000Z-1-1")
    ended.mkdir()
    for _ in range(25):
        cache.new_run()
    assert (first.is_dir(), ended.exists()) == (True, False)


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path, command: Command) -> None:
    """No run makes one, so a folder that has one is refused, and what it leads to stays as it is."""
    place, victim = tmp_path / "place", tmp_path / "victim"
    place.mkdir()
    victim.mkdir()
    (place / "run.json").write_text('{"run": 1, "started": "x"}')
    (place / PINS[1]).symlink_to(victim)
    done = command("run", "--pin", PINS[1], *CASES, "--out", "./place")
    assert (done.returncode, f"{PINS[1]}: a link, which no run makes" in done.stderr) == (4, True), done.stderr
    assert list(victim.iterdir()) == []


def without_files(target: Path) -> Path:
    """Copy a pin with a lock whose hashes no file has, and return its folder."""
    shutil.copytree(library.pins_folder() / "langchain-1.4.1", target)
    lock, about = target / "requirements.txt", target / "pin.toml"
    before = document.digest(lock.read_bytes())
    lock.write_text(re.sub(r"(--hash=sha256:)[0-9a-f]{8}", r"\g<1>00000000", lock.read_text()))
    head, artifacts = about.read_text().split("[[artifacts]]", 1)
    spoiled = re.sub(r'(sha256 = ")[0-9a-f]{8}', r"\g<1>00000000", artifacts)
    about.write_text(f"{head}[[artifacts]]{spoiled}".replace(before, document.digest(lock.read_bytes())))
    return target


@pytest.mark.usefixtures("own_cache")
def test_a_pin_without_an_environment_is_one_row(tmp_path: Path, command: Command) -> None:
    """A lock whose hashes no file has leaves UNKNOWN(environment) in its row and nothing anywhere else; it is tried again."""
    broken = without_files(tmp_path / "broken-pin")
    for number in range(2):
        done = command("run", "--pin", broken, "--pin", PINS[1], *CASES, "--format", "json")
        assert done.returncode == 3, done.stderr
        rows = read(done.stdout)["pins"]
        assert [(row["smoke"], row["counts"]) for row in rows] == [
            ("UNKNOWN", {"PASS": 0, "FAIL": 0, "UNKNOWN": 2}),
            ("PASS", {"PASS": 2, "FAIL": 0, "UNKNOWN": 0}),
        ]
        assert {entry["reason"] for entry in rows[0]["cases"]} == {"environment"}
        assert "broken-pin: no environment: " in done.stderr
        assert observed(done.stderr) == ([PINS[1]] if number == 0 else [])


def without(package: str, target: Path) -> Path:
    """Copy a pin with a lock that lacks a package which is needed, and return its folder."""
    shutil.copytree(library.pins_folder() / "langchain-1.4.1", target)
    lock, about = target / "requirements.txt", target / "pin.toml"
    before = document.digest(lock.read_bytes())
    lock.write_text(re.sub(rf"^{package}==.*?(?=^\S)", "", lock.read_text(), flags=re.MULTILINE | re.DOTALL))
    about.write_text(about.read_text().replace(before, document.digest(lock.read_bytes())))
    return target


@pytest.mark.usefixtures("own_cache")
def test_a_release_that_does_not_import_is_one_row(tmp_path: Path, command: Command) -> None:
    """Its row is UNKNOWN(environment) and standard error says at what the probe ended; alone it is an exit code of its own."""
    lame = without("jsonpatch", tmp_path / "lame-pin")
    done = command("run", "--pin", lame, "--pin", PINS[1], *CASES, "--format", "json")
    rows = read(done.stdout)["pins"]
    assert (done.returncode, [row["smoke"] for row in rows]) == (3, ["UNKNOWN", "PASS"]), done.stderr
    # It ends by itself: before it is asked, or while it is.
    assert re.search("lame-pin: no environment: the probe ended (at|before) describe", done.stderr)
    alone = command("run", "--pin", lame, *CASES)
    assert (alone.returncode, "the probe ended" in alone.stderr) == (3, True), alone.stderr


def test_a_release_that_is_not_there_is_one_row(command: Command) -> None:
    """Among several it is a row UNKNOWN(environment), and run.json says why; alone it is refused."""
    done = command("run", "--pin", "langchain==9.9.9", "--pin", PINS[1], *CASES, "--format", "json", "--out", "out")
    rows = read(done.stdout)["pins"]
    assert (done.returncode, [(row["pin"], row["smoke"]) for row in rows]) == (
        3,
        [("langchain-9.9.9", "UNKNOWN"), (PINS[1], "PASS")],
    ), done.stderr
    assert "langchain-9.9.9: no environment: langchain 9.9.9: the registry has no such release" in done.stderr
    verified = command("verify", "./out")
    assert verified.returncode == 0, verified.stdout
    alone = command("run", "--pin", "langchain==9.9.9", *CASES)
    assert (alone.returncode, "the registry has no such release" in alone.stderr) == (5, True)


def test_a_yanked_release_is_run_and_said_to_be_yanked(command: Command) -> None:
    """Somebody runs it; why the registry has yanked it stands on standard error."""
    yanked = next(known for known in pin.matching("langchain") if known.yanked)
    done = command("run", "--pin", yanked.name, *CASES[:2], "--format", "json")
    assert f"pin {yanked.name}: the registry has yanked the release: {yanked.yanked}" in done.stderr
    assert [row["verdict"] for row in json.loads(done.stdout)["pins"][0]["cases"]] == ["PASS"]


def test_the_folder_of_several_pins_is_verified_and_judged_again(command: Command, tmp_path: Path) -> None:
    """Both commands take it, and a line that was changed in what was seen is a difference or refused."""
    assert command(*RUN, "--out", tmp_path / "out").returncode == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["histories.jsonl", "results.json", "run.json"]
    for name in ("verify", "rejudge"):
        done = command(name, "./out", "--format", "json")
        assert (done.returncode, json.loads(done.stdout)["held"]) == (0, True), done.stderr
    path = tmp_path / "out" / "histories.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(line.replace(b"sdk-review", b"sdk-reviev") if b'"dispatched"' in line else line for line in lines))
    for name in ("verify", "rejudge"):
        done = command(name, "./out", "--format", "json")
        differing = [check["check"] for check in json.loads(done.stdout)["checks"] if check["held"] is False]
        assert (done.returncode, differing) == (1, [*(f"evidence of pin {pin}" for pin in PINS), "judged again"])
    path.write_bytes(b"".join(line for line in whole.splitlines(keepends=True) if b'"pin":"i05"' not in line))
    cut = command("verify", "./out")
    assert (cut.returncode, "other lines than its first one counts" in cut.stderr) == (4, True)
    path.write_bytes(whole)
    measured = (tmp_path / "out" / "results.json").read_text()
    unbuilt = results.unbuilt(PINS[1], case.find(["decisions/approve", "decisions/edit"]))
    hidden = results.build([unbuilt if row["pin"] == PINS[1] else row for row in read(measured)["pins"]])
    (tmp_path / "out" / "results.json").write_bytes(document.canonical(results.packed(hidden)))
    suppressed = command("verify", "./out")
    assert (suppressed.returncode, "there is a history of it, but not in the results" in suppressed.stderr) == (4, True), (
        suppressed.stderr
    )
    path.unlink()
    gone = command("rejudge", "./out")
    assert (gone.returncode, "histories.jsonl: there is no such file" in gone.stderr) == (4, True)


def test_a_history_that_the_results_leave_out_is_refused(command: Command, tmp_path: Path) -> None:
    """At one pin too: results that say that there was no environment do not stand beside what was seen in it."""
    assert command("run", "--pin", PINS[1], *CASES, "--out", tmp_path / "out").returncode == 0
    silent = results.build([results.unbuilt(PINS[1], case.find(["decisions/approve", "decisions/edit"]))])
    (tmp_path / "out" / "results.json").write_bytes(document.canonical(silent))
    done = command("verify", "./out")
    assert (done.returncode, "there is a history of it, but not in the results" in done.stderr) == (4, True), done.stderr


@pytest.mark.usefixtures("own_cache")
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, command: Command) -> None:
    """SIGKILL after the first pin: the next run takes that one as it was kept, and ends with the same bytes."""
    arguments = [sys.executable, "-m", "capture", *RUN, "--jobs", "1", "--out", str(tmp_path / "out")]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[1/3]"):
                break
        process.kill()
        process.communicate()
    finished = command(*RUN, "--out", tmp_path / "out")
    assert "1 of 3 pins" in finished.stderr or "2 of 3 pins" in finished.stderr, finished.stderr
    assert finished.stdout == command(*RUN, "--fresh").stdout


@pytest.mark.usefixtures("own_cache")
def test_an_interrupted_run_keeps_what_is_complete(tmp_path: Path, command: Command) -> None:
    """Ctrl-C ends every probe and starts none; what is complete was kept."""
    arguments = [sys.executable, "-m", "capture", *RUN, "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=_listening
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[1/3]"):
                break
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in said) == (130, False), said
    assert time.monotonic() - began < 10
    assert not (tmp_path / "out" / "results.json").exists()
    assert re.search(r"^[12] of 3 pins are as earlier runs saw them", command(*RUN).stderr, re.MULTILINE)


def _listening() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_range_is_every_release_in_it(command: Command) -> None:
    """In the order of the versions, once each, whatever else is named; a range that matches nothing is refused."""
    done = command("run", "--pin", "langchain-1.4.10", "--pins", "langchain>=1.4.8,<1.5", *CASES, "--format", "json")
    assert [found["pin"] for found in read(done.stdout)["pins"]] == ["langchain-1.4.10", "langchain-1.4.8", "langchain-1.4.9"]
    none = command("run", "--pins", "langchain>99")
    assert (none.returncode, "no pin matches it" in none.stderr) == (4, True)
    neither = command("run", "--case", "decisions/edit")
    assert (neither.returncode, "--pins" in neither.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "title"),
    [
        (("--pin", "i05"), "Results: verdicts and observations"),
        (("--pin", "i05", "--pin", "langchain-1.4.1"), "Results over several pins: what pins share stands once"),
        (("--pins", "langchain"), "Results over several pins: what pins share stands once"),
        (("--pins", "langchain", "--against", "x"), document.schema("difference")["title"]),
    ],
)
def test_the_schema_is_that_of_what_is_printed(options: tuple[str, ...], title: str, command: Command) -> None:
    """One pin and several have each their form."""
    assert json.loads(command("run", *options, "--schema").stdout)["title"] == title


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """Start a scheduler and two workers, each a process of its own, and return the scheduler's address."""
    place, dask = tmp_path / "scheduler.json", Path(sys.executable).parent / "dask"
    options = ["--no-dashboard", "--scheduler-file", str(place)]
    scheduler: list[str | Path] = [dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *options]
    worker: list[str | Path] = [dask, "worker", "--nworkers", "1", "--nthreads", "1", "--local-directory", tmp_path, *options]
    commands = [scheduler, worker, worker]
    processes = [subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True) for words in commands]
    try:
        while not place.exists():
            time.sleep(0.1)
        yield str(json.loads(place.read_bytes())["address"])
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_cluster_gives_the_same_bytes(cluster: str, tmp_path: Path, command: Command) -> None:
    """A real scheduler with two workers observes the pins; results and histories are those of threads here."""
    there = command(*RUN, "--fresh", "--scheduler", cluster, "--out", tmp_path / "there")
    here = command(*RUN, "--fresh", "--out", tmp_path / "here")
    assert there.returncode == here.returncode == 1, there.stderr
    assert observed(there.stderr) == []
    assert there.stdout == here.stdout
    for name in ("results.json", "histories.jsonl"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_nobody_at_the_address_of_a_scheduler(command: Command) -> None:
    """An address where nobody answers is one sentence and exit code 5."""
    done = command(*RUN, "--fresh", "--scheduler", "tcp://127.0.0.1:9")
    assert (done.returncode, "Traceback" in done.stderr) == (5, False)
    assert "--scheduler 'tcp://127.0.0.1:9': nobody answers there" in done.stderr


def test_an_address_that_is_none(command: Command) -> None:
    """A word that is no address is refused before anything is asked."""
    done = command(*RUN, "--fresh", "--scheduler", "no address")
    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
