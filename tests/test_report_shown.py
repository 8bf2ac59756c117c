"""The page of results in a real Chromium: it shows what results say, runs nothing of theirs, and asks nothing of any network.

Debian's browser is driven by playwright, whose own browsers are never installed. CI sets DISPATCH_AUDIT_CHROMIUM, so that a browser
that is missing fails there; elsewhere these tests are skipped without one.
"""

import functools
import http.server
import itertools
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from capture.document import Document
from capture.render.printable import visible
from capture.render.report.rows import Row, rows
from tests.pages import MARKUP, extreme, history, hostile, made, published, smoke, together

pytestmark = pytest.mark.chromium

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_LETTERS = {"PASS": "P", "FAIL": "F", "UNKNOWN": "?", "not applicable": "·", None: "\N{EN DASH}"}

Show = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the Chromium that is there; without one these tests are skipped, unless one was named."""
    path = os.environ.get("DISPATCH_AUDIT_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium here: install Debian's, or name one by DISPATCH_AUDIT_CHROMIUM")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=[*_ARGUMENTS])
        yield started
        started.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Return a function that opens the page of results; in the end nothing was requested and no error was printed."""
    asked: list[str] = []
    said: list[str] = []
    contexts = []
    path = tmp_path / "report.html"

    def opened(found: Document, fragment: str = "", **options: Any) -> Page:
        path.write_text(made(found), "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto(f"{path.as_uri()}{fragment}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert set(asked) <= {path.as_uri()}
    assert said == []


def cells(page: Page) -> dict[str, list[str]]:
    """Return the letters of each row of the table."""
    script = """rows => Object.fromEntries(rows.map(tr => [tr.querySelector('a').getAttribute('href').slice(1),
        [...tr.querySelectorAll('td:not(.q)')].flatMap(cell => Array(cell.colSpan).fill(cell.textContent.trim()))]))"""
    found: dict[str, list[str]] = page.locator(".heat tbody tr:not(.family)").evaluate_all(script)
    return found


def expected(found: Document, places: list[int]) -> dict[str, list[str]]:
    """Return the letters that results have at the pins in these places."""
    said = {known.key: [None if state is None else known.states[state]["verdict"] for state in known.at] for known in rows(found)}
    return {key: [_LETTERS[verdicts[place]] for place in places] for key, verdicts in said.items()}


def section(page: Page, key: str) -> Any:
    """Return the section of a case."""
    return page.locator(f'.case[data-key="{key}"]')


def wide(page: Page) -> bool:
    """Tell whether the page is wider than the window."""
    found: bool = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return found


# --- what is shown equals results


@pytest.mark.parametrize("scripts", [True, False])
def test_every_verdict_is_shown(scripts: bool, show: Show) -> None:
    """Folded, and unfolded by a script, the table has the letter of every case at every release."""
    found = history()
    page = show(found, java_script_enabled=scripts)
    assert cells(page) == expected(found, [0, 2, 3, 4, 5, 6, 7, 8, 9])
    if scripts:
        page.get_by_role("button", name="Unfold all releases").click()
        assert cells(page) == expected(found, list(range(10)))
        page.get_by_role("button", name="Fold what is alike").click()
        assert cells(page) == expected(found, [0, 2, 3, 4, 5, 6, 7, 8, 9])
        page.get_by_role("button", name="2 alike").click()
        assert cells(page) == expected(found, list(range(10)))


@pytest.mark.parametrize("found", [together(), smoke()], ids=["together", "smoke"])
def test_every_verdict_of_other_results_is_shown(found: Document, show: Show) -> None:
    """Cases that a pin does not have are a dash there, and a smoke test that failed is UNKNOWN."""
    page = show(found)
    page.get_by_role("button", name="Unfold all releases").click()
    assert cells(page) == expected(found, list(range(len(found["pins"]))))


@pytest.mark.parametrize("name", ["i05", "hitl-docs", "per-call-1.4.6"])
def test_every_count_is_shown(name: str, show: Show) -> None:
    """The first screen has the counts of the last pin, the table of releases those of each."""
    found = published(name)
    page = show(found)
    counts = found["pins"][-1]["counts"]
    assert [int(text) for text in page.locator(".tally dd b").all_text_contents()] == [
        counts[key] for key in ("PASS", "FAIL", "UNKNOWN")
    ]
    for place, pin in enumerate(found["pins"], start=1):
        shown = page.locator(".pins tr").nth(place).locator("td").all_text_contents()
        assert [int(text) for text in shown[:3]] == [pin["counts"][key] for key in ("PASS", "FAIL", "UNKNOWN")]


@pytest.mark.parametrize("found", [history(), published("hitl-docs")], ids=["history", "hitl-docs"])
def test_every_claim_and_every_fault_is_shown(found: Document, show: Show) -> None:
    """The table of a case has the verdict of each claim in each state; each fault stands once, with what was expected and seen."""
    page = show(found)
    for known in rows(found):
        assert section(page, known.key).locator(".claim").evaluate_all(_JUDGED) == _claims(known)
        faults = section(page, known.key).locator(".unmet > li").evaluate_all(_UNMET)
        assert sorted(faults) == sorted({text for state in known.states for text in _faults(state)})


_JUDGED = """lines => Object.fromEntries(lines.flatMap(line => {
    const said = [...line.querySelectorAll('td')].flatMap(cell => Array(cell.colSpan).fill(cell.textContent.split(' (')[0].trim()));
    return [...line.querySelectorAll('a')].map(link => [link.textContent, said]);
}))"""

_UNMET = """claims => claims.flatMap(claim => [...claim.querySelectorAll('dl')].map(fault => [claim.querySelector('a').textContent,
    ...[...fault.querySelectorAll('dd')].map(said => said.textContent.trim())].join('|')))"""


def _claims(known: Row) -> dict[str, list[str]]:
    judged = [{claim["claim"]: claim["verdict"] for claim in known.states[state]["claims"]} for state in known.order]
    return {name: [found.get(name, "not judged") for found in judged] for found in judged for name in found}


def _faults(state: Document) -> Iterator[str]:
    for claim in state["claims"]:
        for fault in claim["faults"]:
            sides = [_value(fault[key]) for key in ("expected", "observed")]
            yield visible("|".join([claim["claim"], fault["evidence"], *sides]))


def _value(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize("found", [history(), published("per-call-1.4.6"), hostile()], ids=["history", "per-call-1.4.6", "hostile"])
def test_every_dispatched_argument_is_shown(found: Document, show: Show) -> None:
    """Each picture has, for each call, the tool and the arguments of every dispatch, to the last space."""
    page = show(found)
    script = """figures => figures.map(figure => [...figure.querySelectorAll('.way')].map(way =>
        [...way.querySelectorAll('.box[data-key^=dispatched] .line')].map(text => text.textContent)))"""
    for known in rows(found):
        shown = section(page, known.key).locator("figure").evaluate_all(script)
        wanted = {
            json.dumps(known.states[state]["calls"], sort_keys=True): _dispatched(known.states[state]) for state in known.order
        }
        assert shown == list(wanted.values())


def _dispatched(state: Document) -> list[list[str]]:
    return [[_said(action) for action in _distinct(call["dispatched"])] for call in state["calls"]]


def _distinct(found: list[Document]) -> list[Document]:
    return [action for place, action in enumerate(found) if not place or action != found[place - 1]]


def _said(action: Document) -> str:
    args = [f"{key}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}" for key, value in sorted(action["args"].items())]
    return "".join(map(visible, (action["tool"], *args)))


# --- what results say runs nothing


@pytest.mark.parametrize("scripts", [True, False])
def test_markup_is_shown_as_text_and_runs_nothing(scripts: bool, show: Show) -> None:
    """Tools, arguments, messages and faults that are markup are read by a person as they are, and the title stays the page's."""
    page = show(hostile(), "#case=hostile/markup&at=p-2&against=p-1", java_script_enabled=scripts)
    assert page.title() == "What ran: p 1 to 2"
    assert page.locator("img, iframe, base, object, [onload], [onerror], [onfocus]").count() == 0
    text = section(page, "hostile/markup").text_content()
    assert all(words in text for words in MARKUP)
    if scripts:
        page.get_by_label("Find").fill("<img src=x onerror")
        expect(page.locator("output")).to_have_text("1 case")
        assert page.title() == "What ran: p 1 to 2"


# --- choosing and comparing


def test_a_link_restores_what_was_chosen(show: Show) -> None:
    """The fragment opens the case, shows two releases beside each other, the older first, and marks what differs, and no more."""
    page = show(history(), "#case=decisions/edit&at=langchain-1.0.5&against=langchain-1.0.4")
    edit = section(page, "decisions/edit")
    expect(edit.locator("summary").first).to_be_focused()
    assert edit.get_by_label("Release").input_value() == "langchain-1.0.5"
    assert edit.get_by_label("Beside").input_value() == "langchain-1.0.4"
    assert sorted(edit.locator("figure:visible figcaption b").all_text_contents()) == ["1.0.4", "1.0.5"]
    boxes = [
        figure.bounding_box() for figure in (edit.locator('figure[data-picture="0"]'), edit.locator('figure[data-picture="1"]'))
    ]
    assert boxes[0]["x"] < boxes[1]["x"]
    for figure in edit.locator("figure:visible").all():
        marked = figure.locator(".differs").evaluate_all("boxes => boxes.map(box => box.dataset.key)")
        assert {key.split()[0] for key in marked} == {"stored", "reported", "kept"}
    assert edit.locator(".differs .other").all_text_contents()
    assert "1.0.4: FAIL, 1.0.5: PASS" in edit.locator(".chooser").text_content()


def test_choosing_changes_the_link(show: Show) -> None:
    """What a person chooses stands in the fragment, and opening that again chooses the same."""
    page = show(history(), "#decisions/edit")
    edit = section(page, "decisions/edit")
    assert edit.locator("figure:visible").count() == 1
    edit.get_by_label("Release").select_option("langchain-1.0.6")
    edit.get_by_label("Beside").select_option("langchain-1.0.0")
    fragment = page.evaluate("location.hash")
    assert fragment == "#case=decisions/edit&at=langchain-1.0.6&against=langchain-1.0.0"
    assert edit.locator("figure:visible").count() == 2
    edit.get_by_label("Beside").select_option("langchain-1.0.8")
    assert edit.locator("figure:visible").count() == 1
    assert "Nothing differs." in edit.locator(".chooser").text_content()
    edit.get_by_label("Beside").select_option("langchain-1.0.7")
    assert "UNKNOWN" in edit.locator(".chooser").text_content()
    other = show(history(), fragment)
    assert section(other, "decisions/edit").locator("figure:visible").count() == 2


@pytest.mark.parametrize(
    "fragment", ["#case=no/such&at=x", "#%", "#at=%zz&case=%", "#case=decisions/edit&at=no&against=none", "#changed=constructor"]
)
def test_a_link_that_means_nothing_breaks_nothing(fragment: str, show: Show) -> None:
    """A case or a release that is not there, and what is no fragment at all, leave the page as it is."""
    page = show(history(), fragment)
    expect(page.locator("output")).to_have_text("4 cases")


def test_a_cell_opens_its_case_at_the_release_and_the_one_before(show: Show) -> None:
    """Where something changed, both sides are shown; Escape leads back to the cell."""
    page = show(history())
    cell = page.locator('tr:has(a[href="#decisions/edit"]) td').nth(4)
    cell.click()
    expect(page).to_have_url(_ends("#case=decisions/edit&at=langchain-1.0.5&against=langchain-1.0.4"))
    expect(section(page, "decisions/edit").locator("figure:visible")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(cell).to_be_focused()


def _ends(text: str) -> Any:
    import re

    return re.compile(f"{re.escape(text)}$")


# --- the filter


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("family", "turns", ["turns/approve@async", "turns/late"]),
        ("verdict", "UNKNOWN", ["turns/late"]),
        ("changed", "any", ["decisions/edit", "turns/approve@async", "turns/late"]),
        ("changed", "langchain-1.0.3", ["turns/approve@async"]),
    ],
)
def test_the_filter_leaves_what_fits(name: str, value: str, left: list[str], show: Show) -> None:
    """The table and the sections have the same cases, the number is said, the link keeps it, and Clear undoes it."""
    page = show(history())
    page.locator(f"select[name={name}]").select_option(value)
    assert _visible(page) == (left, left)
    expect(page.locator("output")).to_have_text(f"{len(left)} of 4 cases")
    again = show(history(), page.evaluate("location.hash"))
    assert _visible(again) == (left, left)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("output")).to_have_text("4 cases")


def _visible(page: Page) -> tuple[list[str], list[str]]:
    table = page.locator(".heat tbody tr:not(.family):visible a").evaluate_all(
        "links => links.map(link => link.getAttribute('href').slice(1))"
    )
    return table, page.locator(".case:visible").evaluate_all("found => found.map(section => section.dataset.key)")


def test_the_filter_finds_words_wherever_they_stand(show: Show) -> None:
    """A tool, an argument or a claim is found in the pictures and the tables of a case."""
    page = show(history())
    page.get_by_label("Find").fill("DELETE")
    assert _visible(page)[0] == ["decisions/approve"]
    page.get_by_label("Find").fill("proposal-kept edits")
    assert _visible(page)[0] == ["decisions/edit"]
    page.locator('.heat a[href="#decisions/edit"]').click()
    page.get_by_label("Find").fill("beside")  # a word of the chooser, which results do not have
    assert _visible(page) == ([], [])
    page.get_by_label("Find").fill("nothing has this")
    assert _visible(page) == ([], [])
    page.keyboard.press("Escape")
    expect(page.locator("output")).to_have_text("4 cases")


def test_a_release_shows_only_what_it_changed(show: Show) -> None:
    """The link beside a release filters the table by it."""
    page = show(history())
    page.locator(".changes li", has_text="1.0.3").get_by_text("Show only these").click()
    expect(page.locator("output")).to_have_text("1 of 4 cases")


# --- the keyboard


def test_the_keyboard_reaches_and_moves(show: Show) -> None:
    """The skip link is first; one cell of the table can be reached; the arrows move in it, over hidden rows, and Enter opens."""
    page = show(history())
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    assert page.evaluate("document.activeElement.getBoundingClientRect().x") >= 0
    assert page.locator('.heat td[tabindex="0"]').count() == 1
    page.locator('.heat td[tabindex="0"]').focus()
    place = "(cell => `${cell.cellIndex} ${cell.parentElement.querySelector('a').textContent}`)(document.activeElement)"
    moves = {
        "ArrowRight": "2 approve",
        "ArrowDown": "2 edit",
        "End": "9 edit",
        "ArrowLeft": "8 edit",
        "ArrowUp": "8 approve",
        "Home": "1 approve",
    }
    for key, expected_place in moves.items():
        page.keyboard.press(key)
        assert page.evaluate(place) == expected_place
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "decisions/approve at 1.0.0: PASS"
    page.get_by_label("Family").select_option("turns")
    page.locator('.heat td[tabindex="0"]').focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate(place) == "1 approve@async"
    page.keyboard.press("Enter")
    expect(section(page, "turns/approve@async").locator("summary").first).to_be_focused()
    page.keyboard.press("Escape")
    assert page.evaluate(place) == "1 approve@async"


# --- everywhere


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("found", [history(), hostile(), extreme(), published("i05")], ids=["history", "hostile", "extreme", "i05"])
def test_a_phone_shows_it_without_scrolling_aside(found: Document, scripts: bool, scheme: Any, show: Show) -> None:
    """At 390 pixels the page is as wide as the window, with every case open; only boxes of their own are scrolled."""
    key = rows(found)[0].key
    page = show(
        found, f"#{key}", viewport={"width": 390, "height": 844}, color_scheme=scheme, java_script_enabled=scripts, is_mobile=True
    )
    page.evaluate("document.querySelectorAll('details').forEach(found => { found.open = true; })")
    page.wait_for_timeout(50)
    assert not wide(page)
    expect(section(page, key).locator("figure").first).to_be_visible()


@pytest.mark.parametrize("fragment", ["", "#case=decisions/edit&at=langchain-1.0.5&against=langchain-1.0.4"])
def test_what_differs_has_a_frame_of_its_own_colour(fragment: str, show: Show) -> None:
    """The thick frame is not the colour of the box that it is around, in light and in dark, with scripts and without."""
    for scheme in ("light", "dark"):
        page = show(history(), fragment or "#decisions/edit", color_scheme=scheme, java_script_enabled=bool(fragment))
        frames = page.locator(".differs > path" if fragment else ".frame").evaluate_all(_STROKES)
        assert frames
        assert set(frames) == {page.evaluate("getComputedStyle(document.querySelector('a.skip')).color")}


_STROKES = "paths => paths.map(path => getComputedStyle(path).stroke)"


@pytest.mark.parametrize("width", [390, 1280])
def test_names_without_end_do_not_make_the_page_wider(width: int, show: Show) -> None:
    """Whatever is chosen and opened, only boxes of their own are scrolled, and the heads of the table stay low."""
    page = show(extreme(), viewport={"width": width, "height": 844})
    page.evaluate("document.querySelectorAll('details').forEach(found => { found.open = true; })")
    page.locator(".chooser select").nth(1).select_option(index=1)
    assert not wide(page)
    assert page.locator(".heat thead").evaluate("head => head.getBoundingClientRect().height") < 300


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("found", [history(), published("per-call-1.4.6")], ids=["history", "per-call-1.4.6"])
def test_every_text_stands_out_from_its_ground(found: Document, scheme: Any, show: Show) -> None:
    """The contrast of text is 4.5 to 1 or more, in light and in dark, in the page and in its pictures."""
    page = show(found, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(found => { found.open = true; })")
    assert page.evaluate(_CONTRAST) == []
    page.evaluate("document.documentElement.style.setProperty('--soft', 'var(--paper)')")
    assert page.evaluate(_CONTRAST) != []


_CONTRAST = """() => {
  const rgb = text => (text.match(/[0-9.]+/g) || []).map(Number);
  const linear = part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4;
  const light = ([red, green, blue]) => .2126 * linear(red / 255) + .7152 * linear(green / 255) + .0722 * linear(blue / 255);
  const behind = element => {
    const way = element.closest('.way');
    const shapes = way ? [element.closest('.box')?.querySelector('path'), way.querySelector('.band')] : [];
    const fill = shapes.filter(Boolean).map(shape => getComputedStyle(shape).fill).find(found => found !== 'none');
    return fill ? [rgb(fill)] : painted(element);
  };
  const painted = element => {
    const style = getComputedStyle(element);
    if (style.backgroundImage !== 'none') return style.backgroundImage.match(/rgba?\\([^)]*\\)/g).map(rgb);
    const colour = rgb(style.backgroundColor);
    return colour.length === 3 || colour[3] > 0 ? [colour] : painted(element.parentElement);
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length || element.closest('script, .skip, option')) continue;
    const style = getComputedStyle(element);
    const ink = light(rgb(element.closest('svg') ? style.fill : style.color));
    for (const back of behind(element).map(light)) {
      const ratio = (Math.max(ink, back) + .05) / (Math.min(ink, back) + .05);
      if (ratio < 4.5) poor.push(`${element.tagName} ${element.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
    }
  }
  return [...new Set(poor)];
}"""


def test_without_scripts_everything_that_matters_is_there(show: Show) -> None:
    """A plain link opens a case with its pictures, states and claims; nothing is offered that would not work."""
    page = show(history(), "#decisions/edit", java_script_enabled=False)
    edit = section(page, "decisions/edit")
    expect(edit.locator("figure")).to_have_count(3)
    for figure in edit.locator("figure").all():
        expect(figure).to_be_visible()
    assert edit.locator(".states > li").count() == 3
    assert edit.locator("figure .frame").count() > 0
    expect(page.locator("form")).to_be_hidden()
    expect(page.locator(".heat")).to_be_visible()
    page.locator('.heat a[href="#turns/approve@async"]').click()
    expect(section(page, "turns/approve@async").locator(".question")).to_be_visible()
    page.locator(".seen a", has_text="core/one@1").locator("visible=true").first.click()
    expect(page.locator(".glossary :target")).to_have_text("core/one@1")
    page.goto(f"{page.url.partition('#')[0]}#claim:core/one@1")
    expect(page.locator(".glossary :target")).to_contain_text("core/one@1")


@pytest.mark.parametrize("scripts", [True, False])
def test_over_http_a_browser_asks_for_the_page_alone(scripts: bool, browser: Browser, tmp_path: Path) -> None:
    """Served from this machine, the page is all that is asked for: no icon, and nothing that the policy has to refuse."""
    asked: list[str] = []
    said: list[str] = []
    (tmp_path / "report.html").write_text(made(history()), "utf-8")
    with serving(tmp_path, asked) as address:
        context = browser.new_context(java_script_enabled=scripts)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"{address}/report.html#case=decisions/edit")
        expect(page.locator("h1")).to_be_visible()
        assert page.locator("link[rel=icon]").get_attribute("href") == "data:,"
        page.wait_for_timeout(500)
        context.close()
    assert asked == ["/report.html"]
    assert said == []


@contextmanager
def serving(folder: Path, asked: list[str]) -> Iterator[str]:
    """Serve a folder on the loopback, and keep the paths that are asked for."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


# --- who does not see it


@pytest.mark.parametrize("scripts", [True, False])
def test_a_screen_reader_finds_its_way(scripts: bool, show: Show) -> None:
    """No level of headings is left out, every table has heads, a picture is read in the order of its lanes, or says where it is."""
    page = show(history(), "#decisions/edit", java_script_enabled=scripts)
    page.evaluate("document.querySelectorAll('details').forEach(found => { found.open = true; })")
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4, h5')].map(head => Number(head.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.locator("table").evaluate_all("tables => tables.every(table => table.querySelector('th[scope]'))")
    assert page.locator("th:not([scope])").count() == 0
    read = section(page, "decisions/edit").locator("figure").first.aria_snapshot()
    said = [read.index(words) for words in ("model proposes", "reviewer is shown", "tool dispatched", "messages answer")]
    assert said == sorted(said)
    again = page.get_by_role("img", name="as in")
    assert (again.count() > 0) is not scripts
    assert page.locator("svg[role=img]:not([aria-label])").count() == 0


def test_the_letters_of_the_table_are_words_where_it_matters(show: Show) -> None:
    """The verdict of a cell that has the focus is a word, and so are those of a case and of its claims."""
    page = show(history())
    page.locator('.heat td[tabindex="0"]').focus()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "decisions/approve at 1.0.0: PASS"
    page.goto(f"{page.url.partition('#')[0]}#decisions/edit")
    edit = section(page, "decisions/edit")
    assert edit.locator(".states .badge").all_text_contents() == ["PASS", "UNKNOWN", "FAIL"]
    assert {"PASS", "FAIL"} <= {text.strip() for text in edit.locator(".claim td").all_text_contents()}


def test_a_drawing_that_is_used_again_is_seen_without_scripts(show: Show) -> None:
    """A call that went the same way in another case has its picture there as well."""
    page = show(history(), java_script_enabled=False)
    page.evaluate("document.querySelectorAll('details').forEach(found => { found.open = true; })")
    for use in page.locator(".way > use").all():
        box = use.bounding_box()
        assert box is not None
        assert box["height"] > 100
