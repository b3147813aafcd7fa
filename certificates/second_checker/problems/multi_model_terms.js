// Feature maps of a unit of multi-model: their classes, sums over these, and parts of stretches.
"use strict";
const { sum } = require("../integers.js");

const run = (operators) => sum(operators.map((o) => o.run));
const plain = (columns) => columns.map((j) => [1n, j]);
const PAIR = ["recompute", "redo", "redo_swap", "swap", "late", "early", "keep"];
const KEPT_F = ["late", "keep"], MOVED_F = ["swap", "late", "early", "keep"];
const KEPT_B = ["redo", "early", "keep"], MOVED_B = PAIR.slice(1);
const size = (t) => t.size, copy = (t) => t.c, again = (t) => t.r;

// Sums of an amount of feature maps over their columns of some classes.
const terms = (x, tensors, classes, of) => tensors.flatMap((t) =>
  PAIR.filter((p) => classes.includes(p) && p in x.of[t.t]).map((p) => [of(t), x.of[t.t][p]]));
const present = (x, tensors, moved, kept) =>
  [...terms(x, tensors.filter(copy), moved, size),
    ...terms(x, tensors.filter((t) => !copy(t)), kept, size)];

// The parts of the stretches of both passes: feature maps at the milestone, then the others.
function partsOf(x) {
  const part = (stretch, order, tensors) =>
    ({ stretch, order, tensors, most: sum(tensors.map(size)) });
  const forward = x.P.flatMap((place, p) => {
    const end = x.P[p + 1] ?? x.u.length;
    return [part(p, p, x.live.filter((t) => t.l === place)),
      part(p, p + 1, x.live.filter((t) => place < t.l && t.l < end))];
  });
  const backward = x.J.flatMap((place, j) => {
    const before = x.J[j - 1] ?? -1;
    return [part(j, j, x.live.filter((t) => t.e === place)),
      part(j, j - 1, x.live.filter((t) => before < t.e && t.e < place))];
  });
  return [forward, backward].map((parts) => parts.filter((one) => one.tensors.length));
}

module.exports = { PAIR, KEPT_F, MOVED_F, KEPT_B, MOVED_B, size, copy, again, run, plain, terms,
  present, partsOf };
