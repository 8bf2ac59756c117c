"""The page of results as text: harmless, the same bytes everywhere, each drawing once, and everything that results hold."""

import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from capture import document, record, results
from capture.claims import CLAIMS
from capture.document import Document
from capture.render.lanes import differing, panel, picture
from capture.render.printable import printable, visible
from capture.render.report import evidence
from capture.render.report.heat import heat
from capture.render.report.history import changes_by_pin
from capture.render.report.releases import releases
from capture.render.report.rows import rows
from capture.render.wrapping import wrapped
from capture.transitions import transitions
from tests.comparisons import FAIL, NONE, PASS, case, claim, observed, pin, row, written
from tests.conftest import Command
from tests.pages import MARKUP, UNSEEN, history, hostile, made, published, smoke, together

VOID = {"meta", "path", "rect", "use", "input", "br", "link", "base", "img"}


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of all, as a browser would read them."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep a piece of text."""
        self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a name."""
        return [attrs for name, attrs in self.found if name == tag]


def island(text: str) -> Any:
    """Return the JSON that the script of a page reads."""
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])


# --- harmless


def test_markup_in_results_stays_text() -> None:
    """No tool, argument, message, id, question or fault becomes an element or an attribute, and none ends a script."""
    found = Elements(made(hostile()))
    assert {tag for tag, _ in found.found} <= {tag for tag, _ in Elements(made(history())).found}
    assert len(found.named("script")) == 2
    assert not found.named("img")
    attributes = {name for _, attrs in found.found for name in attrs}
    assert not [name for name in attributes if name.startswith(("on", "style", "src"))]
    text = "".join(found.words)
    assert all(words in text for words in MARKUP)


def test_what_cannot_be_seen_is_written_as_an_escape() -> None:
    """A page holds no control, bidirectional, zero-width or half character, in whatever text results have it."""
    text = made(hostile())
    assert visible(UNSEEN) in "".join(Elements(text).words)
    assert {char for char in text if visible(char) != char} == {"\n"}
    assert text.encode("utf-8")


def test_the_policy_names_the_script_and_the_styles_by_their_digests() -> None:
    """Nothing is allowed but the page's own script and styles, and nothing in it names another place."""
    text = made(history())
    policy = next(
        attrs["content"] for attrs in Elements(text).named("meta") if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert Elements(text).named("link") == [{"rel": "icon", "href": "data:,"}]
    for kind, body in (("style", r"<style>(.*?)</style>"), ("script", r"<script>(.*?)</script>")):
        (inside,) = re.findall(body, text, re.DOTALL)
        assert f"{kind}-src 'sha256-{_base64(inside)}'" in policy
    assert not re.findall(r"@import|url\(|src=|<iframe|innerHTML|eval\(", text)


def _base64(text: str) -> str:
    import base64

    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_data_of_the_script_cannot_end_it() -> None:
    """The JSON in the page has neither markup nor anything but ASCII, and is the pins and the cases."""
    text = made(hostile()).partition('id="data">')[2].partition("</script>")[0]
    assert text.isascii()
    assert not set(text) & set("<>&")
    assert json.loads(text)["pins"] == ["p-1", "p-2"]


def test_the_picture_as_a_file_is_xml() -> None:
    """A picture that stands alone is read by an XML parser, whatever the results say."""
    import xml.etree.ElementTree as ET

    root = ET.fromstring(picture(hostile()["pins"][0]["cases"][0]))
    text = "".join(root.itertext())
    assert not root.findall(".//{*}img")
    assert all(words in text.replace("\n", "") for words in map(visible, MARKUP) if len(words) < 30)


# --- the same bytes


def test_the_table_of_what_cannot_be_seen_is_ours() -> None:
    """Every Python escapes the same characters, whatever Unicode it knows: all that `printable` does, but for new ones."""
    every = [chr(code) for code in range(0x110000)]
    assert hashlib.sha256("".join(map(visible, every)).encode()).hexdigest()[:12] == "f290d5943029"
    left = {char for char in every if printable(char) != char and visible(char) == char}
    assert {unicodedata.category(char) for char in left} <= {"Cn"}


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "tr_TR.UTF-8", "COLUMNS": "40"},
    ],
    ids=str,
)
def test_the_same_results_give_the_same_bytes(variables: dict[str, str], tmp_path: Path) -> None:
    """Hash seed, time zone, locale and folder change nothing."""
    program = "import sys; from tests import pages; sys.stdout.buffer.write(pages.made(pages.together()).encode())"
    tree = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": tree, **variables}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert document.digest(done.stdout) == document.digest(made(together()).encode())


def test_rows_that_are_one_object_or_equal_ones_are_the_same() -> None:
    """Where pins share what they say of a case, the page is as if each said it."""
    found = history()
    shared: dict[bytes, Any] = {}
    pins = [
        {**known, "cases": [shared.setdefault(document.line(inside), inside) for inside in known["cases"]]}
        for known in found["pins"]
    ]
    assert made({**found, "pins": pins}) == made(found)


# --- what it holds


@pytest.mark.parametrize("found", [history(), together(), smoke()], ids=["history", "together", "smoke"])
def test_the_page_holds_every_verdict(found: Document) -> None:
    """The states of each case, run by run, are the verdicts of the results at every pin; a case that is not there has none."""
    data = island(made(found))
    assert data["pins"] == [known["pin"] for known in found["pins"]]
    letters = dict(zip(data["cases"], data["verdicts"], strict=True))
    for key, runs in data["cases"].items():
        states = [state for state, count in runs for _ in range(count)]
        said = [None if state is None else _LETTERS[letters[key][state]] for state in states]
        assert said == [_verdict(known, key) for known in found["pins"]]
    assert set(data["cases"]) == {inside["case"] for known in found["pins"] for inside in known["cases"]}


_LETTERS = {"P": "PASS", "F": "FAIL", "?": "UNKNOWN"}


def _verdict(known: Document, key: str) -> str | None:
    return next((inside["verdict"] for inside in known["cases"] if inside["case"] == key), None)


def test_each_state_and_each_drawing_is_there_once() -> None:
    """Ten releases with three states of a case have three, and a call that went the same way in another case is used again."""
    text = made(history())
    assert text.count("<section class=case") == 4
    assert [len(known.states) for known in rows(history())] == [2, 3, 3, 2]
    drawn = re.findall(r"<g id=(w[0-9]+)>(.*?)</g>(?:<path class=frame[^>]*>)?</svg>", text, re.DOTALL)
    assert len({markup for _, markup in drawn}) == len(drawn)
    used = re.findall(r'<use href="#(w[0-9]+)"', text)
    assert used
    assert set(used) <= {name for name, _ in drawn}


def test_what_differs_from_the_picture_before_is_a_frame_beside_the_drawing() -> None:
    """So the same way of a call is one drawing, whether something before it was another way or not."""
    found = history()
    first, second = (boxed(found, place) for place in (0, -1))
    plain, marked = panel(second, "c 0"), panel(second, "c 0", differing(second, first))
    assert plain.markup == marked.markup
    assert (plain.frame, marked.frame.count("M")) == ("", len(differing(second, first)))
    assert marked.frame


def boxed(found: Document, place: int) -> Document:
    """Return the call of the case that began to PASS, at a pin."""
    call: Document = next(known for known in found["pins"][place]["cases"] if known["case"] == "decisions/edit")["calls"][0]
    return call


def test_claims_and_faults_and_evidence_are_said_once() -> None:
    """A claim's sentence stands in the glossary, and in a case where it FAILs; a fault that lasts stands once, with its pins."""
    text = made(history())
    inside = text.partition('<section id="cases">')[2].partition('<section id="claims">')[0]
    assert inside.count(CLAIMS["core/no-repeated-dispatch@1"].sentence) == 0
    assert inside.count(CLAIMS["messages/proposal-kept@1"].sentence) == 1
    assert inside.count("<dl class=fault>") == 2
    assert "messages/proposal-kept@1</a>, 1.0.0 to 1.0.4" in inside


def test_claims_with_the_same_verdicts_share_a_line() -> None:
    """Claims are grouped by their verdicts over the states, the worst first, and neighbours that are alike share a cell."""
    judged = [claim("core/one@1"), claim("core/two@1"), claim("core/three@1", FAIL), claim("core/four@1", NONE)]
    found = written(pin("a-1", case("x/y", *judged)), pin("a-2", case("x/y", *judged[:3], rows=[])))
    lines = evidence.judged(rows(found)[0])
    assert [line.claims for line in lines] == [("core/three@1",), ("core/one@1", "core/two@1"), ("core/four@1",)]
    assert [[(cell.verdict, cell.states) for cell in line.cells] for line in lines] == [
        [("FAIL", 2)],
        [("PASS", 2)],
        [(None, 1), ("not applicable", 1)],
    ]


def test_evidence_that_a_case_before_has_is_named_and_not_repeated() -> None:
    """What differs in the same words in several cases stands in the first of them, and a link leads there."""
    sides = [
        [case(name, observations=observed([], shown=[{"question": "q", "value": value}]), rows=[]) for name in ("x/a", "x/b")]
        for value in ("old", "new")
    ]
    text = made(written(pin("a-1", *sides[0]), pin("a-2", *sides[1])))
    assert text.count("&#34;old&#34;") == 1
    assert '1 → 2: changed in detail only, in shown, as in <a href="#x/a">x/a</a>' in text


def test_neighbours_that_are_alike_are_one_cell_without_scripts() -> None:
    """The table has a cell for each run of columns with one verdict and one evidence; together they are all columns."""
    found = history()
    known = releases(found["pins"], transitions(found))
    for inside in rows(found):
        told = heat(inside, known.columns)
        assert sum(cell.columns for cell in told) == len(known.columns)
        pairs = itertools.pairwise(told)
        assert all(after.changed or before.verdict != after.verdict for before, after in pairs)


def test_the_first_screen_says_what_does_not_hold() -> None:
    """The claims that FAIL at the last release, in their own words, those of most cases first."""
    failed = [claim("core/no-repeated-dispatch@1", FAIL), claim("messages/proposal-kept@1", FAIL)]
    found = written(pin("a-1", case("x/a", failed[0])), pin("a-2", case("x/a", failed[1]), case("x/b", failed[1])))
    text = made(found).partition('<section id="fails">')[2].partition("</section>")[0]
    assert f"<b>2 cases</b> <span>{CLAIMS['messages/proposal-kept@1'].sentence}" in text
    assert CLAIMS["core/no-repeated-dispatch@1"].sentence not in text
    assert '<section id="fails">' not in made(written(pin("a-1", case("x/a"))))


def test_a_case_that_is_another_scenario_is_another_row() -> None:
    """One id with two digests has two rows, each absent where the other is; ids in the page stay unique."""
    found = written(pin("a-1", case("x/y")), pin("a-2", case("x/y", digest="b")))
    assert [(known.key, known.at) for known in rows(found)] == [("x/y~aaaaaaaa", (0, None)), ("x/y~bbbbbbbb", (None, 0))]
    ids = [attrs["id"] for _, attrs in Elements(made(found)).found if "id" in attrs]
    assert len(set(ids)) == len(ids)


def test_every_link_inside_the_page_leads_somewhere() -> None:
    """Each plain anchor is the id of an element; those with a choice in them are for the script."""
    found = Elements(made(history()))
    ids = {attrs["id"] for _, attrs in found.found if "id" in attrs}
    links = {str(attrs["href"]) for attrs in [*found.named("a"), *found.named("use")]}
    assert {link[1:] for link in links if link.startswith("#") and "=" not in link} <= ids


def test_one_pin_has_no_heat_table() -> None:
    """A record's page lists its cases with their questions, and says where they come from and who promised what."""
    found = published("i05")
    text = made(found)
    words = "".join(Elements(text).words)
    assert "Which release changed what" not in words
    assert all(known["question"] in words for known in found["pins"][0]["cases"])
    assert "I05, Results, row edit: The tool receives the replacement once" in words
    judged = {known["claim"] for inside in found["pins"][0]["cases"] for known in inside["claims"]}
    assert all(CLAIMS[name].sentence in words and CLAIMS[name].promised in words for name in judged)


def test_sources_are_shown_for_the_same_scenario_alone() -> None:
    """A case whose digest is not that of the suite's has another source than the suite's, which nobody knows."""
    found = published("i05")
    cases = [{**known, "digest": "0" * 64} for known in found["pins"][0]["cases"]]
    assert "<ul class=sources>" in made(found)
    assert "<ul class=sources>" not in made({**found, "pins": [{**found["pins"][0], "cases": cases}]})


def test_a_claim_that_nobody_knows_any_more_is_shown() -> None:
    """Results of another version may be judged by claims that are not here: the page says so."""
    assert "A claim that this version does not know." in made(written(pin("p", case("x/y", claim("core/one@1")))))


# --- releases


def test_only_releases_that_changed_something_are_unfolded() -> None:
    """The first, the last, those at which a verdict begins, and those without an answer; what lies between is folded."""
    found = history()
    known = releases(found["pins"], transitions(found))
    assert known.shared == "langchain-"
    assert [(column.first, column.last) for column in known.columns] == [
        (0, 0),
        (1, 2),
        (3, 3),
        (4, 4),
        (5, 5),
        (6, 6),
        (7, 7),
        (8, 8),
        (9, 9),
    ]


@pytest.mark.parametrize(
    ("names", "shared"), [(["i05"], ""), (["a-1", "b-1"], ""), (["a-b-1.2", "a-b-1.3"], "a-b-"), (["a-1", "a"], "")]
)
def test_what_all_names_begin_with_is_said_once(names: list[str], shared: str) -> None:
    """Only what stands before the number of a version, and only if all have it."""
    found = written(*(pin(name, case("x/y")) for name in names))
    assert releases(found["pins"], transitions(found)).shared == shared


def test_what_changed_is_what_transitions_say() -> None:
    """At each pin the cases that went from one verdict to another, and the claims that began or ceased to FAIL."""
    found = history()
    keys = {(known.case, known.digest): known.key for known in rows(found)}
    told = {change.pin: change for change in changes_by_pin(transitions(found), keys)}
    assert list(told) == ["langchain-1.0.3", "langchain-1.0.5", "langchain-1.0.6"]
    fifth = told["langchain-1.0.5"]
    assert {(turn.before, turn.after, turn.cases) for turn in fifth.turns} == {
        (FAIL, PASS, ("decisions/edit", "turns/approve@async"))
    }
    assert fifth.mended == (("core/one@1", 1), ("messages/proposal-kept@1", 1))
    assert fifth.broken == ()
    assert [(turn.before, turn.after) for turn in told["langchain-1.0.6"].turns] == [("not there", "UNKNOWN (unsupported)")]


# --- pictures


@pytest.mark.parametrize("text", ["", "a", "a b " * 40, "x" * 200, "\u4e2d" * 90, "ends with a space ", "  two  spaces  " * 9])
def test_wrapped_text_is_the_same_text(text: str) -> None:
    """Lines fit, and are the text when they are joined."""
    lines = wrapped(text, 52)
    assert "".join(lines) == text
    assert all(len(line) <= 52 for line in lines)


def test_a_text_without_end_is_cut_and_the_picture_says_so() -> None:
    """A megabyte of arguments is a picture of some lines, made at once."""
    action = {"tool": "pay", "args": {"bill": "x" * 1_000_000}}
    found = picture(case("x/y", rows=[row(proposed=action, shown=[], dispatched=[], kept=None)]))
    assert len(found) < 20_000
    assert "lines more, in results.json" in found


def test_a_call_that_ran_again_with_other_arguments_has_two_boxes() -> None:
    """Equal dispatches behind each other are one box with their number, others have their own."""
    one, two = ({"tool": "pay", "args": {"bill": value}} for value in ("A", "B"))
    found = picture(case("x/y", rows=[row(dispatched=[one, one, two])]))
    assert "dispatched 2 times" in found
    assert found.count(">dispatched<") == 1


# --- the command


def test_the_command_writes_one_file(command: Command, tmp_path: Path) -> None:
    """The page of a file or of a folder, with the digest of the file; a second time the same bytes."""
    data = document.canonical(history())
    (tmp_path / "results.json").write_bytes(data)
    done = command("report", "results.json", "--out", "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "saved in page.html\n")
    assert f"results.json sha256:{document.digest(data)}" in (tmp_path / "page.html").read_text("utf-8")
    assert command("report", "results.json").returncode == 0
    assert (tmp_path / "report.html").read_bytes() == (tmp_path / "page.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "report.html", "results.json"]
    assert command("report", "./", "--out", "-").stdout == (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("folder", [True, False])
def test_the_digest_of_the_compact_form_is_that_of_the_file(folder: bool, command: Command, tmp_path: Path) -> None:
    """Results of many pins lie on disk in another form than they are read in: a person cites what `sha256sum` prints."""
    data = document.canonical(results.packed(history()))
    assert b'"values"' in data
    (tmp_path / "results.json").write_bytes(data)
    done = command("report", "./" if folder else "results.json", "--out", "-")
    assert f"results.json sha256:{hashlib.sha256(data).hexdigest()}" in done.stdout
    assert document.digest(document.canonical(history())) not in done.stdout


@pytest.mark.parametrize(
    ("target", "out", "code"), [("none.json", "page.html", 4), ("bad.json", "page.html", 4), ("good.json", "file/page.html", 74)]
)
def test_what_cannot_be_read_or_written_leaves_nothing(target: str, out: str, code: int, command: Command, tmp_path: Path) -> None:
    """A refusal has its exit code, and no half of a page."""
    (tmp_path / "bad.json").write_text('{"results": 1}')
    (tmp_path / "good.json").write_bytes(document.canonical(history()))
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.iterdir())
    assert command("report", target, "--out", out).returncode == code
    assert sorted(tmp_path.iterdir()) == before


def test_what_was_received_stands_in_the_picture() -> None:
    """A call that really was sent shows what its sink got, and under which key; one that was not shows no such lane."""
    path = record.find("persistent-approvals").revision(None).file("results")
    (found,) = results.read(document.read(path), str(path))["pins"]
    cases = {known["case"]: known for known in found["cases"]}
    sent = picture(cases["sender/crash-after-effect-with-key@sqlite"])
    assert sent.count("gets it by http, key call-a") == 2
    assert "sink" not in picture(cases["restart/approve@sqlite"])
