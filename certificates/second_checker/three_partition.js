// Formulations of three-partition.
"use strict";
const { range, min } = require("./integers.js");
const { onlyFields } = require("./reading.js");
const { readThreePartition } = require("./instances.js");
const { Model } = require("./tree.js");

function triples(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const { V, x } = readThreePartition(instance), model = new Model(0n), counts = new Map();
  for (const value of x) counts.set(value, (counts.get(value) ?? 0n) + 1n);
  const values = [...counts.keys()].sort((a, b) => (a < b ? -1 : 1)), rows = new Map();
  for (const value of values) rows.set(value, []);
  for (const a of values) {
    for (const b of values) {
      const c = V - a - b, triple = [a, b, c];
      if (b < a || c < b || !counts.has(c)) continue;
      const often = (value) => BigInt(triple.filter((other) => other === value).length);
      const hi = triple.map((value) => counts.get(value) / often(value)).reduce(min);
      if (hi === 0n) continue;
      const column = model.column(`t_${a}_${b}_${c}`, { hi });
      for (const value of new Set(triple)) rows.get(value).push([often(value), column]);
    }
  }
  for (const value of values) model.equal(rows.get(value), counts.get(value));
  return [model, "all partitions"];
}

function assignment(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const { V, x } = readThreePartition(instance), model = new Model(0n), items = range(0, x.length);
  const isBefore = (j, i) => x[j] > x[i] || (x[j] === x[i] && j <= i);
  const y = items.map((i) => model.columns(`y_${i}`, items.filter((j) => isBefore(j, i))));
  for (const i of items) model.equal([...y[i].values()].map((column) => [1n, column]), 1n);
  for (const [weight, total] of [[() => 1n, 3n], [(i) => x[i], V]]) {
    for (const j of items) {
      const mine = items.filter((i) => y[i].has(j)).map((i) => [weight(i), y[i].get(j)]);
      model.equal([...mine, [-total, y[j].get(j)]], 0n);
    }
  }
  for (const i of items) {
    for (const [j, column] of y[i]) {
      if (j !== i) model.atLeast([[1n, y[j].get(j)], [-1n, column]], 0n);
    }
  }
  return [model, "all partitions"];
}

module.exports = { triples, assignment };
