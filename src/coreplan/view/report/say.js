// The language of the page: texts, numbers and amounts, as in support/language.

const { language } = data;

/** Fill in the names in braces of a text; strings and numbers only. */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
const translated = (message) => language.messages[message] ?? message;
/** A text for people, with values for the names in braces. The message must be a literal. */
const say = (message, values = {}) => filled(translated(message), values);
/** The same with elements or lists of them as values: a list of texts and elements. */
const sayNodes = (message, values) =>
  translated(message)
    .split(/(\{\w+\})/)
    .flatMap((part) => (/^\{\w+\}$/.test(part) ? values[part.slice(1, -1)] : [part]));
/** The same for a text that depends on a number, which it may name {number}. */
const sayCount = (number, one, many, values = {}) => {
  const [single, several] = language.plurals[one] ?? [one, many];
  return filled(number === 1 ? single : several, {
    number: localNumber(number.toLocaleString("en")),
    ...values,
  });
};
/** A number as it is written in English, with the marks of the page's language. */
const localNumber = (text) => text.replace(/[.,]/g, (mark) => language.marks[mark]);
/** An amount with its currency, from its number as it is written in English. */
const withCurrency = (text) => {
  const negative = text.startsWith("-");
  const [before, after] = language.money[negative ? 1 : 0];
  return `${before}${localNumber(negative ? text.slice(1) : text)}${after}`;
};
