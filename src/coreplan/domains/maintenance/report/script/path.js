// The panel to enter a delay, and the list of delays entered so far.

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
    const words = any
      ? "Click a work with a striped end to mark it as delayed."
      : "No work in this course can be delayed.";
    fill(text, ...forDevice(words));
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
    choice("Not known", run.state === "open", () => enter(run.work, null)),
    choice("On time", run.state === "good", () => enter(run.work, false)),
    choice("Delayed", run.state === "late", () => enter(run.work, true)),
  );
  if (focused >= 0) $("panel-choices").children[focused]?.focus();
};

/** The works with an entered delay, in the order in which it becomes known. */
const events = () =>
  [...course.runs.values()]
    .filter((run) => run.state === "late" || run.state === "good")
    .sort((a, b) => a.begin - b.begin || a.work - b.work);

/** The same in groups of works whose delays become known in the same step. */
const news = () => {
  const groups = [];
  for (const run of events()) {
    const last = groups.at(-1);
    if (last?.[0].begin === run.begin) last.push(run);
    else groups.push([run]);
  }
  return groups;
};

/** Say which course the chart shows. */
const drawShown = () => {
  const runs = events();
  if (!data.open) {
    fill($("shown"), "No work in this plan can be delayed: the chart shows what will be done.");
    return;
  }
  if (!runs.length) {
    fill($("shown"), "The chart shows the plan if no work is delayed.");
    return;
  }
  const those = (state) => runs.filter((run) => run.state === state).map((run) => run.work);
  const [late, good] = [those("late"), those("good")];
  const verb = (list) => (list.length === 1 ? " is" : " are");
  fill(
    $("shown"),
    "The chart shows the plan if ",
    ...(late.length ? [...worksInText(late), `${verb(late)} delayed`] : []),
    late.length && good.length ? ", " : "",
    ...(good.length ? [...worksInText(good), `${verb(good)} on time`] : []),
    ", and no other work is delayed.",
  );
};

const drawPath = () => {
  drawShown();
  const items = [];
  const sofar = new Map();
  const lost = new Set(course.unknown.flatMap(({ part }) => part.contractors));
  let before = nothingSaid;
  let chance = 1;
  for (const runs of news()) {
    for (const run of runs) {
      const { chance: likely } = works[run.work];
      sofar.set(run.work, run.state === "late");
      chance *= run.state === "late" ? likely : 1 - likely;
    }
    const after = courseOf(sofar);
    const lines = changes(before, after);
    before = after;
    const [{ begin }] = runs;
    const known = begin + 1 < horizon ? `${at(begin + 1)}: ` : "at the end: ";
    const item = element("li", {}, known.charAt(0).toUpperCase() + known.slice(1));
    runs.forEach((run, k) => {
      const late = run.state === "late";
      const words = late ? ` is delayed by ${steps(works[run.work].late)}` : " is on time";
      item.append(k ? ", " : "", ...workInText(run.work), words);
    });
    item.append(".");
    if (lines.length) {
      // A later delay may move a work again: only the last sentence about a work is what it does.
      const final = ({ number, begin: start }) =>
        lost.has(works[number].contractor) ||
        (course.runs.get(number)?.begin ?? horizon) === start;
      const list = lines.map((each) =>
        element("li", {}, ...each.words, final(each) ? "." : "; this changes again below."),
      );
      item.append(" Then:", element("ul", {}, ...list));
    } else if (runs.some((run) => run.state === "late")) {
      const held = after.unknown.length === 0;
      item.append(
        held ? " Nothing else changes." : " This page does not hold the plan for this case.",
      );
    }
    items.push(item);
  }
  fill($("path"), ...items);
  $("path").hidden = items.length === 0;
  const open = [...course.runs.values()].filter(
    (run) => run.state === "open" && isShown(run.work),
  ).length;
  const undone = works.flatMap((work, number) =>
    course.runs.has(number) || data.done.includes(number) || !isShown(number) ? [] : [number],
  );
  const words = [];
  if (!items.length) words.push("No delays entered.");
  if (open) {
    words.push(
      `${count(open, "work", "works")} can still be delayed; ${open === 1 ? "it is" : "they are"} drawn as on time.`,
    );
  }
  fill($("open"), words.join(" "));
  if (course.unknown.length) {
    fill($("course"));
  } else {
    const parts = moneyOf(course);
    const all = data.contractor === undefined;
    const listed = [`works ${money(parts.works)}`];
    if (all) listed.push(`hindrance ${money(parts.hindrance)}`);
    if (works.some((work) => work.revenue)) listed.push(`revenue ${money(parts.revenue)}`);
    fill(
      $("course"),
      element("strong", {}, `${subject} ${total(parts.value)}${all ? " in all" : ""}`),
      listed.length > 1 ? `: ${listed.join(", ")}.` : ".",
      items.length ? ` ${compare(parts.value)}` : "",
      items.length ? ` The chance of the delays entered is ${percent(chance)}.` : "",
    );
    const list = undone.flatMap((number, k) => [k ? ", " : "", ...workInText(number)]);
    if (undone.length) $("course").append(" Not done: ", ...list, ".");
  }
  $("outside").hidden = !lost.size;
  if (lost.size) {
    const names = [...lost].filter((who) => rowsShown.includes(who));
    const stage = Math.min(...course.unknown.map((each) => each.stage));
    fill(
      $("outside"),
      "This page does not hold the plan of ",
      ...names.flatMap((who, k) => [k ? ", " : "", inText(contractors[who])]),
      ` from ${when(stage)} on. Unlikely courses were left out `,
      "to keep the page small. To continue, plan again from the current state, with ",
      "“coreplan plan --stage --state”.",
    );
  }
};
