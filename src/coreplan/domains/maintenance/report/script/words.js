// Words, numbers and elements. Names are always set as text, never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const { works, contractors, rules, first, horizon, closed } = data;
const $ = (id) => document.getElementById(id);

/** Two decimals, halves away from zero, and never "-0.00". */
const money = (amount) => {
  const [whole, rest] = Math.abs(amount).toFixed(2).split(".");
  const text = `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${rest ?? "00"}`;
  return amount < 0 && /[1-9]/.test(text) ? `-${text}` : text;
};
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
const named = (text) => element("bdi", { dir: "auto", title: text }, text);
/** A name within a sentence, cut if it is very long. */
const inText = (text) => element("bdi", { dir: "auto", title: text }, short(text));
const fill = (place, ...children) => place.replaceChildren(...children);
const place = (made, from, to) => {
  const scale = 100 / (horizon - first);
  made.style.left = `${(from - first) * scale}%`;
  made.style.width = `${(to - from) * scale}%`;
  return made;
};
const workInText = (number) => [
  inText(works[number].name),
  " (",
  inText(contractors[works[number].contractor]),
  ")",
];
const plain = (nodes) => nodes.map((node) => node.textContent ?? node).join("");
