// Summary, rules for delays, costs, coordination and works: they do not depend on clicks.

const line = (words, amount, note, kind) =>
  element(
    "div",
    { class: kind ?? "" },
    element("dt", {}, words),
    element("dd", {}, amount, note ? element("small", {}, note) : ""),
  );
const drawHead = () => {
  const own = data.contractor;
  if (own === undefined) {
    fill($("title"), inText(data.title));
    $("subtitle").textContent = data.subtitle;
  } else {
    fill($("title"), ...sayNodes("Plan for {contractor}", { contractor: inText(own) }));
    fill($("subtitle"), inText(data.title), `: ${data.subtitle}`);
  }
  $("footer").textContent = data.words.footer;
};
const drawSummary = () => {
  const { summary } = data;
  $("headline").textContent = summary.headline;
  $("proof").textContent = summary.proof;
  $("proof").hidden = !summary.proof;
  $("proof").classList.add(summary.proven ? "proven" : "open");
  fill(
    $("amounts"),
    ...summary.amounts.map(({ words, amount, note, total: sum }) =>
      line(words, money(amount), note, sum ? "total" : ""),
    ),
  );
  $("amounts").hidden = !summary.amounts.length;
  fill($("summary-changes"), ...summary.changes.map((each) => element("li", {}, each)));
  $("summary-changes").hidden = !summary.changes.length;
  $("summary-note").textContent = summary.note;
  $("summary-later").textContent = summary.later;
  $("summary-later").hidden = !summary.later;
};

const drawDelays = () => {
  const { title, help, lists } = data.delays;
  $("delays-title").textContent = title;
  $("delays-help").textContent = help;
  const item = ([condition, consequences]) =>
    consequences.length === 1
      ? element(
          "li",
          {},
          say("{condition}, {consequence}", { condition, consequence: consequences[0] }),
        )
      : element(
          "li",
          {},
          `${condition}:`,
          element("ul", {}, ...consequences.map((each) => element("li", {}, each))),
        );
  fill(
    $("delays-rules"),
    ...lists.flatMap((each) => [
      each.title ? element("h3", {}, each.title) : "",
      each.rules.length
        ? element("ul", { class: "rules" }, ...each.rules.map(item))
        : element("p", {}, each.none),
      each.more ? element("p", { class: "muted" }, each.more) : "",
    ]),
  );
};

const drawWhy = () => {
  const { sentences, note } = data.why;
  $("why-help").textContent = note;
  $("why-list").hidden = !sentences.length;
  fill($("why-list"), ...sentences.map((each) => element("li", {}, each)));
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
      title: say("{low} to {high}: {chance}", {
        low: money(from),
        high: money(to),
        chance: percent(chance),
      }),
    });
    column.style.height = chance ? `max(2px, ${(100 * chance) / most}%)` : "0";
    histogram.append(column);
  });
  const share = high > low ? (mean - low) / (high - low) : 0.5;
  const mark = element(
    "div",
    { class: share > 0.5 ? "line right" : "line" },
    element("span", {}, say("expected {amount}", { amount: money(mean) })),
  );
  mark.style.left = `${100 * share}%`;
  histogram.append(mark);
  const rows = quantiles.map(([chance, amount]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, say("in {share} of cases", { share: percent(chance) })),
      element("td", { class: "number" }, say("at most {amount}", { amount: money(amount) })),
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
      element("summary", {}, say("In numbers")),
      table(
        [
          [hidden(say("share of cases")), false],
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
        [hidden(say("part")), false],
        [say("this plan"), true],
        [say("planning alone"), true],
        [data.costs ? say("saved") : say("gained"), true],
      ],
      rows,
      "wide sums",
    ),
  );
};

const cellOf = (cell) => {
  let main = cell.text ?? "";
  if (cell.name !== undefined) main = named(cell.name);
  if (cell.money !== undefined) main = money(cell.money);
  if (cell.percent !== undefined) main = percent(cell.percent);
  return [main, cell.note ? element("small", {}, cell.note) : ""];
};
/** A cell with its title, which narrow screens show beside it. */
const worksCell = (title, kind, content) =>
  element(
    "td",
    { class: kind, role: "cell", "data-title": title },
    element("span", {}, ...content),
  );
const drawWorks = () => {
  if (data.contractor !== undefined) $("works-title").textContent = say("Your works");
  $("works-help").textContent = data.words.works;
  const { columns, rows } = data.works_table;
  const cells = rows.map((row) =>
    element(
      "tr",
      {},
      ...row.map((cell, k) => {
        const { header, number, title } = columns[k];
        const content = cellOf(cell);
        if (header) return element("th", { scope: "row", role: "rowheader" }, ...content);
        const text = cell.name === undefined ? "" : "text";
        const kind = number ? "number" : text;
        return worksCell(title, content[0] === "" ? "none" : kind, content);
      }),
    ),
  );
  if (rows.length > 1 && columns.some(({ total: sum }) => sum !== null)) {
    const sums = columns.map(({ header, title, total: sum }) =>
      header
        ? element("th", { scope: "row", role: "rowheader" }, say("in all"))
        : worksCell(title, sum === null ? "none" : "number", sum === null ? [] : [money(sum)]),
    );
    cells.push(element("tr", { class: "total" }, ...sums));
  }
  const head = columns.map(({ title, number }) => [title, number]);
  const made = table(head, cells);
  made.classList.add("works");
  // On narrow screens the style shows rows as cards; the roles keep them a table for readers.
  made.setAttribute("role", "table");
  for (const part of made.children) part.setAttribute("role", "rowgroup");
  for (const row of made.querySelectorAll("tr")) row.setAttribute("role", "row");
  for (const each of made.tHead.querySelectorAll("th")) each.setAttribute("role", "columnheader");
  fill($("works"), made);
};
