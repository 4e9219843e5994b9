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
  if (!/[1-9]/.test(words)) return "That is the same as without delays.";
  return `That is ${words} ${more > 0 ? "more" : "less"} than without delays.`;
};

/** Sentences about the works that start at another time in the second course. */
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
