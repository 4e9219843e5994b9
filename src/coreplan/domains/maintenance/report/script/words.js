// Words, numbers and elements. Names are always set as text, never as HTML.

const { works, contractors, rules, first, horizon, closed } = data;
// The page of one contractor shows only the others that matter for it.
const rowsShown = data.rows ?? [...contractors.keys()];
const isShown = (work) => rowsShown.includes(works[work].contractor);
const $ = (id) => document.getElementById(id);

const percent = (chance) => {
  if (chance > 1 - 1e-9) return "100 %"; // rounding of sums
  if (chance > 0 && chance < 0.0005) return "less than 0.1 %";
  if (chance < 1 && chance >= 0.9995) return "more than 99.9 %";
  return `${Number((chance * 100).toFixed(1))} %`;
};
const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
const steps = (number) => count(number, data.unit);
const withDates = data.dates !== null;
const firstDay = (stage) => data.dates.first[stage - first];
const lastDay = (stage) => data.dates.last[stage - first];
const withoutYear = (date) => date.replace(/ \d+$/, "");
const when = (stage) => (withDates ? firstDay(stage) : `step ${stage}`);
const at = (stage) => (withDates ? `on ${firstDay(stage)}` : `in step ${stage}`);
const during = (from, to) => {
  if (!withDates) return from === to ? `step ${from}` : `steps ${from} to ${to}`;
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
const touchWords = new Map([
  ["Click", "Tap"],
  ["click", "tap"],
  ["Point at", "Tap"],
]);
/** A sentence about using the page, with other words where fingers are used. */
const forDevice = (text) =>
  text
    .split(/(Click|click|Point at)/)
    .flatMap((part) =>
      touchWords.has(part)
        ? [
            element("span", { class: "by-mouse" }, part),
            element("span", { class: "by-touch" }, touchWords.get(part)),
          ]
        : [part],
    );
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
/** Names of works as a list within a sentence. */
const worksInText = (numbers) =>
  numbers.flatMap((number, k) => {
    const last = k === numbers.length - 1;
    return [k === 0 ? "" : last ? " and " : ", ", ...workInText(number)];
  });
const plain = (nodes) => nodes.map((node) => node.textContent ?? node).join("");
