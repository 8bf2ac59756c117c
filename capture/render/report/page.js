"use strict";
// Choosing, comparing, filtering: everything that is said stands in the page without this script as well.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const letters = { PASS: ["P", "p"], FAIL: ["F", "f"], UNKNOWN: ["?", "u"] };
  const verdicts = { P: "PASS", F: "FAIL", "?": "UNKNOWN" };
  const heat = document.querySelector(".heat");
  const form = document.querySelector(".filter");
  const shared = data.shared;
  const short = (place) => data.pins[place].slice(shared.length);
  const made = (name, text, kind) => {
    const found = document.createElement(name);
    if (text) found.textContent = text;
    if (kind) found.className = kind;
    return found;
  };

  // A drawing that is used again becomes one of its own, to be read, searched and marked; the frames are for those without scripts.
  for (const use of document.querySelectorAll(".way > use")) {
    const way = use.parentElement;
    const twin = document.getElementById(use.getAttribute("href").slice(1));
    use.replaceWith(...[...twin.children].map((part) => part.cloneNode(true)));
    way.setAttribute("role", "group");
    way.removeAttribute("aria-label");
  }
  for (const frame of document.querySelectorAll(".frame")) frame.remove();

  // --- what each case has at each pin

  const keys = Object.keys(data.cases);
  const at = {};
  const judged = {};
  for (const [place, [key, runs]] of Object.entries(data.cases).entries()) {
    at[key] = runs.flatMap(([state, count]) => Array(count).fill(state));
    judged[key] = [...data.verdicts[place]].map((letter) => verdicts[letter]);
  }
  const verdict = (key, place) => (at[key][place] === null ? null : judged[key][at[key][place]]);
  const words = (key, place) => verdict(key, place) || "not there";
  const sections = new Map([...document.querySelectorAll(".case")].map((found) => [found.dataset.key, found]));
  const rows = [...heat.querySelectorAll("tbody tr:not(.family)")].map((tr) => ({
    tr,
    key: tr.querySelector("a").getAttribute("href").slice(1),
  }));
  const changes = new Map(Object.entries(data.changes).map(([pin, places]) => [pin, new Set(places.map((place) => keys[place]))]));
  const changed = new Set([...changes.values()].flatMap((found) => [...found]));
  const last = data.pins.length - 1;

  // --- the table: its columns, and the keys that move in it

  let columns = data.columns;
  const drawCells = () => {
    for (const { tr, key } of rows) {
      for (const cell of [...tr.querySelectorAll("td:not(.q)")]) cell.remove();
      const cells = columns.map(([first, end]) => cellOf(key, first, end));
      tr.querySelector("th").after(...cells);
    }
  };
  const cellOf = (key, first, end) => {
    const [letter, kind] = letters[verdict(key, end)] || ["–", "x"];
    const cell = made("td", letter, kind);
    cell.tabIndex = -1;
    if (end > first) cell.classList.add("k");
    if (first && new Set(at[key].slice(first - 1, end + 1)).size > 1) cell.classList.add("c");
    return cell;
  };
  const drawHeads = () => {
    const head = heat.tHead.rows[0];
    for (const old of [...head.cells].slice(1)) old.remove();
    for (const [first, end] of columns) {
      const cell = made("th", "", end > first ? "fold" : "");
      cell.scope = "col";
      cell.append(end > first ? foldButton(first, end) : made("span", short(first)));
      head.append(cell);
    }
    for (const cell of heat.querySelectorAll(".family th")) cell.colSpan = columns.length + 1;
  };
  const foldButton = (first, end) => {
    const button = made("button", `${end - first + 1} alike`);
    button.type = "button";
    button.title = `Unfold ${short(first)} to ${short(end)}`;
    button.addEventListener("click", () => {
      columns = columns.flatMap((found) => (found[0] === first ? singles(first, end) : [found]));
      draw();
      heat.tHead.rows[0].cells[1 + columns.findIndex((found) => found[0] === first)].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    return button;
  };
  const singles = (first, end) => Array.from({ length: end - first + 1 }, (_, place) => [first + place, first + place]);
  const draw = () => {
    drawHeads();
    drawCells();
    rove(visibleRows()[0]?.cells[1]);
  };
  const visibleRows = () => rows.map(({ tr }) => tr).filter((tr) => !tr.hidden && !tr.parentElement.hidden);
  const rove = (cell) => {
    for (const old of heat.querySelectorAll('td[tabindex="0"]')) old.tabIndex = -1;
    if (cell) cell.tabIndex = 0;
  };
  const placed = (cell) => {
    const { key } = rows.find(({ tr }) => tr === cell.parentElement);
    const [first, end] = columns[cell.cellIndex - 1];
    return { key, first, end };
  };
  const describe = (cell) => {
    const { key, first, end } = placed(cell);
    const where = first === end ? short(first) : `${short(first)} to ${short(end)}`;
    cell.title = `${key} at ${where}: ${words(key, end)}`;
    cell.setAttribute("aria-label", cell.title);
  };
  const move = (cell, key) => {
    const shown = visibleRows();
    const row = shown.indexOf(cell.parentElement);
    const end = columns.length;
    const to = {
      ArrowRight: [row, Math.min(cell.cellIndex + 1, end)],
      ArrowLeft: [row, Math.max(cell.cellIndex - 1, 1)],
      ArrowDown: [Math.min(row + 1, shown.length - 1), cell.cellIndex],
      ArrowUp: [Math.max(row - 1, 0), cell.cellIndex],
      Home: [row, 1],
      End: [row, end],
    }[key];
    return to && shown[to[0]].cells[to[1]];
  };
  let came = null;
  const openCell = (cell) => {
    const { key, first, end } = placed(cell);
    const before = first && at[key][first] !== at[key][first - 1] && at[key][first - 1] !== null ? first - 1 : null;
    came = cell;
    if (at[key][end] !== null) go({ case: key, at: data.pins[before === null ? end : first], against: before === null ? "" : data.pins[before] });
  };
  heat.addEventListener("click", (event) => {
    const cell = event.target.closest("td:not(.q)");
    if (cell) openCell(cell);
  });
  heat.addEventListener("focusin", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    rove(cell);
    describe(cell);
  });
  heat.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("td:not(.q)");
    if (cell) describe(cell);
  });
  heat.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = move(cell, event.key);
    if (next) next.focus();
    else if (event.key === "Enter" || event.key === " ") openCell(cell);
    else return;
    event.preventDefault();
  });

  // --- a case: one release, or two beside each other

  const chooserOf = (section) => {
    const found = section.querySelector(".chooser");
    if (found || !data.many) return found;
    const chooser = made("div", "", "chooser");
    const key = section.dataset.key;
    const pick = (name, label, options) => {
      const outer = made("label", `${label} `);
      const select = made("select");
      select.name = name;
      select.append(...options);
      outer.append(select);
      select.addEventListener("change", () => {
        const [one, two] = chooser.querySelectorAll("select");
        go({ case: key, at: one.value, against: two.value }, true);
      });
      return outer;
    };
    const releases = () => data.pins.map((pin, place) => new Option(`${short(place)}  ${words(key, place)}`, pin)).reverse();
    chooser.append(pick("at", "Release", releases()), pick("against", "Beside", [new Option("no other", ""), ...releases()]));
    const told = made("p");
    told.setAttribute("aria-live", "polite");
    chooser.append(told);
    section.querySelector(".pictures").before(chooser);
    return chooser;
  };
  const choose = (section, one, two) => {
    const key = section.dataset.key;
    const chooser = chooserOf(section);
    if (!chooser) return;
    const [first, second] = chooser.querySelectorAll("select");
    first.value = data.pins[one];
    second.value = two === null ? "" : data.pins[two];
    const states = [at[key][one], two === null ? null : at[key][two]];
    const items = [...section.querySelectorAll(".states > li")];
    for (const item of items) item.classList.toggle("chosen", states.includes(Number(item.dataset.state)));
    const numbers = states.map((state) => items.find((item) => Number(item.dataset.state) === state)?.dataset.picture);
    for (const cell of section.querySelectorAll(".seen thead [data-state]")) cell.classList.toggle("chosen", states.includes(Number(cell.dataset.state)));
    showPictures(section, numbers, [one, two]);
    chooser.lastElementChild.textContent = two === null ? "" : told(key, [one, two], states, numbers);
  };
  const told = (key, [one, two], states, numbers) => {
    const said = `${short(two)}: ${words(key, two)}, ${short(one)}: ${words(key, one)}. `;
    if (states.includes(null)) return `${said}The case is not there at one of them.`;
    if (states[0] === states[1]) return `${said}Nothing differs.`;
    return said + (numbers[0] === numbers[1] ? "The calls went the same way; what else differs is said below." : "What differs stands in a thick frame, underlined.");
  };
  const showPictures = (section, numbers, places) => {
    const figures = new Map([...section.querySelectorAll("figure")].map((found) => [found.dataset.picture, found]));
    for (const [number, figure] of figures) {
      figure.hidden = !numbers.includes(number);
      figure.classList.toggle("beside", number === numbers[1] && numbers[0] !== numbers[1]);
      figure.classList.toggle("alone", new Set(numbers.filter((found) => found !== undefined)).size === 1);
      const named = places.filter((place, side) => place !== null && numbers[side] === number).reverse();
      figure.querySelector("figcaption b").textContent = named.map(short).join(" and ");
      mark(figure, null);
    }
    const [one, two] = numbers.map((number) => figures.get(number));
    if (one && two && one !== two) {
      mark(one, two);
      mark(two, one);
    }
  };
  const mark = (figure, other) => {
    const twins = other ? calls(other) : new Map();
    for (const [name, way] of calls(figure)) {
      const boxes = new Map([...(twins.get(name)?.querySelectorAll(".box") || [])].map((box) => [box.dataset.key, box]));
      for (const box of way.querySelectorAll(".box")) {
        const match = boxes.get(box.dataset.key);
        const differs = Boolean(other) && !(match && form_(match) === form_(box));
        box.classList.toggle("differs", differs);
        const lines = new Set(match ? [...match.querySelectorAll("tspan")].map((line) => line.textContent) : []);
        for (const line of box.querySelectorAll("tspan")) line.classList.toggle("other", differs && !lines.has(line.textContent));
      }
    }
  };
  // Calls are the same by their ids and, as ids can be shared, by their count.
  const calls = (figure) => {
    const seen = new Map();
    const found = new Map();
    for (const call of figure.querySelectorAll(".call")) {
      const id = call.querySelector("p").textContent;
      seen.set(id, (seen.get(id) || 0) + 1);
      found.set(`${id} ${seen.get(id)}`, call);
    }
    return found;
  };
  const form_ = (box) => [["o", "r", "n"].find((kind) => box.classList.contains(kind)), ...[...box.querySelectorAll("text")].map((text) => text.textContent)].join("\n");
  const newest = (key) => at[key].findLastIndex((state) => state !== null);
  for (const section of sections.values()) {
    section.querySelector("details").addEventListener("toggle", (event) => {
      if (event.target === event.currentTarget && event.target.open && !section.querySelector(".chooser")) choose(section, newest(section.dataset.key), null);
    });
  }

  // --- the filter

  // Read before anything is chosen: what the script adds to a case is nothing that results say.
  const texts = new Map([...sections].map(([key, section]) => [key, `${key} ${section.textContent}`.toLowerCase()]));
  const fields = ["q", "family", "verdict", "changed"];
  const value = (name) => form.elements[name]?.value || "";
  const fits = (key) => {
    const among = value("changed");
    return (
      (!value("family") || key.startsWith(`${value("family")}/`)) &&
      (!value("verdict") || verdict(key, last) === value("verdict")) &&
      (!among || (among === "any" ? changed.has(key) : changes.get(among)?.has(key))) &&
      value("q").toLowerCase().split(/\s+/).every((word) => texts.get(key).includes(word))
    );
  };
  const filter = () => {
    const kept = new Set(keys.filter(fits));
    for (const { tr, key } of rows) tr.hidden = !kept.has(key);
    for (const [key, section] of sections) section.hidden = !kept.has(key);
    for (const body of heat.tBodies) body.hidden = [...body.rows].slice(1).every((tr) => tr.hidden);
    for (const group of document.querySelectorAll(".group")) group.hidden = [...group.querySelectorAll(".case")].every((found) => found.hidden);
    const all = keys.length;
    form.elements.count.textContent = kept.size === all ? `${all} ${all === 1 ? "case" : "cases"}` : `${kept.size} of ${all} cases`;
    rove(visibleRows()[0]?.cells[1]);
  };
  const filtered = () => Object.fromEntries(fields.map((name) => [name, value(name)]));
  form.addEventListener("input", () => {
    filter();
    write({ ...filtered() });
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () =>
    setTimeout(() => {
      filter();
      write(filtered());
    }),
  );
  form.elements.unfold?.addEventListener("click", (event) => {
    const open = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", String(open));
    event.target.textContent = open ? "Fold what is alike" : "Unfold all releases";
    columns = open ? singles(0, last) : data.columns;
    draw();
  });

  // --- the fragment

  const plain = (part) => encodeURIComponent(part).replace(/%2F/g, "/").replace(/%40/g, "@").replace(/%2C/g, ",");
  const fragment = (found) => {
    const parts = Object.entries(found).filter(([, part]) => part);
    return parts.length ? `#${parts.map(([name, part]) => `${name}=${plain(part)}`).join("&")}` : "#table";
  };
  const write = (found) => history.replaceState(null, "", fragment(found));
  const go = (found, quiet) => {
    const next = fragment({ ...found, ...filtered() });
    if (quiet) {
      history.replaceState(null, "", next);
      read(true);
    } else if (next === location.hash) read(false);
    else location.hash = next;
  };
  const read = (quiet) => {
    const hash = location.hash.slice(1);
    let asked;
    try {
      asked = hash.includes("=") ? new URLSearchParams(hash.replace(/\+/g, "%2B")) : new URLSearchParams({ case: decodeURIComponent(hash) });
    } catch {
      return; // a percent sign that is no escape
    }
    if (hash.includes("=")) {
      for (const name of fields) {
        const field = form.elements[name];
        if (field) field.value = asked.get(name) || "";
        if (field && field.value !== (asked.get(name) || "")) field.value = "";
      }
      filter();
    }
    const section = sections.get(asked.get("case"));
    if (section) openCase(section, asked, quiet);
    else if (hash.includes("=") && !quiet) document.getElementById("table").scrollIntoView();
  };
  const openCase = (section, asked, quiet) => {
    section.hidden = section.parentElement.hidden = false;
    const details = section.querySelector("details");
    details.open = true;
    const place = (name) => data.pins.indexOf(asked.get(name));
    const one = place("at") < 0 ? newest(section.dataset.key) : place("at");
    choose(section, one, place("against") < 0 ? null : place("against"));
    if (quiet) return;
    section.scrollIntoView();
    section.querySelector("summary").focus({ preventScroll: true });
  };
  const back = (key) => (came?.isConnected && placed(came).key === key ? came : rows.find((row) => row.key === key).tr.querySelector("a"));
  addEventListener("hashchange", () => read(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const section = event.target.closest?.(".case");
    if (section) back(section.dataset.key).focus();
    else if (event.target.closest?.(".filter")) form.reset();
  });

  document.documentElement.classList.add("js");
  heat.setAttribute("role", "grid");
  if (data.many) drawHeads();
  drawCells();
  filter();
  read(false);
})();
