"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const grids = new Map();

  // Theme: follows the system until the button is pressed.
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const toggle = document.createElement("button");
  const label = () => { toggle.textContent = isDark() ? "Light theme" : "Dark theme"; };
  toggle.type = "button";
  toggle.id = "theme";
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  prefersDark.addEventListener("change", label);
  label();
  document.getElementById("controls").append(toggle);

  // Sorting: first the usual order for the kind of column, then reversed, then the original.
  const number = (text) => {
    const found = text.replace(/,/g, "").match(/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/i);
    return found ? Number(found[0]) : null;
  };
  const compare = (a, b, sign) => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1; // what is missing comes last
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  };
  for (const table of all("table")) {
    const original = all("tbody tr", table).map((row) => [row, row.parentNode]);
    all("thead th", table).forEach((head, place) => {
      const isNumber = head.classList.contains("n");
      const value = (row) => {
        const text = row.cells[place].textContent.trim();
        return text === "-" || text === "" ? null : isNumber ? number(text) : text;
      };
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const [first, second] = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
        const was = head.getAttribute("aria-sort");
        const order = was === first ? second : was === second ? null : first;
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        if (!order) return original.forEach(([row, body]) => body.append(row));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const sorted = original.map(([row]) => [value(row), row]);
        sorted.sort(([a], [b]) => compare(a, b, sign));
        table.tBodies[0].append(...sorted.map(([, row]) => row));
      });
    });
  }

  // Values under the pointer, for marks with a tip and for cells of a grid.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = !text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
  };
  const hide = () => { tip.hidden = true; };
  const inGrid = (svg, event) => {
    if (!grids.has(svg)) grids.set(svg, JSON.parse(svg.dataset.grid));
    const grid = grids.get(svg);
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const column = Math.floor((at.x - grid.x) / grid.width);
    const row = Math.floor((at.y - grid.y) / grid.height);
    const values = grid.values[row];
    if (!values || values[column] === undefined) return "";
    if (!grid.columns[column]) return "";
    return grid.rows[row] + "\n" + grid.columns[column] + "\n" + grid.says + " " + values[column];
  };
  document.addEventListener("pointermove", (event) => {
    const marked = event.target.closest("[data-tip]");
    const svg = event.target.closest("[data-grid]");
    show(marked ? marked.dataset.tip : svg ? inGrid(svg, event) : "", event.clientX, event.clientY);
  });
  document.addEventListener("pointerleave", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // Sets to move along: what each keeps, costs and loses. Texts come from the page.
  const make = (name, text = "", css = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (css) made.className = css;
    return made;
  };
  const listing = (names) => {
    const made = make("ul", "", "names");
    made.append(...names.map((name) => make("li", name)));
    return made;
  };
  for (const slider of all(".slider")) {
    const { names, stops, start, startName } = JSON.parse(slider.querySelector("script").textContent);
    const [input, output, sets] = ["input", "output", ".sets"].map((one) => slider.querySelector(one));
    const dots = all("[data-stop]", slider.closest("figure"));
    const [whole, summary] = [make("details"), make("summary", "All features of this set")];
    const differences = (own, others) => {
      const known = new Set(others);
      return own.filter((feature) => !known.has(feature)).map((feature) => names[feature]);
    };
    const move = () => {
      const place = Number(input.value);
      const { facts, features, remark } = stops[place];
      output.replaceChildren(...facts.map(([name, value, beside]) => {
        const tile = make("span", "", "tile");
        tile.append(make("span", name + " "), make("b", value + " "), make("small", beside));
        return tile;
      }), make("span", remark, "remark"));
      input.setAttribute("aria-valuetext", facts.map((fact) => fact.join(" ").trim()).join(", "));
      const own = [];
      for (const [word, found] of [
        ["Without", differences(stops[start].features, features)],
        ["With", differences(features, stops[start].features)],
      ]) {
        if (place !== start && found.length) {
          own.push(make("p", word + " " + found.length + ", compared with " + startName + ":"), listing(found));
        }
      }
      whole.hidden = !features.length;
      whole.replaceChildren(summary, listing(features.map((one) => names[one])));
      sets.replaceChildren(...own, whole);
      dots.forEach((dot) => dot.classList.toggle("chosen", Number(dot.dataset.stop) === place));
    };
    input.addEventListener("input", move);
    slider.hidden = false;
    move();
  }

  // Unfold everything for printing.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();
