// 3-PARTITION: what is given, and the formulations.
"use strict";
const { sum, least, range, ascending } = require("../integers.js");
const { demand, isAmount, amount, some, checkKind } = require("../reading.js");
const { Model, total } = require("../model.js");

function readItems(instance) {
  checkKind(instance, "three-partition", ["target", "values"]);
  const V = amount(instance, "target", { least: 1n }), x = some(instance, "values");
  const isRight = (value) => isAmount(value) && V < 4n * value && 2n * value < V;
  demand(x.every(isRight), "a value is not between a quarter and a half");
  demand(3n * sum(x) === BigInt(x.length) * V, "the values do not sum to the target of all");
  return { V, x };
}

function triples({ V, x }) {
  const values = ascending(x), model = new Model(0n), counts = new Map();
  for (const value of x) counts.set(value, (counts.get(value) ?? 0n) + 1n);
  const rows = new Map(values.map((value) => [value, []]));
  for (const a of values) {
    for (const b of values) {
      const c = V - a - b, triple = [a, b, c];
      if (b < a || c < b || !rows.has(c)) continue;
      const often = (value) => BigInt(triple.filter((other) => other === value).length);
      const hi = least(triple.map((value) => counts.get(value) / often(value)));
      if (hi === 0n) continue;
      const column = model.column(`t_${a}_${b}_${c}`, { hi });
      for (const value of new Set(triple)) rows.get(value).push([often(value), column]);
    }
  }
  for (const value of values) model.equal(rows.get(value), counts.get(value));
  return [model, "all partitions"];
}

function assignment({ V, x }) {
  const model = new Model(0n), items = range(0, x.length);
  const isBefore = (j, i) => x[j] > x[i] || (x[j] === x[i] && j <= i);
  const y = items.map((i) => model.columns(`y_${i}`, items.filter((j) => isBefore(j, i))));
  for (const i of items) model.equal(total(Object.values(y[i])), 1n);
  for (const [weight, right] of [[() => 1n, 3n], [(i) => x[i], V]]) {
    for (const j of items) {
      const mine = items.filter((i) => j in y[i]).map((i) => [weight(i), y[i][j]]);
      model.equal([...mine, [-right, y[j][j]]], 0n);
    }
  }
  for (const i of items) {
    for (const j of items) if (j in y[i] && j !== i) model.notBelow(y[j][j], y[i][j]);
  }
  return [model, "all partitions"];
}

module.exports = {
  resources: {},
  read: readItems,
  formulations: {
    triples: { options: [], build: triples },
    assignment: { options: [], build: assignment },
  },
};
