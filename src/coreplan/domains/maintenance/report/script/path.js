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
      ? forDevice(
          say("Click a work with a striped end to mark it as delayed."),
          say("Tap a work with a striped end to mark it as delayed."),
        )
      : [say("No work in this course can be delayed.")];
    fill(text, ...words);
    fill($("panel-choices"));
    return;
  }
  const work = works[run.work];
  fill(
    text,
    element("strong", {}, inText(work.name)),
    ", ",
    inText(contractors[work.contractor]),
    `: ${during(run.begin, run.end - 1)}. `,
    say("Chance of a delay of {steps}: {chance}.", {
      steps: steps(work.late),
      chance: percent(work.chance),
    }),
  );
  fill(
    $("panel-choices"),
    choice(say("Not known"), run.state === "open", () => enter(run.work, null)),
    choice(say("On time"), run.state === "good", () => enter(run.work, false)),
    choice(say("Delayed"), run.state === "late", () => enter(run.work, true)),
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
    const words = say("No work in this plan can be delayed: the chart shows what will be done.");
    fill($("shown"), words);
    return;
  }
  if (!runs.length) {
    fill($("shown"), say("The chart shows the plan if no work is delayed."));
    return;
  }
  const those = (state) => runs.filter((run) => run.state === state).map((run) => run.work);
  fill($("shown"), ...shownIf(those("late"), those("good")));
};
const shownIf = (lateWorks, goodWorks) => {
  const [late, good] = [worksInText(lateWorks), worksInText(goodWorks)];
  if (!good.length) {
    return lateWorks.length === 1
      ? sayNodes("The chart shows the plan if {late} is delayed, and no other work is delayed.", {
          late,
        })
      : sayNodes("The chart shows the plan if {late} are delayed, and no other work is delayed.", {
          late,
        });
  }
  if (!late.length) {
    return goodWorks.length === 1
      ? sayNodes("The chart shows the plan if {good} is on time, and no other work is delayed.", {
          good,
        })
      : sayNodes("The chart shows the plan if {good} are on time, and no other work is delayed.", {
          good,
        });
  }
  const values = { late, good };
  if (lateWorks.length === 1) {
    return goodWorks.length === 1
      ? sayNodes(
          "The chart shows the plan if {late} is delayed, {good} is on time, " +
            "and no other work is delayed.",
          values,
        )
      : sayNodes(
          "The chart shows the plan if {late} is delayed, {good} are on time, " +
            "and no other work is delayed.",
          values,
        );
  }
  return goodWorks.length === 1
    ? sayNodes(
        "The chart shows the plan if {late} are delayed, {good} is on time, " +
          "and no other work is delayed.",
        values,
      )
    : sayNodes(
        "The chart shows the plan if {late} are delayed, {good} are on time, " +
          "and no other work is delayed.",
        values,
      );
};

/** When a delay is known, at the begin of a sentence. */
const knownAt = (stage) => {
  if (stage >= horizon) return say("At the end");
  return withDates
    ? say("On {day}", { day: firstDay(stage) })
    : say("In step {step}", { step: stage });
};
const isKnown = (run) => {
  const work = workInText(run.work);
  if (run.state !== "late") return sayNodes("{work} is on time", { work });
  return sayNodes("{work} is delayed by {steps}", { work, steps: steps(works[run.work].late) });
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
    const item = element("li", {}, `${knownAt(begin + 1)}: `, ...listed(runs.map(isKnown)), ".");
    if (lines.length) {
      // A later delay may move a work again: only the last sentence about a work is what it does.
      const final = ({ number, begin: start }) =>
        lost.has(works[number].contractor) ||
        (course.runs.get(number)?.begin ?? horizon) === start;
      const list = lines.map((each) =>
        final(each)
          ? element("li", {}, ...each.words, ".")
          : element(
              "li",
              {},
              ...sayNodes("{change}; this changes again below.", { change: each.words }),
            ),
      );
      item.append(` ${say("Then:")}`, element("ul", {}, ...list));
    } else if (runs.some((run) => run.state === "late")) {
      const held = after.unknown.length === 0;
      item.append(
        " ",
        held
          ? say("Nothing else changes.")
          : say("This page does not hold the plan for this case."),
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
  if (!items.length) words.push(say("No delays entered."));
  if (open) {
    words.push(
      sayCount(
        open,
        "{number} work can still be delayed; it is drawn as on time.",
        "{number} works can still be delayed; they are drawn as on time.",
      ),
    );
  }
  fill($("open"), words.join(" "));
  if (course.unknown.length) {
    fill($("course"));
  } else {
    const parts = moneyOf(course);
    const each = [say("works {amount}", { amount: money(parts.works) })];
    if (data.contractor === undefined) {
      each.push(say("hindrance {amount}", { amount: money(parts.hindrance) }));
    }
    if (works.some((work) => work.revenue)) {
      each.push(say("revenue {amount}", { amount: money(parts.revenue) }));
    }
    fill(
      $("course"),
      element("strong", {}, total(parts.value, true)),
      each.length > 1 ? `: ${each.join(", ")}.` : ".",
    );
    if (items.length) {
      const likely = percent(chance);
      const words = say("The chance of the delays entered is {chance}.", { chance: likely });
      $("course").append(` ${compare(parts.value)} ${words}`);
    }
    const list = listed(undone.map(workInText));
    if (undone.length) $("course").append(" ", ...sayNodes("Not done: {works}.", { works: list }));
  }
  $("outside").hidden = !lost.size;
  if (lost.size) {
    const names = [...lost].filter((who) => rowsShown.includes(who));
    const stage = Math.min(...course.unknown.map((each) => each.stage));
    fill(
      $("outside"),
      ...sayNodes("This page does not hold the plan of {contractors} from {when} on.", {
        contractors: listed(names.map((who) => [inText(contractors[who])])),
        when: when(stage),
      }),
      " ",
      say("Unlikely courses were left out to keep the page small."),
      " ",
      say("To continue, plan again from the current state, with “{command}”.", {
        command: "coreplan plan --stage --state",
      }),
    );
  }
};
