"""The workflow of README.md, read out of it and run: what it is started by, what it may, and what it says of a pull request."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from capture import acceptance, cache
from capture.case import all_cases
from tests.hosting import BRANCH, INSTALL, TREE, PullRequest, block, steps, workflow
from tests.test_locks import HASH, locked, turned

CASES = "--case decisions/edit --case decisions/reject"

SAID = "**Something changed.**\n"


@pytest.fixture
def request_of(shared_cache: Path, tmp_path: Path) -> PullRequest:
    """Return a pull request that is not opened yet, in whose runs the cache is that of this test run."""
    return PullRequest(tmp_path / "hosting", variables={cache.VARIABLE: str(shared_cache)})


# --- what it says


def test_the_workflow_is_one(tmp_path: Path) -> None:
    """It fits GitHub's own schema of workflows."""
    (tmp_path / "workflow.yml").write_text(block("yaml", "pull_request"))
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", "workflow.yml"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_workflow_runs_when_the_lock_changes_and_may_little() -> None:
    """It is started by the lock alone, never with the rights of the base; it may read, and write to pull requests."""
    found = workflow()
    assert found["on"] == {"pull_request": {"paths": [found["env"]["LOCK"]]}}
    assert found["permissions"] == {"contents": "read", "pull-requests": "write"}
    (job,) = found["jobs"].values()
    assert "permissions" not in job
    checkout = next(step for step in steps() if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"] == {"fetch-depth": 2, "persist-credentials": False}


def test_no_text_of_a_stranger_becomes_a_command() -> None:
    """No expression stands in a command, and the token is there only where the comment is written."""
    for step in steps():
        assert "${{" not in step.get("run", "")
        assert ("GH_TOKEN" in step.get("env", {})) == (step.get("name") == "Comment")
    assert "secrets." not in block("yaml", "pull_request")
    assert all(re.fullmatch(r"actions/[a-z-]+(/[a-z]+)?@v[0-9]+", step["uses"]) for step in steps() if "uses" in step)
    assert "GH_TOKEN" not in workflow()["env"]


def test_what_is_kept_between_runs_lies_outside_of_the_checkout() -> None:
    """The cache is restored before and saved after, whatever came out, and no pull request can bring one with it."""
    kept = [step for step in steps() if "cache" in step.get("uses", "")]
    folder = workflow()["env"][cache.VARIABLE]
    assert folder.startswith("~/")
    assert [step["with"]["path"].split() for step in kept] == 2 * [[f"{folder}/pins", f"{folder}/store"]]
    assert kept[1]["if"] == "${{ !cancelled() }}"
    assert kept[0]["with"]["key"] == kept[1]["with"]["key"]
    assert kept[0]["with"]["key"].startswith(kept[0]["with"]["restore-keys"])


def test_the_section_names_no_registry_and_no_machine() -> None:
    """What is pasted fits every team."""
    text = (TREE / "README.md").read_text().partition("## In your CI")[2].partition("\n## ")[0]
    assert not re.search(r"pypi|pythonhosted|https?://|/(home|root|tmp|work|Users)/", text)


def test_the_accepted_fail_of_the_section_can_be_meant(tmp_path: Path) -> None:
    """The entry is one that `--accept` takes, and its case is judged by its claim."""
    (tmp_path / "accepted.toml").write_text(block("toml", "[[accepted]]"))
    (entry,) = acceptance.read(tmp_path / "accepted.toml")
    assert entry.claim in next(known for known in all_cases() if known.id == entry.case).claims


# --- what it does


def test_an_upgrade_that_changes_what_runs(request_of: PullRequest) -> None:
    """The check is red, summary and comment show both sides; the next push changes the comment and writes no other."""
    pull = request_of.opened(locked("1.4.1"))
    done = pull.pushed(locked("1.4.2"), OPTIONS=CASES)
    assert (done.code, done.ran) == (1, ["Compare", "Comment"]), done.log
    shown = done.summary.partition("`decisions/edit`: changed")[2]
    assert done.summary.startswith("**Something changed.**\n")
    assert "- langchain 1.4.1 → 1.4.2\n" in done.summary
    assert "| `verdict` | `FAIL` | `PASS` |" in shown.partition("`decisions/reject`")[0]
    (comment,) = pull.comments
    assert comment["body"].startswith(f"<!-- dispatch-audit -->\n{done.summary}")
    assert comment["body"].endswith("[The run](https://github.invalid/team/app/actions/runs/42)\n")
    again = pull.pushed(turned(locked("1.4.1")), OPTIONS=CASES)
    assert (again.code, again.summary.partition("\n")[0]) == (0, "**Nothing changed.**"), again.log
    (updated,) = pull.comments
    assert (updated["id"], again.summary in updated["body"]) == (comment["id"], True)
    assert [("PATCH" in call, "--jq" in call) for call in pull.asked] == [
        (False, True),
        (False, False),
        (False, True),
        (True, False),
    ]
    assert not list(pull.place.rglob("pwned"))


def test_a_lock_that_runs_the_same_is_green(request_of: PullRequest) -> None:
    """A changed lock, in a folder of its own, that locks the same packages passes, and says so; of a fork without a comment."""
    pull = replace(request_of, lock="backend/requirements.txt").opened(locked("1.4.1"))
    done = pull.pushed(turned(locked("1.4.1")), OPTIONS=CASES, LOCK=pull.lock, FORK="1")
    assert (done.code, done.ran, pull.asked) == (0, ["Compare"], []), done.log
    assert done.summary.startswith("**Nothing changed.**\n")


@pytest.mark.parametrize(
    "lock",
    [
        "langchain==1.4.2\n",
        f"langchain==1.4.2 --hash=sha256:{HASH}\n$(touch pwned)==1 --hash=sha256:{HASH}\n",
        f"langchain==1.4.2 --hash=sha256:{HASH}\n`touch pwned`\x1b[2J\n::set-env name=PATH::.\n",
        f"langchain==1.4.2 --hash=sha256:{HASH}\n-e .\n",
        "",
    ],
)
def test_a_lock_that_is_none_is_red_and_says_so(lock: str, request_of: PullRequest) -> None:
    """Nothing is compared, the comment says so, the log says why in one line, and nothing that the lock says is run."""
    pull = request_of.opened(locked("1.4.1"))
    done = pull.pushed(lock)
    assert (done.code, done.summary) == (4, "**Nothing was compared (exit code 4).** The log says why.\n"), done.log
    assert done.summary in pull.comments[0]["body"]
    assert done.log.startswith("dispatch-audit: requirements.txt")
    assert (done.log.count("\n"), "\x1b" in done.log) == (1, False)
    assert not list(pull.place.rglob("pwned"))


def test_a_base_without_the_lock_is_red(request_of: PullRequest) -> None:
    """The pull request that brings the lock has nothing to be compared with, and says so."""
    done = request_of.opened(None).pushed(locked("1.4.1"))
    assert (done.code, "base/requirements.txt: there is no such file" in done.log) == (4, True)


@pytest.mark.parametrize(("code", "warned"), [(0, False), (1, False), (3, True), (5, False), (70, False)])
def test_the_exit_code_is_the_answer(code: int, warned: bool, request_of: PullRequest) -> None:
    """Whatever dispatch-audit ends with, the job does; what is not known is a warning; from 4 on nothing was compared."""
    pull = request_of.opened("").answering(SAID, code)
    done = pull.pushed("x")
    assert (done.code, "::warning::" in done.log, done.ran) == (code, warned, ["Compare", "Comment"])
    assert (SAID in done.summary, SAID in pull.comments[0]["body"]) == 2 * (code <= 3,)


def test_a_long_difference_is_cut_in_the_comment_alone(request_of: PullRequest) -> None:
    """The summary has all of it; the comment has what fits, also where a letter of two bytes is cut, and the way to the rest."""
    pull = request_of.opened("").answering("é" * 100_000, 1)
    done = pull.pushed("x")
    assert len(done.summary) == 100_000
    assert pull.comments[0]["body"].endswith("[The run](https://github.invalid/team/app/actions/runs/42)\n")


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq")
def test_only_the_bots_own_comment_is_found() -> None:
    """The filter takes the first of ours, not what a stranger or another workflow wrote, and nothing if there is none."""
    bot, marked = {"login": "github-actions[bot]"}, "<!-- dispatch-audit -->\n"
    others = [
        {"id": 1, "user": {"login": "stranger"}, "body": marked},
        {"id": 2, "user": bot, "body": f"Coverage\n{marked}"},
    ]
    script = next(step["run"] for step in steps() if step.get("name") == "Comment")
    wanted = re.search(r"ours='(.*)'", script)
    assert wanted
    for comments, found in ((others, ""), ([*others, *({"id": n, "user": bot, "body": marked} for n in (3, 4))], "3\n")):
        done = subprocess.run(["jq", "-r", wanted[1]], input=json.dumps(comments), capture_output=True, text=True, check=True)
        assert done.stdout == found


def test_three_lines_do_it_anywhere(request_of: PullRequest) -> None:
    """In any other CI the same comes out, and the code of the comparison is that of the job, also where a failure ends it."""
    pull = request_of.opened(locked("1.4.1"))
    pull.git("update-ref", "refs/remotes/origin/main", "main")
    pull.answering(SAID, 1)
    pull._commit("head", locked("1.4.2"))
    lines = block("sh", "origin/main")
    assert lines.count("\n") == 3
    for code in (1, 0):
        pull.answering(SAID, code)
        env = {**os.environ, "PATH": f"{pull.place / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-e", "-c", lines], cwd=pull.checkout, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, SAID), done.stderr
        assert (pull.place / "base" / "requirements.txt").read_text() == locked("1.4.1")
        pull.git("worktree", "remove", "--force", "../base")


def test_the_install_is_what_hosting_replaces() -> None:
    """One step installs the released tool; every other command of the workflow is run by these tests."""
    assert [step["run"] for step in steps() if step.get("run") == INSTALL] == [INSTALL]
    assert [step["name"] for step in steps() if "run" in step and step["run"] != INSTALL] == ["Compare", "Comment"]
    assert "$(" in BRANCH
