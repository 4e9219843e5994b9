// Drawing the whole page, and reacting to clicks and keys.

const shows = (section) => data.sections.includes(section);
const draw = () => {
  drawChart();
  drawPanel();
  drawPath();
  if (heatOfCourse && shows("hindrance")) drawHeat();
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
const knownAfter = () => {
  if (data.unit === "day")
    return say(
      "A striped end shows how much longer a work takes if it is delayed; this becomes known " +
        "one day after its start.",
    );
  if (data.unit === "week")
    return say(
      "A striped end shows how much longer a work takes if it is delayed; this becomes known " +
        "one week after its start.",
    );
  return say(
    "A striped end shows how much longer a work takes if it is delayed; this becomes known " +
      "one step after its start.",
  );
};
const planHelp = () => [
  `${knownAfter()} `,
  ...forDevice(
    say(
      "Click a work with a striped end to mark it as delayed, click again to mark it as on time.",
    ),
    say("Tap a work with a striped end to mark it as delayed, tap again to mark it as on time."),
  ),
  ` ${say("The chart then shows what the plan does in that case.")}`,
];
const startPlan = () => {
  if (data.open) fill($("plan-help"), ...planHelp());
  $("plan-help").hidden = !data.open;
  $("held").textContent = data.words.held;
  $("held").hidden = !data.words.held;
  $("panel").hidden = !data.open;
  $("undo").addEventListener("click", undo);
  $("reset").addEventListener("click", reset);
  drawLegend();
  draw();
  new ResizeObserver(() => drawTicks($("chart"))).observe($("chart"));
};

// How each section of the page is drawn; a page has some of them.
const sections = {
  summary: drawSummary,
  plan: startPlan,
  delays: drawDelays,
  hindrance: startHeat,
  costs: drawCosts,
  coordination: drawTogether,
  why: drawWhy,
  works: drawWorks,
};
document.querySelector("main").hidden = false;
drawHead();
for (const section of data.sections) sections[section]();
