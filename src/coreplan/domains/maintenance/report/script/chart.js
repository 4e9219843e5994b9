// The chart of works for the delays entered so far.

const nothingSaid = courseOf(new Map());
let said = new Map();
let earlier = [];
let selected = null;
let course = nothingSaid;
let moved = new Set();

const enter = (work, late) => {
  const next = new Map(said);
  if (late === null) next.delete(work);
  else next.set(work, late);
  earlier.push([said, selected]);
  selected = work;
  become(next);
};
const become = (next) => {
  const before = course;
  said = next;
  course = courseOf(said);
  moved = new Set();
  for (const run of course.runs.values()) {
    if (before.runs.get(run.work)?.begin !== run.begin) moved.add(run.work);
  }
  if (selected !== null && !course.runs.has(selected)) selected = null;
  draw();
  tell(before);
};
const tell = (before) => {
  const lines = changes(before, course).map(({ words }) => plain(words));
  const now = course.unknown.length
    ? say("This page does not hold the whole plan for these delays.")
    : `${total(moneyOf(course).value, false)}.`;
  $("news").textContent = [...lines, now].join(". ");
};
/** The money of a course: of all works, or of those of one contractor. */
const total = (value, inAll) => {
  const amount = money(Math.abs(value));
  if (data.contractor === undefined && !inAll) {
    return isCost(value)
      ? say("This course costs {amount}", { amount })
      : say("This course earns {amount}", { amount });
  }
  if (data.contractor === undefined) {
    return isCost(value)
      ? say("This course costs {amount} in all", { amount })
      : say("This course earns {amount} in all", { amount });
  }
  return isCost(value)
    ? say("In this course your work costs {amount}", { amount })
    : say("In this course your work earns {amount}", { amount });
};
const cycle = { open: true, late: false, good: null };

const states = {
  certain: () => "",
  open: (work) =>
    say("can be delayed by {steps}, with a chance of {chance}", {
      steps: steps(work.late),
      chance: percent(work.chance),
    }),
  late: (work) => say("delayed by {steps}", { steps: steps(work.late) }),
  good: () => say("on time"),
};
const describe = (run) => {
  const work = works[run.work];
  const parts = [
    `${work.name}, ${contractors[work.contractor]}`,
    during(run.begin, run.end - 1),
    states[run.state](work),
  ];
  if (!run.complete) parts.push(say("not completed in the planned time"));
  return parts.filter(Boolean).join("; ");
};
const marks = { certain: "", open: "?", late: "!", good: "✓" };

const drawRun = (run, next) => {
  const work = works[run.work];
  const classes = ["bar", run.state];
  if (!run.complete) classes.push("cut-off");
  if (run.work === selected) classes.push("selected");
  if (moved.has(run.work)) classes.push("moved");
  const words = describe(run);
  const clickable = run.state !== "certain";
  const bar = element(clickable ? "button" : "div", {
    class: classes.join(" "),
    type: clickable ? "button" : null,
    role: clickable ? null : "img",
    "aria-label": words,
    title: words,
    "data-work": run.work,
    "data-begin": run.begin,
    "data-end": run.end,
  });
  place(bar, run.begin, run.end);
  if (run.state === "late") {
    const planned = Math.min(1, work.steps / (run.end - run.begin));
    bar.style.setProperty("--planned", `${100 * planned}%`);
  }
  if (clickable) bar.addEventListener("click", () => enter(run.work, cycle[run.state]));
  const made = [bar];
  if (run.state === "open") {
    const until = Math.min(run.begin + work.steps + work.late, horizon);
    // The next work may cover the end of a delay; that part is drawn below it.
    const free = Math.min(until, next);
    const maybe = (from, to, kind) => {
      const part = element("div", { class: kind, "aria-hidden": "true" });
      if (to > from) made.push(place(part, from, to));
    };
    maybe(run.end, free, "maybe");
    maybe(free, until, "maybe under");
  }
  const label = element("div", { class: "label", "aria-hidden": "true" });
  if (marks[run.state])
    label.append(element("span", { class: `mark ${run.state}` }, marks[run.state]));
  label.append(named(work.name));
  made.push(place(label, run.begin, Math.max(next, run.end)));
  return made;
};

/** The least width of a tick with its label: months are longer in some languages. */
const tickWidth = () => {
  if (!withDates) return 34;
  const longest = data.dates.first.reduce((most, day) => Math.max(most, withoutYear(day).length), 6);
  return 52 + 4.5 * (longest - 6);
};
const leastTick = tickWidth();
const ticksOf = (width) => {
  const least = Math.max(1, Math.ceil(((horizon - first) * leastTick) / Math.max(width, 1)));
  const nice = [1, 2, 4, 5, 10, 13, 20, 26, 50, 52, 100, 200, 500, 1000, 2000, 5000, 10000];
  const every = nice.find((size) => size >= least) ?? 20000;
  const ticks = [];
  for (let stage = first; stage < horizon; stage += every) ticks.push(stage);
  return ticks;
};
/** The width of the chart on paper, about. */
const PAPER_WIDTH = 480;
const year = (stage) => firstDay(stage).slice(-4);
const drawTicks = (chart) => {
  const lanes = [...chart.querySelectorAll(".lane")];
  const width = lanes[0].clientWidth;
  const ticks = ticksOf(width);
  // The last label would be cut off where less than its width is left.
  const hasRoom = (stage, wide) =>
    ((horizon - stage) / (horizon - first)) * wide >= leastTick - 4;
  for (const lane of lanes) {
    for (const old of lane.querySelectorAll(".tick")) old.remove();
    for (const [k, stage] of ticks.entries()) {
      const made = place(element("div", { class: "tick", "aria-hidden": "true" }), stage, stage);
      if (lane.dataset.axis && (k === 0 || hasRoom(stage, width))) {
        const newYear = withDates && k > 0 && year(stage) !== year(ticks[k - 1]);
        const kind = k === 0 || hasRoom(stage, PAPER_WIDTH) ? null : "screen-only";
        made.append(element("span", { class: kind }, newYear ? year(stage) : tick(stage)));
      }
      lane.prepend(made);
    }
  }
};

const axis = (below) =>
  element(
    "div",
    { class: below ? "axis below" : "axis", "aria-hidden": "true" },
    element("div", { class: "who" }),
    element("div", { class: "lane", "data-axis": "yes" }),
  );

const drawChart = () => {
  const chart = $("chart");
  const focused = document.activeElement?.dataset?.work;
  const left = chart.scrollLeft;
  const rows = element("div", { class: "rows" });
  rows.style.setProperty("--steps", Math.min(horizon - first, 400));
  rows.append(axis(false));
  const byContractor = contractors.map(() => []);
  for (const run of course.runs.values()) byContractor[works[run.work].contractor].push(run);
  for (const number of rowsShown) {
    const who = contractors[number];
    const lane = element("div", { class: "lane", "data-contractor": number });
    for (const period of closed) {
      const shade = element("div", {
        class: `closed ${period.no}`,
        title: closedWords(period),
        "aria-hidden": "true",
      });
      lane.append(place(shade, period.begin, period.end));
    }
    const unknown = course.unknown.find(({ part }) => part.contractors.includes(number));
    const limit = unknown ? unknown.stage : horizon;
    if (unknown) {
      const shade = element("div", { class: "unknown", title: say("not in this page") });
      shade.style.left = `${(100 * (limit - first)) / (horizon - first)}%`;
      lane.append(shade);
    }
    const runs = byContractor[number].sort((a, b) => a.begin - b.begin);
    runs.forEach((run, k) => lane.append(...drawRun(run, runs[k + 1]?.begin ?? limit)));
    rows.append(
      element("div", { class: "row" }, element("div", { class: "who" }, named(who)), lane),
    );
  }
  if (rowsShown.length > 10) rows.append(axis(true));
  fill(chart, rows);
  drawTicks(chart);
  chart.scrollLeft = left;
  if (focused !== undefined) chart.querySelector(`button[data-work="${focused}"]`)?.focus();
};

const closedWords = ({ no, name }) =>
  no === "work"
    ? say("no work: {period}", { period: name })
    : say("no start: {period}", { period: name });

const sample = (kind, mark) => {
  const made = element("span", { class: "sample", "aria-hidden": "true" });
  const bar = element("span", { class: `bar ${kind}` });
  bar.style.left = "0";
  bar.style.width = kind === "open" ? "60%" : "100%";
  bar.style.setProperty("--planned", "60%");
  made.append(bar);
  if (kind === "open") {
    const maybe = element("span", { class: "maybe" });
    maybe.style.left = "60%";
    maybe.style.width = "40%";
    made.append(maybe);
  }
  if (mark) {
    made.append(
      element("span", { class: "label" }, element("span", { class: `mark ${kind}` }, mark)),
    );
  }
  return made;
};
const drawLegend = () => {
  const entries = [["certain", "", say("cannot be delayed")]];
  if (works.some((work) => work.late)) {
    entries.push(
      ["open", "?", say("can be delayed: striped")],
      ["late", "!", say("delayed (entered)")],
      ["good", "✓", say("on time (entered)")],
    );
  }
  fill(
    $("legend"),
    ...entries.map(([kind, mark, words]) => element("li", {}, sample(kind, mark), words)),
    ...closed.map((period) => {
      const shade = element("span", { class: "sample", "aria-hidden": "true" });
      shade.append(element("span", { class: `closed ${period.no}` }));
      return element("li", {}, shade, closedWords(period));
    }),
  );
};
