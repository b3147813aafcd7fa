// Integer programs, and rows that follow from those of one.
"use strict";
const { sum, max, min, ceil, floor, gcd } = require("./integers.js");
const { MOST_DIGITS, demand, integer, place, pairs } = require("./reading.js");

const MOST_COVER_STEPS = 20_000_000n;

// Terms are pairs of a coefficient and a column.
const total = (columns) => [...columns].map((column) => [1n, column]);
const minus = (terms) => terms.map(([value, column]) => [-value, column]);

// Minimise offset + cost x / scale, lo <= x <= hi, under rows: inequalities of at least, or
// equations. The coefficients of a row are a Map from columns.
class Model {
  constructor(offset, scale = 1n) {
    Object.assign(this, { offset, scale, rows: [] });
    Object.assign(this, { names: [], lo: [], hi: [], cost: [], isWhole: [] });
  }
  column(name, { lo = 0n, hi = 1n, cost = 0n, isWhole = true } = {}) {
    this.names.push(name), this.lo.push(lo), this.hi.push(hi), this.cost.push(cost);
    this.isWhole.push(isWhole);
    return this.names.length - 1;
  }
  // Columns name_key for many numbers, at these places of an array; a function of the number says
  // what differs between them.
  columns(name, keys, options = () => ({})) {
    const found = [];
    for (const key of keys) found[key] = this.column(`${name}_${key}`, options(key));
    return found;
  }
  atMost(terms, right) {
    this.atLeast(minus(terms), -right);
  }
  notBelow(larger, smaller) {
    this.atLeast([[1n, larger], [-1n, smaller]], 0n);
  }
  equal(terms, right) {
    this.rows.push({ terms: this.#added(terms), right, isEquation: true });
  }
  atLeast(given, right) {
    const terms = this.#added(given), isWhole = [...terms.keys()].every((j) => this.isWhole[j]);
    const d = isWhole ? [...terms.values()].reduce(gcd, 0n) : 1n;
    if (d > 1n) {
      for (const [column, value] of terms) terms.set(column, value / d);
      right = ceil(right, d);
    }
    this.rows.push({ terms, right, isEquation: false });
  }
  #added(given) {
    const terms = new Map();
    for (const [value, column] of given) terms.set(column, (terms.get(column) ?? 0n) + value);
    for (const [column, value] of terms) if (!value) terms.delete(column);
    return terms;
  }
  // What the objective has to exceed at every point if no schedule takes less than `time`.
  toExceed(time) {
    const most = this.scale * (time - 1n - this.offset), d = this.cost.reduce(gcd, 0n);
    const isMultiple = d && this.cost.every((cost, column) => !cost || this.isWhole[column]);
    return isMultiple ? d * floor(most, d) : most;
  }
  // The rows i of a record's parts i:Y, each once, with weights that inequalities allow.
  weighted(parts) {
    const named = new Set();
    return pairs(parts).map(([text, weight]) => {
      const i = place(text, this.rows.length, "row"), row = this.rows[i];
      demand(!named.has(i) && named.add(i), `row ${i} stands twice`);
      demand(weight >= 0n || row.isEquation, `the weight of row ${i} is negative`);
      return [i, row, weight];
    });
  }
  // Adds what a record G or K derives.
  derive(letter, parts) {
    this.rows.push(letter === "G" ? rounded(this, parts) : cover(this, parts));
  }
}

function rounded(model, [divisor, ...weights]) {
  const d = integer(divisor), terms = new Map();
  let right = 0n, shift = 0n;
  demand(d >= 1n, "a divisor is not positive");
  for (const [, row, weight] of model.weighted(weights)) {
    right += weight * row.right;
    for (const [j, a] of row.terms) terms.set(j, (terms.get(j) ?? 0n) + weight * a);
  }
  for (const [j, a] of terms) {
    const coefficient = model.isWhole[j] ? ceil(a, d) : 0n;
    right -= model.isWhole[j] ? a * model.lo[j] : max(a * model.lo[j], a * model.hi[j]);
    shift += coefficient * model.lo[j];
    coefficient ? terms.set(j, coefficient) : terms.delete(j);
  }
  right = ceil(right, d) + shift;
  const most = 10n ** BigInt(MOST_DIGITS), isSmall = (value) => value <= most && value >= -most;
  demand([right, ...terms.values()].every(isSmall), "a derived row has too long numbers");
  return { terms, right, isEquation: false };
}

function cover(model, [rowText, betaText, ...items]) {
  const row = model.rows[place(rowText, model.rows.length, "row")], beta = integer(betaText);
  demand(!row.isEquation && items.length > 0, "a cover is of an inequality, and has columns");
  const steps = (beta + 2n) * BigInt(items.length);
  demand(beta >= 0n && steps <= MOST_COVER_STEPS, "no cover, or one too large");
  const alpha = new Map();
  for (const [text, profit] of pairs(items)) {
    const j = place(text, model.names.length, "column");
    const isBinary = model.lo[j] === 0n && model.hi[j] === 1n && model.isWhole[j];
    demand(!alpha.has(j) && isBinary && profit >= 1n, "a column of a cover is none");
    demand((row.terms.get(j) ?? 0n) < 0n, "a column of a cover has no weight");
    alpha.set(j, profit);
  }
  const others = [...row.terms].filter(([j]) => !alpha.has(j));
  const room = -row.right - sum(others.map(([j, a]) => min(-a * model.lo[j], -a * model.hi[j])));
  // The least weight of columns whose profits reach 0 to beta + 1; null where none do.
  const lightest = [0n, ...Array(Number(beta) + 1).fill(null)];
  for (const [j, profit] of alpha) {
    for (let goal = lightest.length - 1; goal > 0; goal--) {
      const before = lightest[profit >= BigInt(goal) ? 0 : goal - Number(profit)];
      const now = before === null ? null : before - row.terms.get(j);
      if (now !== null && !(lightest[goal] <= now && lightest[goal] !== null)) lightest[goal] = now;
    }
  }
  demand(lightest.at(-1) === null || lightest.at(-1) > room, "a cover does not follow");
  return { terms: new Map([...alpha].map(([j, profit]) => [j, -profit])), right: -beta,
    isEquation: false };
}

module.exports = { Model, total, minus };
