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
const startPlan = () => {
  fill($("plan-help"), ...forDevice(data.words.plan));
  $("plan-help").hidden = !data.words.plan;
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
  works: drawWorks,
};
document.querySelector("main").hidden = false;
drawHead();
for (const section of data.sections) sections[section]();
