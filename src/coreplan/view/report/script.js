"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { works, contractors, rules, first, horizon } = data;
  const $ = (id) => document.getElementById(id);

  // -- words and numbers ----------------------------------------------------------------------

  /** Two decimals, halves away from zero, and never "-0.00". */
  const money = (amount) => {
    const [whole, rest] = Math.abs(amount).toFixed(2).split(".");
    const text = `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${rest ?? "00"}`;
    return amount < 0 && /[1-9]/.test(text) ? `-${text}` : text;
  };
  const percent = (chance) => {
    if (chance > 1 - 1e-9) return "100 %"; // rounding of sums
    if (chance > 0 && chance < 0.0005) return "less than 0.1 %";
    if (chance < 1 && chance >= 0.9995) return "more than 99.9 %";
    return `${Number((chance * 100).toFixed(1))} %`;
  };
  const count = (number, one, many = `${one}s`) =>
    `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
  const steps = (number) => count(number, data.unit);
  const withDates = data.dates !== null;
  const firstDay = (stage) => data.dates.first[stage - first];
  const lastDay = (stage) => data.dates.last[stage - first];
  const withoutYear = (date) => date.replace(/ \d+$/, "");
  const at = (stage) => (withDates ? `on ${firstDay(stage)}` : `in step ${stage}`);
  const during = (from, to) => {
    if (!withDates) return from === to ? `step ${from}` : `steps ${from} to ${to}`;
    const [begin, end] = [firstDay(from), lastDay(to)];
    if (begin === end) return begin;
    const sameYear = begin.slice(-4) === end.slice(-4);
    return `${sameYear ? withoutYear(begin) : begin} – ${end}`;
  };
  const tick = (stage) => (withDates ? withoutYear(firstDay(stage)) : String(stage));
  const short = (text) => {
    const letters = Array.from(text);
    return letters.length <= 60 ? text : `${letters.slice(0, 57).join("")}…`;
  };

  // -- elements: all text is set as text ------------------------------------------------------

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const named = (text) => element("bdi", { dir: "auto", title: text }, text);
  /** A name within a sentence: cut where it would fill the page. */
  const inText = (text) => element("bdi", { dir: "auto", title: text }, short(text));
  const fill = (place, ...children) => place.replaceChildren(...children);
  const place = (made, from, to) => {
    const scale = 100 / (horizon - first);
    made.style.left = `${(from - first) * scale}%`;
    made.style.width = `${(to - from) * scale}%`;
    return made;
  };
  const workInText = (number) => [
    inText(works[number].name),
    " (",
    inText(contractors[works[number].contractor]),
    ")",
  ];
  const plain = (nodes) => nodes.map((node) => node.textContent ?? node).join("");

  // -- courses --------------------------------------------------------------------------------

  /**
   * What happens if works go as was said, and all others are on time.
   *
   * `said` maps works to true (delayed) or false. A run has the work, its first step, the step
   * after its last one, how much longer it may take, and what is known of it. `unknown` lists the
   * parts of the plan that are not held in this page, with the step from which on they are not.
   */
  const courseOf = (said) => {
    const runs = new Map();
    const unknown = [];
    const run = (work, begin, length, state) => {
      const end = Math.min(begin + length, horizon);
      runs.set(work, { work, begin, end, state, complete: begin + length <= horizon });
    };
    for (const [work, left] of data.running) run(work, first, left, "certain");
    for (const part of data.courses) {
      let piece = part.pieces[0];
      for (;;) {
        const [open, starts, following] = piece;
        const certain = starts.length / 2 - open;
        const delayed = [];
        let stage = first;
        for (let k = 0; k * 2 < starts.length; k++) {
          const work = starts[2 * k];
          stage = starts[2 * k + 1];
          if (k < certain) {
            run(work, stage, works[work].steps, "certain");
          } else {
            const late = said.get(work) === true;
            if (late) delayed.push(k - certain);
            const state = !said.has(work) ? "open" : late ? "late" : "good";
            run(work, stage, works[work].steps + (late ? works[work].late : 0), state);
          }
        }
        if (!open) break;
        const next = following[delayed.join(" ")];
        if (next === undefined) {
          unknown.push({ part, stage: stage + 1 });
          break;
        }
        piece = part.pieces[next];
      }
    }
    return { runs, unknown };
  };

  const costAt = (cost, stage) => (Array.isArray(cost) ? cost[stage] : cost);
  const costOver = (cost, begin, end) => {
    let sum = 0;
    for (let stage = begin; stage < end; stage++) sum += costAt(cost, stage);
    return sum;
  };
  /** When all works of a rule are under way: [begin, end), or null. */
  const overlap = (course, rule) => {
    let begin = first;
    let end = horizon;
    for (const work of rule.works) {
      const run = course.runs.get(work);
      if (!run) return null;
      begin = Math.max(begin, run.begin);
      end = Math.min(end, run.end);
    }
    return begin < end ? [begin, end] : null;
  };
  const moneyOf = (course) => {
    let [revenue, own, hindrance] = [0, 0, 0];
    for (const run of course.runs.values()) {
      own += costOver(works[run.work].cost, run.begin, run.end);
      if (run.complete) revenue += works[run.work].revenue;
    }
    for (const rule of rules) {
      const both = overlap(course, rule);
      if (both) hindrance += costOver(rule.cost, ...both);
    }
    return { revenue, works: own, hindrance, value: revenue - own - hindrance };
  };
  const total = (value) =>
    data.costs ? `costs ${money(-value)} in all` : `earns ${money(value)} in all`;

  const compare = (value) => {
    const more = (moneyOf(nothingSaid).value - value) * (data.costs ? 1 : -1);
    const words = money(Math.abs(more));
    if (!/[1-9]/.test(words)) return "As much as if nothing is delayed.";
    return `That is ${words} ${more > 0 ? "more" : "less"} than if nothing is delayed.`;
  };

  /** What is different in a course, in words. */
  const changes = (before, after) => {
    const lines = [];
    const unknownFrom = new Map();
    for (const { part, stage } of after.unknown) {
      for (const who of part.contractors) unknownFrom.set(who, stage);
    }
    works.forEach((work, number) => {
      const [was, is] = [before.runs.get(number), after.runs.get(number)];
      if (!was && is) lines.push([is.begin, [...workInText(number), ` starts ${at(is.begin)}`]]);
      if (was && !is && !unknownFrom.has(work.contractor)) {
        lines.push([horizon, [...workInText(number), " is not started"]]);
      }
      if (was && is && was.begin !== is.begin) {
        const shift = is.begin - was.begin;
        const words = `${steps(Math.abs(shift))} ${shift > 0 ? "later" : "earlier"}`;
        lines.push([is.begin, [...workInText(number), ` starts ${words}, ${at(is.begin)}`]]);
      }
    });
    lines.sort((a, b) => a[0] - b[0]);
    return lines.map(([, words]) => words);
  };

  // -- what was said --------------------------------------------------------------------------

  const nothingSaid = courseOf(new Map());
  let said = new Map();
  let earlier = [];
  let selected = null;
  let course = nothingSaid;
  let moved = new Set();

  const say = (work, late) => {
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
    const lines = changes(before, course).map(plain);
    const now = course.unknown.length
      ? "This page does not hold all of what the plan says then."
      : `This course ${total(moneyOf(course).value)}.`;
    $("news").textContent = [...lines, now].join(". ");
  };
  const cycle = { open: true, late: false, good: null };

  // -- the chart ------------------------------------------------------------------------------

  const states = {
    certain: () => "",
    open: (work) =>
      `may be delayed by ${steps(work.late)}, with a chance of ${percent(work.chance)}; not known yet`,
    late: (work) => `delayed by ${steps(work.late)}`,
    good: () => "on time",
  };
  const describe = (run) => {
    const work = works[run.work];
    const parts = [
      `${work.name}, ${contractors[work.contractor]}`,
      during(run.begin, run.end - 1),
      states[run.state](work),
    ];
    if (!run.complete) parts.push("not completed in the planned time");
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
    if (clickable) bar.addEventListener("click", () => say(run.work, cycle[run.state]));
    const made = [bar];
    if (run.state === "open") {
      const until = Math.min(run.begin + work.steps + work.late, horizon);
      // Where the next work would begin, the rest is drawn below it.
      const free = Math.min(until, next);
      const maybe = (from, to, kind) => {
        const part = element("div", { class: kind, "aria-hidden": "true" });
        if (to > from) made.push(place(part, from, to));
      };
      maybe(run.end, free, "maybe");
      maybe(free, until, "maybe under");
    }
    const label = element("div", { class: "label", "aria-hidden": "true" });
    if (marks[run.state]) label.append(element("span", { class: `mark ${run.state}` }, marks[run.state]));
    label.append(named(work.name));
    made.push(place(label, run.begin, Math.max(next, run.end)));
    return made;
  };

  const ticksOf = (width) => {
    const each = withDates ? 52 : 34;
    const least = Math.max(1, Math.ceil(((horizon - first) * each) / Math.max(width, 1)));
    const nice = [1, 2, 4, 5, 10, 13, 20, 26, 50, 52, 100, 200, 500, 1000, 2000, 5000, 10000];
    const every = nice.find((size) => size >= least) ?? 20000;
    const ticks = [];
    for (let stage = first; stage < horizon; stage += every) ticks.push(stage);
    return ticks;
  };
  const year = (stage) => firstDay(stage).slice(-4);
  const drawTicks = (chart) => {
    const lanes = [...chart.querySelectorAll(".lane")];
    const ticks = ticksOf(lanes[0].clientWidth);
    for (const lane of lanes) {
      for (const old of lane.querySelectorAll(".tick")) old.remove();
      for (const [k, stage] of ticks.entries()) {
        const made = place(element("div", { class: "tick", "aria-hidden": "true" }), stage, stage);
        if (lane.dataset.axis) {
          const newYear = withDates && k > 0 && year(stage) !== year(ticks[k - 1]);
          made.append(element("span", {}, newYear ? year(stage) : tick(stage)));
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
    contractors.forEach((who, number) => {
      const lane = element("div", { class: "lane", "data-contractor": number });
      const unknown = course.unknown.find(({ part }) => part.contractors.includes(number));
      const limit = unknown ? unknown.stage : horizon;
      if (unknown) {
        const shade = element("div", { class: "unknown", title: "not held in this page" });
        shade.style.left = `${(100 * (limit - first)) / (horizon - first)}%`;
        lane.append(shade);
      }
      const runs = byContractor[number].sort((a, b) => a.begin - b.begin);
      runs.forEach((run, k) => lane.append(...drawRun(run, runs[k + 1]?.begin ?? limit)));
      rows.append(element("div", { class: "row" }, element("div", { class: "who" }, named(who)), lane));
    });
    if (contractors.length > 10) rows.append(axis(true));
    fill(chart, rows);
    drawTicks(chart);
    chart.scrollLeft = left;
    if (focused !== undefined) chart.querySelector(`button[data-work="${focused}"]`)?.focus();
  };

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
      made.append(element("span", { class: "label" }, element("span", { class: `mark ${kind}` }, mark)));
    }
    return made;
  };
  const drawLegend = () => {
    const entries = [["certain", "", "work that goes as planned"]];
    if (works.some((work) => work.late)) {
      entries.push(
        ["open", "?", "not known yet: striped if it is delayed"],
        ["late", "!", "delayed, as you said"],
        ["good", "✓", "on time, as you said"],
      );
    }
    fill(
      $("legend"),
      ...entries.map(([kind, mark, words]) => element("li", {}, sample(kind, mark), words)),
    );
  };

  // -- the panel and the path -----------------------------------------------------------------

  const choice = (words, pressed, act) => {
    const made = element("button", { type: "button", "aria-pressed": String(pressed) }, words);
    made.addEventListener("click", act);
    return made;
  };
  const drawPanel = () => {
    $("undo").disabled = earlier.length === 0;
    $("reset").disabled = said.size === 0;
    const text = $("panel-text");
    $("panel").classList.toggle("active", selected !== null);
    const run = selected === null ? undefined : course.runs.get(selected);
    const focused = $("panel-choices").contains(document.activeElement)
      ? [...$("panel-choices").children].indexOf(document.activeElement)
      : -1;
    if (!run) {
      const any = [...course.runs.values()].some((each) => each.state !== "certain");
      text.textContent = any
        ? "Click a work with a striped end to say that it is delayed."
        : "Nothing uncertain is started in this course.";
      fill($("panel-choices"));
      return;
    }
    const work = works[run.work];
    fill(
      text,
      element("strong", {}, inText(work.name)),
      ", ",
      inText(contractors[work.contractor]),
      `: ${during(run.begin, run.end - 1)}. Chance of a delay of ${steps(work.late)}: ${percent(work.chance)}.`,
    );
    fill(
      $("panel-choices"),
      choice("Not known yet", run.state === "open", () => say(run.work, null)),
      choice("On time", run.state === "good", () => say(run.work, false)),
      choice("Delayed", run.state === "late", () => say(run.work, true)),
    );
    if (focused >= 0) $("panel-choices").children[focused]?.focus();
  };

  /** What was said of works that are started, in the order in which it becomes known. */
  const events = () =>
    [...course.runs.values()]
      .filter((run) => run.state === "late" || run.state === "good")
      .sort((a, b) => a.begin - b.begin || a.work - b.work);

  const drawPath = () => {
    const items = [];
    const sofar = new Map();
    let before = nothingSaid;
    let chance = 1;
    for (const run of events()) {
      const work = works[run.work];
      const late = run.state === "late";
      sofar.set(run.work, late);
      chance *= late ? work.chance : 1 - work.chance;
      const after = courseOf(sofar);
      const lines = changes(before, after);
      before = after;
      const known = run.begin + 1 < horizon ? `${at(run.begin + 1)}: ` : "at the end: ";
      const item = element(
        "li",
        {},
        known.charAt(0).toUpperCase() + known.slice(1),
        ...workInText(run.work),
        late ? ` turns out to be delayed by ${steps(work.late)}.` : " turns out to be on time.",
      );
      if (lines.length) {
        item.append(
          " Then:",
          element("ul", {}, ...lines.map((words) => element("li", {}, ...words, "."))),
        );
      } else if (late) {
        item.append(" Nothing else changes.");
      }
      items.push(item);
    }
    fill($("path"), ...items);
    $("path").hidden = items.length === 0;
    const open = [...course.runs.values()].filter((run) => run.state === "open").length;
    const undone = works.flatMap((work, number) =>
      course.runs.has(number) || data.done.includes(number) ? [] : [number],
    );
    const words = [];
    if (!items.length) words.push("Nothing is known yet.");
    if (open) {
      words.push(
        `${count(open, "work is", "works are")} not known yet and shown as if on time, marked with “?”.`,
      );
    }
    fill($("open"), words.join(" "));
    if (course.unknown.length) {
      fill($("course"));
    } else {
      const parts = moneyOf(course);
      fill(
        $("course"),
        element("strong", {}, `This course ${total(parts.value)}`),
        `: works ${money(parts.works)}, hindrance ${money(parts.hindrance)}`,
        works.some((work) => work.revenue) ? `, revenue ${money(parts.revenue)}.` : ".",
        items.length ? ` ${compare(parts.value)}` : "",
        items.length ? ` The chance that things go as you said: ${percent(chance)}.` : "",
      );
      const list = undone.flatMap((number, k) => [k ? ", " : "", ...workInText(number)]);
      if (undone.length) $("course").append(" Not done: ", ...list, ".");
    }
    const lost = course.unknown.length > 0;
    $("outside").hidden = !lost;
    if (lost) {
      const names = course.unknown.flatMap(({ part }) => part.contractors);
      fill(
        $("outside"),
        "This page does not hold what the plan says of ",
        ...names.flatMap((who, k) => [k ? ", " : "", inText(contractors[who])]),
        ` from ${withDates ? firstDay(Math.min(...course.unknown.map((each) => each.stage))) : `step ${Math.min(...course.unknown.map((each) => each.stage))}`} on: so many delays are unlikely, and were left out to keep the page small. The plan itself has an answer; plan again from where everybody stands, with “coreplan solve --stage --state”.`,
      );
    }
  };

  // -- hindrance ------------------------------------------------------------------------------

  let heatOfCourse = false;
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
    const shown = rows.filter((row) => size(row) >= 0.005).sort((a, b) => size(b) - size(a) || a.number - b.number);
    const most = Math.max(...shown.flatMap((row) => row.cells.map(Math.abs)), 0);
    const table = element("table", { class: "heat" });
    table.style.setProperty("--columns", columns);
    const ticks = new Set(ticksOf(380).map((stage) => Math.floor((stage - first) / width)));
    const head = element("tr", {}, element("th", { scope: "col" }, "works"));
    const labels = [];
    for (let k = 0; k < columns; k++) {
      const from = first + k * width;
      labels.push(during(from, Math.min(from + width, horizon) - 1));
      head.append(element("th", { scope: "col", title: labels[k] }, ticks.has(k) ? tick(from) : element("span", { class: "visually-hidden" }, labels[k])));
    }
    head.append(element("th", { scope: "col", class: "number" }, "in all"));
    const body = element("tbody");
    for (const row of shown) {
      const line = element("tr", {}, element("th", { scope: "row" }, ...rules[row.number].works.map((work) => named(works[work].name))));
      row.cells.forEach((amount, k) => {
        const words = `${labels[k]}: ${money(amount)}`;
        const cell = element(
          "td",
          { class: amount ? "cell some" : "cell", title: words, "data-rule": row.number, "data-column": k },
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
    if (silent) words.push(`${count(silent, "rule costs", "rules cost")} nothing, or less than a cent, in this ${heatOfCourse ? "course" : "plan"}.`);
    if (shown.length) {
      const scale = element("div", { class: "scale" }, "0", element("i"), `${money(most)} per ${width === 1 ? data.unit : steps(width)}`);
      fill($("heat"), table, scale, element("p", { class: "muted" }, words.join(" ")));
    } else {
      fill($("heat"), element("p", {}, rules.length ? "No hindrance at all." : "There are no rules of hindrance.", " ", words.join(" ")));
    }
    fill(
      $("heat-choices"),
      choice("Expected", !heatOfCourse, () => { heatOfCourse = false; drawHeat(); focusChoice(0); }),
      choice("The course above", heatOfCourse, () => { heatOfCourse = true; drawHeat(); focusChoice(1); }),
    );
    $("heat-reading").textContent = "";
  };
  const focusChoice = (k) => $("heat-choices").children[k].focus();
  const readHeat = (event) => {
    const cell = event.target.closest("td.cell");
    if (!cell) return;
    const names = rules[cell.dataset.rule].works.map((work) => works[work].name);
    fill($("heat-reading"), ...names.flatMap((name, k) => [k ? " and " : "", inText(name)]), `, ${cell.title}`);
  };

  // -- the parts that do not change -----------------------------------------------------------

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
    fill($("amounts"), ...summary.amounts.map(({ words, amount, note, total: sum }) => line(words, money(amount), note, sum ? "total" : "")));
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
      element("thead", {}, element("tr", {}, ...head.map(([words, number]) => element("th", { scope: "col", class: number ? "number" : null }, words)))),
      element("tbody", {}, ...rows),
    );

  const drawCosts = () => {
    const { distribution } = data;
    $("costs-help").textContent = distribution.words;
    if (!distribution.bins.length) return;
    const { low, high, mean, bins, quantiles } = distribution;
    const most = Math.max(...bins);
    const histogram = element("div", { class: "histogram", role: "img", "aria-label": distribution.words });
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
    const mark = element("div", { class: share > 0.5 ? "line right" : "line" }, element("span", {}, `expected ${money(mean)}`));
    mark.style.left = `${100 * share}%`;
    histogram.append(mark);
    const rows = quantiles.map(([chance, amount]) =>
      element("tr", {}, element("th", { scope: "row" }, `with a chance of ${percent(chance)}`), element("td", { class: "number" }, `${money(amount)} or less`)),
    );
    fill(
      $("costs"),
      histogram,
      element("div", { class: "ends" }, element("span", {}, money(low)), element("span", {}, money(high))),
      element("details", { open: true }, element("summary", {}, "In numbers"), table([["", false], [distribution.title, true]], rows, "")),
    );
  };

  const drawTogether = () => {
    const { coordination } = data;
    $("together-help").textContent = coordination.words;
    if (!coordination.rows.length) return;
    const own = element("tr", {}, element("th", { class: "within", colspan: "4", scope: "colgroup" }, coordination.within));
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
    rows.splice(coordination.rows.findIndex(({ name }) => name), 0, own);
    fill($("together"), table([["", false], ["this plan", true], ["everybody alone", true], [data.costs ? "saved" : "gained", true]], rows, "wide sums"));
  };

  const drawWorks = () => {
    $("works-help").textContent = data.words.works;
    const rows = works.map((work) =>
      element(
        "tr",
        {},
        element("td", {}, named(contractors[work.contractor])),
        element("th", { scope: "row" }, named(work.name)),
        element("td", {}, steps(work.steps)),
        element("td", {}, work.late ? `${percent(work.chance)}: ${steps(work.late)} more` : work.always ? "always, included" : "never"),
        element("td", {}, work.starts === null ? "" : work.starts),
        element("td", { class: "number" }, work.completed === null ? "" : percent(work.completed)),
        element("td", { class: "number" }, work.expected === null ? "" : money(work.expected)),
        element("td", { class: "number" }, work.revenue ? money(work.revenue) : "–"),
      ),
    );
    fill(
      $("works"),
      table(
        [["contractor", false], ["work", false], ["takes", false], ["delay", false], ["starts", false], ["completed", true], ["expected cost", true], ["revenue", true]],
        rows,
      ),
    );
  };

  // -- all together ---------------------------------------------------------------------------

  const draw = () => {
    drawChart();
    drawPanel();
    drawPath();
    if (heatOfCourse) drawHeat();
  };
  const reset = () => {
    earlier.push([said, selected]);
    selected = null;
    become(new Map());
  };
  const undo = () => {
    const [before, was] = earlier.pop();
    selected = was;
    become(before);
  };
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || selected === null) return;
    selected = null;
    draw();
  });
  $("undo").addEventListener("click", undo);
  $("reset").addEventListener("click", reset);
  $("heat").addEventListener("click", readHeat);
  $("heat").addEventListener("pointerover", readHeat);
  document.querySelector("main").hidden = false;
  drawSummary();
  drawLegend();
  draw();
  drawHeat();
  drawCosts();
  drawTogether();
  drawWorks();
  new ResizeObserver(() => drawTicks($("chart"))).observe($("chart"));
})();
