// Drawing the whole page, and reacting to clicks and keys.

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
