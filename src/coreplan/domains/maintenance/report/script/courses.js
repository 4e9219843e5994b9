// The course of the plan for the delays entered: who works on what when, and the costs.

/**
 * The course in which works go as entered, and all others are on time.
 *
 * `said` maps works to true (delayed) or false. A run has the work, its first step, the step
 * after its last one, its state, and whether it is completed. `unknown` lists the parts of the plan
 * that this page does not hold, with the first step that is missing.
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
/** The steps in which all works of a rule are under way, [begin, end), or null. */
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
/** The money of a course in cents that add up, also of each hindrance rule. */
const moneyOf = (course) => {
  let [earned, own] = [0, 0];
  for (const run of course.runs.values()) {
    own += costOver(works[run.work].cost, run.begin, run.end);
    if (run.complete) earned += works[run.work].revenue;
  }
  const each = rules.map((rule) => {
    const both = overlap(course, rule);
    return both ? costOver(rule.cost, ...both) : 0;
  });
  const hindered = each.reduce((a, b) => a + b, 0);
  const value = rounded(earned - own - hindered);
  const [revenue, minusWorks, minusHindrance] = shares(value, [earned, -own, -hindered]);
  const hindrance = -minusHindrance;
  return { revenue, works: -minusWorks, hindrance, value, rules: shares(hindrance, each) };
};
const isCost = (value) => value < 0 || (value === 0 && data.costs);
const compare = (value) => {
  const more = rounded(moneyOf(nothingSaid).value - value) * (data.costs ? 1 : -1);
  const amount = money(Math.abs(more));
  if (!more) return say("That is the same as without delays.");
  if (more > 0) return say("That is {amount} more than without delays.", { amount });
  return say("That is {amount} less than without delays.", { amount });
};

const startsAt = (work, stage) =>
  withDates
    ? sayNodes("{work} starts on {day}", { work, day: firstDay(stage) })
    : sayNodes("{work} starts in step {step}", { work, step: stage });
const isNotStarted = (work, stage) =>
  withDates
    ? sayNodes("{work} is not started, instead of starting on {day}", {
        work,
        day: firstDay(stage),
      })
    : sayNodes("{work} is not started, instead of starting in step {step}", {
        work,
        step: stage,
      });
const isMoved = (work, was, is) => {
  const size = steps(Math.abs(is - was));
  const shift =
    is > was ? say("{steps} later", { steps: size }) : say("{steps} earlier", { steps: size });
  return withDates
    ? sayNodes("{work} starts on {day} instead of {before} ({shift})", {
        work,
        day: firstDay(is),
        before: firstDay(was),
        shift,
      })
    : sayNodes("{work} starts in step {step} instead of step {before} ({shift})", {
        work,
        step: is,
        before: was,
        shift,
      });
};

/** The works that start at another time in the second course, each with a sentence. */
const changes = (before, after) => {
  const lines = [];
  const unknown = new Set(after.unknown.flatMap(({ part }) => part.contractors));
  works.forEach((work, number) => {
    if (!isShown(number)) return;
    const [was, is] = [before.runs.get(number), after.runs.get(number)];
    const name = workInText(number);
    if (!was && is) {
      lines.push({ number, begin: is.begin, words: startsAt(name, is.begin) });
    }
    if (was && !is && !unknown.has(work.contractor)) {
      lines.push({ number, begin: horizon, words: isNotStarted(name, was.begin) });
    }
    if (was && is && was.begin !== is.begin) {
      lines.push({ number, begin: is.begin, words: isMoved(name, was.begin, is.begin) });
    }
  });
  return lines.sort((a, b) => a.begin - b.begin);
};
