// The panel in which one says how a work goes, and the path so far in words.

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
      const held = after.unknown.length === 0;
      item.append(held ? " Nothing else changes." : " What is done then is not held in this page.");
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
    const stage = Math.min(...course.unknown.map((each) => each.stage));
    fill(
      $("outside"),
      "This page does not hold what the plan says of ",
      ...names.flatMap((who, k) => [k ? ", " : "", inText(contractors[who])]),
      ` from ${withDates ? firstDay(stage) : `step ${stage}`} on: so many delays are unlikely, `,
      "and were left out to keep the page small. The plan itself has an answer; plan again from ",
      "where everybody stands, with “coreplan solve --stage --state”.",
    );
  }
};
