// The cost of hindrance per rule and step: expected, or in the course of the chart.

// The expected hindrance is missing if too many courses are possible to compute it.
const heatKnown = data.hindrance.length === rules.length;
let heatOfCourse = !heatKnown;
const mostColumns = 60;
/** The cost per step of each rule. */
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
/** The width of the column of sums, from its longest text, in rem. */
const sumWidth = (texts) => {
  const least = matchMedia("(max-width: 40rem)").matches ? 3.5 : 4.5;
  return Math.max(least, 0.7 + 0.54 * Math.max(...texts.map((text) => text.length)));
};
/** The least width of the columns on the screen and on paper, as in the style sheet. */
const heatWidth = (columns, sum) => {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const [least, others] = matchMedia("(max-width: 40rem)").matches ? [7, 7] : [11.5, 12];
  const width = Math.max($("heat").clientWidth, (columns * 0.9 + least + sum) * rem);
  return Math.min(380, width - (others + sum) * rem);
};
const silentWords = (silent) =>
  heatOfCourse
    ? sayCount(
        silent,
        "{number} rule costs nothing, or less than a cent, in this course.",
        "{number} rules cost nothing, or less than a cent, in this course.",
      )
    : sayCount(
        silent,
        "{number} rule costs nothing, or less than a cent, in this plan.",
        "{number} rules cost nothing, or less than a cent, in this plan.",
      );
const perSteps = (amount, number) => {
  if (number > 1) return say("{amount} per {steps}", { amount, steps: steps(number) });
  if (data.unit === "day") return say("{amount} per day", { amount });
  if (data.unit === "week") return say("{amount} per week", { amount });
  return say("{amount} per step", { amount });
};
const drawHeat = () => {
  const width = Math.ceil((horizon - first) / mostColumns);
  const columns = Math.ceil((horizon - first) / width);
  // Sums add up to the hindrance in the summary or in the course, and cells to their sum.
  const sums = heatOfCourse ? moneyOf(course).rules : data.hindrance_sums;
  const rows = heatRows().map((row, number) => {
    const cells = new Array(columns).fill(0);
    for (const [stage, amount] of row) cells[Math.floor((stage - first) / width)] += amount;
    return { number, cells, sum: sums[number], amounts: shares(sums[number], cells) };
  });
  const size = (row) => row.cells.reduce((a, b) => a + Math.abs(b), 0);
  const shown = rows
    .filter((row) => row.sum || size(row) >= 0.005)
    .sort((a, b) => size(b) - size(a) || a.number - b.number);
  const most = Math.max(...shown.flatMap((row) => row.cells.map(Math.abs)), 0);
  const table = element("table", { class: "heat" });
  const sum = rounded(shown.reduce((all, row) => all + row.sum, 0));
  const widthOfSums = sumWidth([say("in all"), money(sum), ...shown.map((row) => money(row.sum))]);
  const breadth = heatWidth(columns, widthOfSums);
  table.style.setProperty("--columns", columns);
  table.style.setProperty("--sum", `${widthOfSums}rem`);
  const ticks = new Set(ticksOf(breadth).map((stage) => Math.floor((stage - first) / width)));
  // The last labels may reach beside the heading of the sums, but not into it.
  const beside = 16 * (widthOfSums - 0.5 * say("in all").length);
  const hasRoom = (k) => k === 0 || ((columns - k) * breadth) / columns + beside >= leastTick - 12;
  const head = element("tr", {}, element("th", { scope: "col" }, say("works")));
  const labels = [];
  for (let k = 0; k < columns; k++) {
    const from = first + k * width;
    labels.push(during(from, Math.min(from + width, horizon) - 1));
    head.append(
      element(
        "th",
        { scope: "col", title: labels[k] },
        ticks.has(k) && hasRoom(k) ? tick(from) : hidden(labels[k]),
      ),
    );
  }
  head.append(element("th", { scope: "col", class: "number" }, say("in all")));
  const body = element("tbody");
  for (const row of shown) {
    const line = element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        ...rules[row.number].works.map((work) => named(nameOf(work))),
      ),
    );
    row.cells.forEach((amount, k) => {
      const words = `${labels[k]}: ${money(row.amounts[k])}`;
      const cell = element(
        "td",
        {
          class: amount ? "cell some" : "cell",
          title: words,
          "data-rule": row.number,
          "data-column": k,
        },
        amount ? hidden(money(row.amounts[k])) : "",
      );
      cell.style.setProperty("--share", amount ? 10 + (80 * Math.abs(amount)) / most : 0);
      line.append(cell);
    });
    line.append(element("td", { class: "number" }, money(row.sum)));
    body.append(line);
  }
  const foot = element("tfoot");
  if (shown.length > 1) {
    foot.append(
      element(
        "tr",
        { class: "total" },
        element("th", { scope: "row" }, say("all rules")),
        element("td", { colspan: columns }),
        element("td", { class: "number" }, money(sum)),
      ),
    );
  }
  const group = element("colgroup", {}, element("col", { class: "pair" }));
  for (let k = 0; k < columns; k++) group.append(element("col"));
  group.append(element("col", { class: "sum" }));
  table.append(group, element("thead", {}, head), body, foot);
  const silent = rows.length - shown.length;
  const words = [];
  if (!rules.length) words.push(say("The problem has no hindrance rules."));
  else if (!shown.length) words.push(say("No hindrance."));
  if (silent) words.push(silentWords(silent));
  if (heatOfCourse && course.unknown.length)
    words.push(say("The course is incomplete: this page does not hold the rest."));
  const scale = element("div", { class: "scale" }, "0", element("i"), perSteps(money(most), width));
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
    heatKnown ? choice(say("Expected"), !heatOfCourse, show(false)) : "",
    choice(say("The course above"), heatOfCourse, show(true)),
  );
  const over = heatOfCourse
    ? say("Cost in the course above.")
    : say("Expected cost over all possible delays.");
  $("heat-shown").textContent = shown.length ? over : "";
  fill(
    $("heat-reading"),
    ...(shown.length
      ? forDevice(say("Point at a cell to read its cost."), say("Tap a cell to read its cost."))
      : [""]),
  );
  // A table wider than the screen is scrolled to its first cost.
  const begin = $("heat").querySelector("td.some");
  if (begin)
    $("heat").scrollLeft = begin.offsetLeft - $("heat").clientWidth + begin.offsetWidth * 3;
};
const readCell = (cell) => {
  const names = rules[cell.dataset.rule].works.map((work) => [inText(nameOf(work))]);
  $("heat").querySelector(".current")?.classList.remove("current");
  cell.classList.add("current");
  fill(
    $("heat-reading"),
    ...names.reduce((first, last) => sayNodes("{first} and {last}", { first, last })),
    `, ${cell.title}`,
  );
};
const readHeat = (event) => {
  const cell = event.target.closest("td.cell");
  if (cell) readCell(cell);
};
const directions = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
/** Arrow keys move from cell to cell; the first one goes to the first cost. */
const moveInHeat = (event) => {
  if (!Object.hasOwn(directions, event.key)) return;
  const lines = [...$("heat").querySelectorAll("tbody tr")].map((line) => [
    ...line.querySelectorAll("td.cell"),
  ]);
  if (!lines.length) return;
  event.preventDefault();
  const current = $("heat").querySelector(".current");
  let cell = $("heat").querySelector("td.some") ?? lines[0][0];
  if (current) {
    const [down, right] = directions[event.key];
    const row = lines.findIndex((line) => line.includes(current));
    cell = lines[row + down]?.[lines[row].indexOf(current) + right] ?? current;
  }
  readCell(cell);
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
};
const startHeat = () => {
  $("heat-help").textContent = data.words.hindrance;
  $("heat").addEventListener("click", readHeat);
  $("heat").addEventListener("pointerover", readHeat);
  $("heat").addEventListener("keydown", moveInHeat);
  drawHeat();
};
