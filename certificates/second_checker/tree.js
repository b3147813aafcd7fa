// Trees of records that prove something of all points of an integer program.
"use strict";
const { sum, min } = require("./integers.js");
const { Refused, demand, integer, place, pairs } = require("./reading.js");

const MOST_BRANCHES = 100_000;

// A vector of multipliers Y, and its value b Y + sum of min(r lo, r hi), r = cost - A'Y: a bound of
// the cost of all points between lo and hi. `terms` are the parts of that sum.
class Multipliers {
  constructor(model, cost, lo, hi) {
    Object.assign(this, { model, lo, hi, Y: [], r: [...cost] });
    this.terms = this.r.map((r, column) => min(r * lo[column], r * hi[column]));
    this.value = sum(this.terms);
  }
  change(parts) {
    const touched = new Set();
    for (const [i, row, Y] of this.model.weighted(parts)) {
      const step = Y - (this.Y[i] ?? 0n);
      if (!step) continue;
      this.Y[i] = Y;
      this.value += step * row.right;
      for (const [column, a] of row.terms) this.r[column] -= step * a, touched.add(column);
    }
    for (const column of touched) this.follow(column);
  }
  // Brings the term of a column up to date, after a change of its bounds or of r.
  follow(column) {
    const r = this.r[column], term = min(r * this.lo[column], r * this.hi[column]);
    this.value += term - this.terms[column];
    this.terms[column] = term;
  }
  // The value if the column may have any value of its own but this one, lo or hi.
  without(column, value) {
    const r = this.r[column], atLow = value === this.lo[column];
    const [lo, hi] = [this.lo[column] + (atLow ? 1n : 0n), this.hi[column] - (atLow ? 0n : 1n)];
    return this.value - this.terms[column] + min(r * lo, r * hi);
  }
}

// Follows one tree in preorder. `exceed` is null for the claim that there is no schedule.
function followTree(model, k, exceed, lines) {
  const lo = [...model.lo], hi = [...model.hi];
  const columns = new Map(model.names.map((name, column) => [name, column]));
  const needed = exceed === null ? null : exceed << k;
  const path = []; // branches above, of which a second subtree may be open
  const trail = []; // bounds to be restored at the end of subtrees
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
    demand(needed !== null, "a claim of no schedule needs leaves f, and fixes nothing");
    return (bound ??= new Multipliers(model, model.cost.map((cost) => cost << k), lo, hi));
  };
  const close = (multipliers, most, parts) => {
    multipliers.change(parts);
    demand(multipliers.value > most, "a leaf does not prove the claim");
    leaves += 1;
    while (path.length) {
      const branch = path.pop();
      while (trail.length > branch.mark) setBounds(...trail.pop());
      if (branch.isSecond) continue;
      path.push({ ...branch, isSecond: true });
      return narrow(branch.column, branch.above, hi[branch.column]);
    }
    complete = true;
  };
  const follow = {
    G: (parts) => derive("G", parts),
    K: (parts) => derive("K", parts),
    b: ([name, text, ...rest]) => {
      const column = columns.get(name), v = integer(text);
      demand(!rest.length && model.isWhole[column], "a branch on no integer column");
      const splits = lo[column] <= v && v < hi[column];
      demand(splits && path.length < MOST_BRANCHES, "a branch splits nothing, or is too deep");
      path.push({ column, above: v + 1n, mark: trail.length, isSecond: false });
      narrow(column, lo[column], v);
    },
    x: (parts) => {
      const mark = parts.includes("|") ? parts.indexOf("|") : parts.length;
      optimality().change(parts.slice(0, mark));
      for (const [text, v] of pairs(parts.slice(mark + 1), "=")) {
        const column = place(text, model.names.length, "column");
        const isOpen = model.isWhole[column] && lo[column] < hi[column];
        demand(isOpen, "a column is fixed, or is continuous");
        demand(v === lo[column] || v === hi[column], "a column is not fixed to a bound");
        demand(bound.without(column, v) > needed, "a column may have another value");
        narrow(column, v, v);
      }
    },
    l: (parts) => close(optimality(), needed, parts),
    f: (parts) => {
      ray ??= new Multipliers(model, model.cost.map(() => 0n), lo, hi);
      close(ray, 0n, parts);
    },
  };
  const derive = (letter, parts) => {
    demand(!bound && !ray && !path.length, "rows are derived before the tree");
    model.derive(letter, parts);
  };
  for (const line of lines) {
    const [letter, ...parts] = line.split(" ");
    demand(!complete, "a line follows the tree");
    if (!Object.hasOwn(follow, letter)) throw new Refused(`there is no record ${letter}`);
    follow[letter](parts);
  }
  demand(complete, "a part of the space stays open");
  return `${leaves} leaves`;
}

module.exports = { followTree };
