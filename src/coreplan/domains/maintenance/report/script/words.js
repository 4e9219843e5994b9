// Words, numbers and elements. Names are always set as text, never as HTML.

const { works, contractors, rules, first, horizon, closed } = data;
// The page of one contractor shows only the others that matter for it.
const rowsShown = data.rows ?? [...contractors.keys()];
const isShown = (work) => rowsShown.includes(works[work].contractor);
const $ = (id) => document.getElementById(id);

const percent = (chance) => {
  if (chance > 0 && chance < 0.0005) return say("less than 0.1 %");
  const certain = chance > 1 - 1e-9; // rounding of sums
  if (!certain && chance >= 0.9995) return say("more than 99.9 %");
  const share = certain ? 100 : Number((chance * 100).toFixed(1));
  return say("{share} %", { share: localNumber(String(share)) });
};
const steps = (size) => {
  if (data.unit === "day") return sayCount(size, "{number} day", "{number} days");
  if (data.unit === "week") return sayCount(size, "{number} week", "{number} weeks");
  return sayCount(size, "{number} step", "{number} steps");
};
const withDates = data.dates !== null;
const firstDay = (stage) => data.dates.first[stage - first];
const lastDay = (stage) => data.dates.last[stage - first];
const withoutYear = (date) => date.replace(/ \d+$/, "");
const when = (stage) => (withDates ? firstDay(stage) : say("step {step}", { step: stage }));
const during = (from, to) => {
  if (!withDates && from === to) return when(from);
  if (!withDates) return say("steps {first} to {last}", { first: from, last: to });
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

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
};
/** A text for those who hear the page. */
const hidden = (text) => element("span", { class: "visually-hidden" }, text);
const named = (text) => element("bdi", { dir: "auto", title: text }, text);
/** A name within a sentence, cut if it is very long. */
const inText = (text) => element("bdi", { dir: "auto", title: text }, short(text));
/** A sentence about using the page, with other words where fingers are used. */
const forDevice = (byMouse, byTouch) => [
  element("span", { class: "by-mouse" }, byMouse),
  element("span", { class: "by-touch" }, byTouch),
];
const fill = (place, ...children) => place.replaceChildren(...children);
const place = (made, from, to) => {
  const scale = 100 / (horizon - first);
  made.style.left = `${(from - first) * scale}%`;
  made.style.width = `${(to - from) * scale}%`;
  return made;
};
const namesakes = new Map();
for (const { name } of works) namesakes.set(name, (namesakes.get(name) ?? 0) + 1);
/** A work's name; with the contractor's name if several contractors have a work of this name. */
const nameOf = (number) => {
  const { name, contractor } = works[number];
  return namesakes.get(name) > 1 ? `${contractors[contractor]}/${name}` : name;
};
const workInText = (number) => [
  inText(works[number].name),
  " (",
  inText(contractors[works[number].contractor]),
  ")",
];
/** A list with commas. */
const listed = (items) => items.flatMap((item, k) => (k ? [", ", ...item] : item));
/** Names of works as a list within a sentence. */
const worksInText = (numbers) => {
  const names = numbers.map(workInText);
  if (names.length < 2) return names.flat();
  return sayNodes("{first} and {last}", { first: listed(names.slice(0, -1)), last: names.at(-1) });
};
const plain = (nodes) => nodes.map((node) => node.textContent ?? node).join("");
