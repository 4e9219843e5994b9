// Money: amounts in whole cents that add up as shown.

const hasCents = (amount) => Math.abs(amount) * 100 <= Number.MAX_SAFE_INTEGER;
/** Two ways to compute an amount may differ in its last digits, which must not show. */
const settled = (amount) => (Math.abs(amount) < 1e9 ? Math.round(amount * 1e6) / 1e6 : amount);
/** An amount in whole cents: halves away from zero, by its decimal digits. */
const cents = (amount) => {
  const digits = String(Math.abs(settled(amount)));
  // Shifting the point exactly: 1.005 * 100 is less than 100.5.
  const size = Math.round(digits.includes("e") ? Number(digits) * 100 : Number(`${digits}e2`));
  return amount < 0 && size ? -size : size;
};
const rounded = (amount) => (hasCents(amount) ? cents(amount) / 100 : amount);
/** With two decimals and the currency, halves away from zero, and never "-0.00". */
const money = (amount) => {
  const [whole, rest] = Math.abs(rounded(amount)).toFixed(2).split(".");
  const text = `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${rest ?? "00"}`;
  return withCurrency(amount < 0 && /[1-9]/.test(text) ? `-${text}` : text);
};
/** Amounts in whole cents that add up to their rounded total. */
const shares = (total, parts) => {
  if (!hasCents(total) || !parts.every(hasCents)) return parts;
  const amounts = parts.map(settled);
  const down = amounts.map((amount) => Math.floor(amount * 100));
  const missing = cents(total) - down.reduce((a, b) => a + b, 0);
  const rest = (k) => amounts[k] * 100 - down[k];
  const order = [...amounts.keys()].sort((a, b) => rest(b) - rest(a) || a - b);
  for (const k of order.slice(0, Math.max(0, missing))) down[k] += 1;
  for (const k of order.slice(0, Math.max(0, -missing))) down[k] -= 1;
  return down.map((each) => each / 100);
};
