// Hindrance, costs, coordination and works: tables and pictures that do not depend on clicks,
// except for the hindrance of a course.

// The expected hindrance is missing if too many courses are possible to compute it.
const heatKnown = data.hindrance.length === rules.length;
let heatOfCourse = !heatKnown;
const mostColumns = 60;
const heatRows = () => {
  if (!heatOfCourse) return data.hindrance.map((row) => new Map(row));
  return rules.map((rule) => {
    const both = overlap(course, rule);
    const row = new Map();
    if (both) {
      for (let stage = both[0]; stage < both[1]; stage++) row.set(stage, costAt(rule.cost, stage));
    }
    return row;
  });
};
const drawHeat = () => {
  const width = Math.ceil((horizon - first) / mostColumns);
  const columns = Math.ceil((horizon - first) / width);
  const rows = heatRows().map((row, number) => {
    const cells = new Array(columns).fill(0);
    for (const [stage, amount] of row) cells[Math.floor((stage - first) / width)] += amount;
    return { number, cells, sum: cells.reduce((a, b) => a + b, 0) };
  });
  const size = (row) => row.cells.reduce((a, b) => a + Math.abs(b), 0);
  const shown = rows
    .filter((row) => size(row) >= 0.005)
    .sort((a, b) => size(b) - size(a) || a.number - b.number);
  const most = Math.max(...shown.flatMap((row) => row.cells.map(Math.abs)), 0);
  const table = element("table", { class: "heat" });
  table.style.setProperty("--columns", columns);
  const ticks = new Set(ticksOf(380).map((stage) => Math.floor((stage - first) / width)));
  const head = element("tr", {}, element("th", { scope: "col" }, "works"));
  const labels = [];
  for (let k = 0; k < columns; k++) {
    const from = first + k * width;
    labels.push(during(from, Math.min(from + width, horizon) - 1));
    head.append(
      element(
        "th",
        { scope: "col", title: labels[k] },
        ticks.has(k) ? tick(from) : element("span", { class: "visually-hidden" }, labels[k]),
      ),
    );
  }
  head.append(element("th", { scope: "col", class: "number" }, "in all"));
  const body = element("tbody");
  for (const row of shown) {
    const line = element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        ...rules[row.number].works.map((work) => named(works[work].name)),
      ),
    );
    row.cells.forEach((amount, k) => {
      const words = `${labels[k]}: ${money(amount)}`;
      const cell = element(
        "td",
        {
          class: amount ? "cell some" : "cell",
          title: words,
          "data-rule": row.number,
          "data-column": k,
        },
        amount ? element("span", { class: "visually-hidden" }, money(amount)) : "",
      );
      cell.style.setProperty("--share", amount ? 10 + (80 * Math.abs(amount)) / most : 0);
      line.append(cell);
    });
    line.append(element("td", { class: "number" }, money(row.sum)));
    body.append(line);
  }
  const group = element("colgroup", {}, element("col", { class: "pair" }));
  for (let k = 0; k < columns; k++) group.append(element("col"));
  group.append(element("col", { class: "sum" }));
  table.append(group, element("thead", {}, head), body);
  const silent = rows.length - shown.length;
  const words = [];
  if (!rules.length) words.push("The problem has no hindrance rules.");
  else if (!shown.length) words.push("No hindrance.");
  if (silent) {
    const where = heatOfCourse ? "course" : "plan";
    const who = count(silent, "rule costs", "rules cost");
    words.push(`${who} nothing, or less than a cent, in this ${where}.`);
  }
  if (heatOfCourse && course.unknown.length)
    words.push("The course is incomplete: this page does not hold the rest.");
  const per = width === 1 ? data.unit : steps(width);
  const scale = element("div", { class: "scale" }, "0", element("i"), `${money(most)} per ${per}`);
  fill($("heat"), shown.length ? table : "");
  fill(
    $("heat-notes"),
    shown.length ? scale : "",
    element("p", { class: "muted" }, words.join(" ")),
  );
  const show = (ofCourse) => () => {
    heatOfCourse = ofCourse;
    drawHeat();
    $("heat-choices").querySelector('[aria-pressed="true"]').focus();
  };
  fill(
    $("heat-choices"),
    heatKnown ? choice("Expected", !heatOfCourse, show(false)) : "",
    choice("The course above", heatOfCourse, show(true)),
  );
  $("heat-reading").textContent = shown.length ? "Point at a cell to read its cost." : "";
  // A table wider than the screen is scrolled to its first cost.
  const begin = $("heat").querySelector("td.some");
  if (begin)
    $("heat").scrollLeft = begin.offsetLeft - $("heat").clientWidth + begin.offsetWidth * 3;
};
const readHeat = (event) => {
  const cell = event.target.closest("td.cell");
  if (!cell) return;
  const names = rules[cell.dataset.rule].works.map((work) => works[work].name);
  fill(
    $("heat-reading"),
    ...names.flatMap((name, k) => [k ? " and " : "", inText(name)]),
    `, ${cell.title}`,
  );
};

const line = (words, amount, note, kind) =>
  element(
    "div",
    { class: kind ?? "" },
    element("dt", {}, words),
    element("dd", {}, amount, note ? element("small", {}, note) : ""),
  );
const drawSummary = () => {
  const { summary } = data;
  $("title").append(inText(data.title));
  $("subtitle").textContent = data.subtitle;
  $("headline").textContent = summary.headline;
  $("proof").textContent = summary.proof;
  $("proof").classList.add(summary.proven ? "proven" : "open");
  fill(
    $("amounts"),
    ...summary.amounts.map(({ words, amount, note, total: sum }) =>
      line(words, money(amount), note, sum ? "total" : ""),
    ),
  );
  $("summary-note").textContent = summary.note;
  $("plan-help").textContent = data.words.plan;
  $("held").textContent = data.words.held;
  $("held").hidden = !data.words.held;
  $("heat-help").textContent = data.words.hindrance;
  $("footer").textContent = data.words.footer;
};

const table = (head, rows, kind = "wide") =>
  element(
    "table",
    { class: kind },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...head.map(([words, number]) =>
          element("th", { scope: "col", class: number ? "number" : null }, words),
        ),
      ),
    ),
    element("tbody", {}, ...rows),
  );

const drawCosts = () => {
  const { distribution } = data;
  $("costs-help").textContent = distribution.words;
  if (!distribution.bins.length) return;
  const { low, high, mean, bins, quantiles } = distribution;
  const most = Math.max(...bins);
  const histogram = element("div", {
    class: "histogram",
    role: "img",
    "aria-label": distribution.words,
  });
  bins.forEach((chance, k) => {
    const from = low + ((high - low) * k) / bins.length;
    const to = low + ((high - low) * (k + 1)) / bins.length;
    const column = element("div", {
      class: chance ? "column" : "column none",
      title: `${money(from)} to ${money(to)}: ${percent(chance)}`,
    });
    column.style.height = chance ? `max(2px, ${(100 * chance) / most}%)` : "0";
    histogram.append(column);
  });
  const share = high > low ? (mean - low) / (high - low) : 0.5;
  const mark = element(
    "div",
    { class: share > 0.5 ? "line right" : "line" },
    element("span", {}, `expected ${money(mean)}`),
  );
  mark.style.left = `${100 * share}%`;
  histogram.append(mark);
  const rows = quantiles.map(([chance, amount]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `in ${percent(chance)} of cases`),
      element("td", { class: "number" }, `at most ${money(amount)}`),
    ),
  );
  fill(
    $("costs"),
    histogram,
    element(
      "div",
      { class: "ends" },
      element("span", {}, money(low)),
      element("span", {}, money(high)),
    ),
    element(
      "details",
      { open: true },
      element("summary", {}, "In numbers"),
      table(
        [
          ["", false],
          [distribution.title, true],
        ],
        rows,
        "",
      ),
    ),
  );
};

const drawTogether = () => {
  const { coordination } = data;
  $("together-help").textContent = coordination.words;
  if (!coordination.rows.length) return;
  const own = element(
    "tr",
    {},
    element("th", { class: "within", colspan: "4", scope: "colgroup" }, coordination.within),
  );
  const rows = coordination.rows.map(({ words, together, alone, saved, total: sum, name }) =>
    element(
      "tr",
      { class: sum ? "total" : null },
      element("th", { scope: "row" }, name ? named(words) : words),
      element("td", { class: "number" }, together === null ? "–" : money(together)),
      element("td", { class: "number" }, money(alone)),
      element("td", { class: "number" }, saved === null ? "–" : money(saved)),
    ),
  );
  rows.splice(
    coordination.rows.findIndex(({ name }) => name),
    0,
    own,
  );
  fill(
    $("together"),
    table(
      [
        ["", false],
        ["this plan", true],
        ["planning alone", true],
        [data.costs ? "saved" : "gained", true],
      ],
      rows,
      "wide sums",
    ),
  );
};

const drawWorks = () => {
  $("works-help").textContent = data.words.works;
  const { titles, texts } = data.details;
  const rows = works.map((work, number) =>
    element(
      "tr",
      {},
      element("td", {}, named(contractors[work.contractor])),
      element("th", { scope: "row" }, named(work.name)),
      element("td", {}, steps(work.steps)),
      element(
        "td",
        {},
        work.late
          ? `${percent(work.chance)}: ${steps(work.late)} more`
          : work.always
            ? "always (included)"
            : "never",
      ),
      element("td", {}, work.starts === null ? "" : work.starts),
      element("td", { class: "number" }, work.completed === null ? "" : percent(work.completed)),
      element("td", { class: "number" }, work.expected === null ? "" : money(work.expected)),
      element("td", { class: "number" }, work.revenue ? money(work.revenue) : "–"),
      ...(titles.length ? texts[number].map((text) => element("td", {}, named(text))) : []),
    ),
  );
  fill(
    $("works"),
    table(
      [
        ["contractor", false],
        ["work", false],
        ["takes", false],
        ["delay", false],
        ["starts", false],
        ["completed", true],
        ["expected cost", true],
        ["revenue", true],
        ...titles.map((title) => [named(title), false]),
      ],
      rows,
    ),
  );
};
