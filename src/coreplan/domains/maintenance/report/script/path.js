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
    text.textContent = any
      ? "Click a work with a striped end to mark it as delayed."
      : "No work in this course can be delayed.";
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
    choice("Not known", run.state === "open", () => say(run.work, null)),
    choice("On time", run.state === "good", () => say(run.work, false)),
    choice("Delayed", run.state === "late", () => say(run.work, true)),
  );
  if (focused >= 0) $("panel-choices").children[focused]?.focus();
};

/** The works with an entered delay, in the order in which it becomes known. */
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
      late ? ` is delayed by ${steps(work.late)}.` : " is on time.",
    );
    if (lines.length) {
      item.append(
        " Then:",
        element("ul", {}, ...lines.map((words) => element("li", {}, ...words, "."))),
      );
    } else if (late) {
      const held = after.unknown.length === 0;
      item.append(
        held ? " Nothing else changes." : " This page does not hold the plan for this case.",
      );
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
    fill(
      $("course"),
      element("strong", {}, `This course ${total(parts.value)}`),
      `: works ${money(parts.works)}, hindrance ${money(parts.hindrance)}`,
      works.some((work) => work.revenue) ? `, revenue ${money(parts.revenue)}.` : ".",
      items.length ? ` ${compare(parts.value)}` : "",
      items.length ? ` The chance of the delays entered is ${percent(chance)}.` : "",
    );
    const list = undone.flatMap((number, k) => [k ? ", " : "", ...workInText(number)]);
    if (undone.length) $("course").append(" Not done: ", ...list, ".");
  }
  const lost = course.unknown.length > 0;
  $("outside").hidden = !lost;
  if (lost) {
    const names = course.unknown.flatMap(({ part }) => part.contractors);
    const stage = Math.min(...course.unknown.map((each) => each.stage));
    fill(
      $("outside"),
      "This page does not hold the plan of ",
      ...names.flatMap((who, k) => [k ? ", " : "", inText(contractors[who])]),
      ` from ${withDates ? firstDay(stage) : `step ${stage}`} on. Unlikely courses were left out `,
      "to keep the page small. To continue, plan again from the current state, with ",
      "“coreplan plan --stage --state”.",
    );
  }
};
