// Integer programs, and trees of records that prove something of all of their points.
"use strict";
const { sum, max, min, ceil, floor, gcd } = require("./integers.js");
const { MOST_DIGITS, Refused, demand, integer, place, pairs } = require("./reading.js");

// Minimise cost x, lo <= x <= hi, under rows: inequalities of at least, or equations.
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
  // Columns name_key for many keys, as a Map; what differs between them is a function of the key.
  columns(name, keys, options = () => ({})) {
    return new Map(keys.map((key) => [key, this.column(`${name}_${key}`, options(key))]));
  }
  // Terms are pairs of a coefficient and a column.
  atMost(terms, right) {
    this.atLeast(terms.map(([value, column]) => [-value, column]), -right);
  }
  equal(terms, right) {
    this.rows.push({ total: this.#added(terms), right, isEquation: true });
  }
  atLeast(terms, right) {
    const total = this.#added(terms), isWhole = [...total.keys()].every((j) => this.isWhole[j]);
    const d = isWhole ? [...total.values()].reduce(gcd, 0n) : 1n;
    if (d > 1n) {
      for (const [column, value] of total) total.set(column, value / d);
      right = ceil(right, d);
    }
    this.rows.push({ total, right, isEquation: false });
  }
  #added(terms) {
    const total = new Map();
    for (const [value, column] of terms) total.set(column, (total.get(column) ?? 0n) + value);
    for (const [column, value] of total) if (!value) total.delete(column);
    return total;
  }
  toExceed(time) {
    const most = this.scale * (time - 1n - this.offset), d = this.cost.reduce(gcd, 0n);
    const isMultiple = d && this.cost.every((cost, column) => !cost || this.isWhole[column]);
    return isMultiple ? d * floor(most, d) : most;
  }
}

class Multipliers {
  constructor(model, cost, lo, hi) {
    Object.assign(this, { model, lo, hi, Y: [], r: [...cost] });
    this.terms = this.r.map((r, column) => min(r * lo[column], r * hi[column]));
    this.value = sum(this.terms);
  }
  change(changes) {
    const named = new Set(), touched = new Set(), rows = this.model.rows;
    for (const [text, Y] of changes) {
      const i = place(text, rows.length, "row");
      const isRight = (Y >= 0n || rows[i].isEquation) && !named.has(i) && named.add(i);
      demand(isRight, `row ${i} stands twice, or is negative`);
      const step = Y - (this.Y[i] ?? 0n);
      if (!step) continue;
      this.Y[i] = Y;
      this.value += step * rows[i].right;
      for (const [column, a] of rows[i].total) this.r[column] -= step * a, touched.add(column);
    }
    for (const column of touched) this.follow(column);
  }
  follow(column) {
    const r = this.r[column], term = min(r * this.lo[column], r * this.hi[column]);
    this.value += term - this.terms[column];
    this.terms[column] = term;
  }
  without(column, value) {
    const r = this.r[column], atLow = value === this.lo[column];
    const [lo, hi] = [this.lo[column] + (atLow ? 1n : 0n), this.hi[column] - (atLow ? 0n : 1n)];
    return this.value - this.terms[column] + min(r * lo, r * hi);
  }
}

function derivedByRounding(model, [divisor, ...weights]) {
  const d = integer(divisor), total = new Map(), named = new Set();
  let right = 0n, shift = 0n;
  demand(d >= 1n, "a divisor is not positive");
  for (const [text, w] of pairs(weights)) {
    const i = place(text, model.rows.length, "row"), row = model.rows[i];
    const isRight = (w >= 0n || row.isEquation) && !named.has(i) && named.add(i);
    demand(isRight, `row ${i} stands twice, or is negative`);
    right += w * row.right;
    for (const [column, a] of row.total) total.set(column, (total.get(column) ?? 0n) + w * a);
  }
  for (const [column, a] of total) {
    const raised = model.isWhole[column] ? ceil(a, d) : 0n;
    const [atLo, atHi] = [a * model.lo[column], a * model.hi[column]];
    right -= model.isWhole[column] ? atLo : max(atLo, atHi);
    shift += raised * model.lo[column];
    raised ? total.set(column, raised) : total.delete(column);
  }
  right = ceil(right, d) + shift;
  const most = 10n ** BigInt(MOST_DIGITS), isSmall = (value) => value <= most && value >= -most;
  demand([right, ...total.values()].every(isSmall), "a derived row has too long numbers");
  model.rows.push({ total, right, isEquation: false });
}

function derivedCover(model, [rowText, betaText, ...items]) {
  const row = model.rows[place(rowText, model.rows.length, "row")], beta = integer(betaText);
  const steps = (beta + 2n) * BigInt(items.length);
  demand(!row.isEquation && items.length > 0, "a cover is of an inequality, and has columns");
  demand(beta >= 0n && steps <= 20_000_000n, "no cover, or one too large");
  const alpha = new Map();
  for (const [text, profit] of pairs(items)) {
    const column = place(text, model.names.length, "column");
    const isFree = model.lo[column] === 0n && model.hi[column] === 1n;
    const binary = isFree && model.isWhole[column];
    demand(!alpha.has(column) && binary && profit >= 1n, "a column of a cover is none");
    demand((row.total.get(column) ?? 0n) < 0n, "a column of a cover has no weight");
    alpha.set(column, profit);
  }
  let room = -row.right;
  for (const [column, a] of row.total) {
    if (!alpha.has(column)) room -= min(-a * model.lo[column], -a * model.hi[column]);
  }
  // The least weight of columns whose profits reach 0 to beta + 1; null where none do.
  const lightest = [0n, ...Array(Number(beta) + 1).fill(null)];
  for (const [column, profit] of alpha) {
    for (let goal = lightest.length - 1; goal > 0; goal--) {
      const before = lightest[profit >= BigInt(goal) ? 0 : goal - Number(profit)];
      const now = before === null ? null : before - row.total.get(column);
      if (now !== null && !(lightest[goal] <= now && lightest[goal] !== null)) lightest[goal] = now;
    }
  }
  demand(lightest.at(-1) === null || lightest.at(-1) > room, "a cover does not follow");
  for (const [column, profit] of alpha) alpha.set(column, -profit);
  model.rows.push({ total: alpha, right: -beta, isEquation: false });
}

const derive = (model, letter, parts) =>
  (letter === "G" ? derivedByRounding : derivedCover)(model, parts);

function followTree(model, k, exceed, lines) {
  const lo = [...model.lo], hi = [...model.hi], trail = [], path = [];
  const columns = new Map(model.names.map((name, column) => [name, column]));
  const need = exceed === null ? null : exceed << k;
  let bound = null, ray = null, complete = false, leaves = 0;
  const setBounds = (column, low, high) => {
    [lo[column], hi[column]] = [low, high];
    bound?.follow(column), ray?.follow(column);
  };
  const narrow = (column, low, high) => {
    trail.push([column, lo[column], hi[column]]);
    setBounds(column, low, high);
  };
  const optimality = () => {
    demand(need !== null, "a claim of no schedule needs leaves f, and fixes nothing");
    return (bound ??= new Multipliers(model, model.cost.map((cost) => cost << k), lo, hi));
  };
  const close = (multipliers, needed, parts) => {
    multipliers.change(pairs(parts));
    demand(multipliers.value > needed, "a leaf does not prove the claim");
    leaves += 1;
    while (path.length) {
      const branch = path.pop();
      while (trail.length > branch.mark) setBounds(...trail.pop());
      if (branch.second) continue;
      path.push({ ...branch, second: true });
      return narrow(branch.column, branch.above, hi[branch.column]);
    }
    complete = true;
  };
  for (const line of lines) {
    const [letter, ...parts] = line.split(" ");
    demand(!complete, "a line follows the tree");
    if (letter === "G" || letter === "K") {
      demand(!bound && !ray && !path.length, "rows are derived before the tree");
      derive(model, letter, parts);
    } else if (letter === "b") {
      const column = columns.get(parts[0]), v = integer(parts[1]);
      demand(parts.length === 2 && model.isWhole[column], "a branch on no integer column");
      demand(lo[column] <= v && v < hi[column] && path.length < 100_000, "a branch splits nothing");
      path.push({ column, above: v + 1n, mark: trail.length, second: false });
      narrow(column, lo[column], v);
    } else if (letter === "x") {
      const mark = parts.includes("|") ? parts.indexOf("|") : parts.length;
      optimality().change(pairs(parts.slice(0, mark)));
      for (const [text, v] of pairs(parts.slice(mark + 1), "=")) {
        const column = place(text, model.names.length, "column");
        const [low, high] = [lo[column], hi[column]];
        demand(model.isWhole[column] && low < high, "a column is fixed, or is continuous");
        demand(v === low || v === high, "a column is not fixed to a bound");
        demand(bound.without(column, v) > need, "a column may have another value");
        narrow(column, v, v);
      }
    } else if (letter === "l") close(optimality(), need, parts);
    else if (letter === "f") {
      ray ??= new Multipliers(model, model.cost.map(() => 0n), lo, hi);
      close(ray, 0n, parts);
    } else throw new Refused(`there is no record ${letter}`);
  }
  demand(complete, "a part of the space stays open");
  return `${leaves} leaves`;
}

module.exports = { Model, derive, followTree };
