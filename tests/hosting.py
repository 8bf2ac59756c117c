"""What GitHub does with the workflow of README.md, as far as tests need it: a pull request, its steps, a stand-in for `gh`."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

TREE = Path(__file__).resolve().parent.parent

BRANCH = "up/$(touch${IFS}pwned);`touch${IFS}pwned`'\"&|"
"""The name of the branch of a pull request, which whoever makes it is free to choose."""

INSTALL = "pip install dispatch-audit"

_GH = r"""
import json, os, re, sys
from pathlib import Path

place = Path(os.environ["STAND_IN"])
comments = json.loads(place.read_text())
*options, last = sys.argv[1:]
path = next(argument for argument in sys.argv if argument.startswith("repos/"))
body = Path(last.removeprefix("body=@")).read_text("utf-8", "replace") if last.startswith("body=@") else None
assert os.environ["GH_TOKEN"] and sys.argv[1] == "api" and path.startswith("repos/team/app/issues/"), sys.argv
assert body is None or len(body) <= 65536, "Body is too long"
if "--jq" in options:
    assert path.endswith("/7/comments") and "--paginate" in options
    known = [found["id"] for found in comments if found["user"]["login"] == "github-actions[bot]"]
    marker = re.search(r'startswith\("(.+?)"\)', last)[1]
    print(*[found["id"] for found in comments if found["id"] in known and found["body"].startswith(marker)][:1], sep="\n")
elif "PATCH" in options:
    next(found for found in comments if path.endswith(f"/comments/{found['id']}"))["body"] = body
else:
    assert path.endswith("/7/comments")
    comments.append({"id": 100 + len(comments), "user": {"login": "github-actions[bot]"}, "body": body})
place.write_text(json.dumps(comments))
with place.with_name("gh.log").open("a") as log:
    log.write(" ".join(sys.argv[1:]) + "\n")
"""


def block(language: str, start: str) -> str:
    """Return the block of README.md in a language that has a text in it."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (TREE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [text for text in blocks if start in text]
    return str(found)


def workflow() -> dict[str, Any]:
    """Return the workflow of README.md."""
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(block("yaml", "pull_request"))
    return found


def steps() -> list[dict[str, Any]]:
    """Return the steps of its one job."""
    (job,) = workflow()["jobs"].values()
    return list(job["steps"])


@dataclass
class Done:
    """What came of one run of the workflow."""

    code: int = 0
    log: str = ""
    ran: list[str] = field(default_factory=list)
    summary: str = ""


@dataclass(frozen=True)
class PullRequest:
    """A repository with a base and a branch, and the comments of the pull request between them."""

    place: Path
    lock: str = "requirements.txt"
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the workflow is to have otherwise than it says."""

    @property
    def checkout(self) -> Path:
        """The folder that the runner works in."""
        return self.place / "app"

    def git(self, *arguments: str) -> str:
        """Run git in the checkout."""
        who = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
        return subprocess.run(["git", *who, *arguments], cwd=self.checkout, check=True, capture_output=True, text=True).stdout

    def opened(self, base: str | None) -> "PullRequest":
        """Make the repository, with the lock of the base on its main branch, and a comment that somebody else left."""
        self.checkout.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        self._commit("base", base)
        self.git("checkout", "--quiet", "-b", BRANCH)
        self._stand_in("dispatch-audit", f'PYTHONPATH="{TREE}" exec "{sys.executable}" -m capture "$@"')
        self._stand_in("gh", f'exec "{sys.executable}" "{self.place}/gh.py" "$@"')
        (self.place / "gh.py").write_text(_GH)
        spoof = [{"id": 1, "user": {"login": "stranger"}, "body": "<!-- dispatch-audit -->\nAll is well."}]
        (self.place / "comments.json").write_text(json.dumps(spoof))
        return self

    def answering(self, text: str, code: int) -> "PullRequest":
        """Put a stand-in in the place of dispatch-audit that prints a text and ends with a code."""
        (self.place / "said.md").write_text(text)
        self._stand_in("dispatch-audit", f'cat "{self.place}/said.md"; exit {code}')
        return self

    def pushed(self, lock: str | None, **variables: str) -> Done:
        """Push a commit with this lock and run the workflow as the runner would, on the merge that GitHub makes of it."""
        self.git("checkout", "--quiet", BRANCH)
        self._commit("head", lock)
        self.git("checkout", "--quiet", "--detach", "main")
        self.git("merge", "--quiet", "--no-ff", "-m", "merge", BRANCH)
        return self._run(variables)

    @property
    def comments(self) -> list[dict[str, Any]]:
        """What the bot has written."""
        known = json.loads((self.place / "comments.json").read_text())
        assert known[0]["body"] == "<!-- dispatch-audit -->\nAll is well."
        return list(known[1:])

    @property
    def asked(self) -> list[str]:
        """What `gh` was called with."""
        log = self.place / "gh.log"
        return log.read_text().splitlines() if log.exists() else []

    def _commit(self, message: str, lock: str | None) -> None:
        if lock is not None:
            (self.checkout / self.lock).parent.mkdir(parents=True, exist_ok=True)
            (self.checkout / self.lock).write_text(lock)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def _stand_in(self, name: str, script: str) -> None:
        path = self.place / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def _run(self, variables: dict[str, str]) -> Done:
        done = Done()
        temp = Path(_emptied(self.place / "temp"))
        own = (
            self._variables(temp)
            | {name: str(value) for name, value in workflow()["env"].items()}
            | {**self.variables, **variables}
        )
        for step in steps():
            if step.get("run", INSTALL) == INSTALL or not _holds(step.get("if"), done, fork=variables.get("FORK") == "1"):
                continue
            self._step(step, own, done)
        done.summary = (temp / "summary.md").read_text()
        return done

    def _step(self, step: Mapping[str, Any], variables: Mapping[str, str], done: Done) -> None:
        (self.place / "step.sh").write_text(step["run"])
        env = {**variables, **{name: _value(value) for name, value in step.get("env", {}).items()}}
        ran = subprocess.run(
            ["bash", "-e", self.place / "step.sh"], cwd=self.checkout, env=env, capture_output=True, text=True, check=False
        )
        done.ran.append(step["name"])
        done.log += ran.stdout + ran.stderr
        done.code = done.code or ran.returncode

    def _variables(self, temp: Path) -> dict[str, str]:
        (temp / "summary.md").touch()
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GH_"))},
            "PATH": f"{self.place / 'bin'}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
            "GITHUB_WORKSPACE": str(self.checkout),
            "GITHUB_REPOSITORY": "team/app",
            "GITHUB_SERVER_URL": "https://github.invalid",
            "GITHUB_RUN_ID": "42",
            "GITHUB_BASE_REF": "main",
            "GITHUB_HEAD_REF": BRANCH,
            "RUNNER_TEMP": str(temp),
            "STAND_IN": str(self.place / "comments.json"),
        }


def _emptied(folder: Path) -> Path:
    """Return the runner's folder for temporary files, which each job finds empty."""
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir()
    return folder


def _value(text: str) -> str:
    known = {"${{ github.token }}": "a token", "${{ github.event.number }}": "7"}
    return known[text]


def _holds(condition: str | None, done: Done, *, fork: bool) -> bool:
    """Tell whether a step runs; without a condition, if nothing has failed."""
    if condition is None:
        return done.code == 0
    terms = {
        "!cancelled()": True,
        "steps.compare.outcome != 'skipped'": "Compare" in done.ran,
        "github.event.pull_request.head.repo.full_name == github.repository": not fork,
    }
    return all(terms[term] for term in condition.removeprefix("${{ ").removesuffix(" }}").split(" && "))
