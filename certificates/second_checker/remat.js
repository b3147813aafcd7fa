// Formulations of remat-chain and remat-graph.
"use strict";
const { sum, max, range, ascending } = require("./integers.js");
const { demand, onlyFields, amount, flag, list, positions } = require("./reading.js");
const { readChain, readGraph } = require("./instances.js");
const { Model } = require("./tree.js");

function chainCut(instance, resources, options) {
  onlyFields(options, ["stage"], "the formulation");
  const { N, a, s, f, g, of, ob, t0 } = readChain(instance);
  const l = Number(amount(options, "stage", { least: 1n }));
  demand(l <= N, "there is no such stage");
  const below = range(1, l), M = amount(resources, "memory_bytes");
  const model = new Model(t0 + sum(below.map((k) => f[k])));
  const saved = below.map((k) => [s[k], model.column(`saved_${k}`, { cost: -f[k] })]);
  if (l > 1) saved.push([a[l - 1], model.column("plain")]);
  model.atMost(saved, M - a[0] - s[l] - max(of[l], a[l] + g[l] + ob[l]));
  if (l > 1) model.atLeast(saved.slice(-2).map(([, column]) => [1n, column]), 1n);
  return [model, "all schedules"];
}

function graphMemoryFloor(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const { n, t, m, w, reads, keep } = readGraph(instance), M = amount(resources, "memory_bytes");
  const model = new Model(sum(t));
  for (const i of range(0, n)) model.atMost([], M - m[i] - w[i] - sum(reads[i].map((p) => m[p])));
  model.atMost([], M - sum(m.filter((_, i) => keep[i])));
  return [model, "all schedules"];
}

function windowedFrontier(instance, resources, options) {
  onlyFields(options, ["cuts", "slots", "staged"], "the formulation");
  const graph = readGraph(instance), { n, t: duration, m, w: workspace, reads, keep } = graph;
  const M = amount(resources, "memory_bytes"), cuts = positions(list(options, "cuts"), BigInt(n));
  demand(cuts.length && cuts.every((t, w) => !w || cuts[w - 1] < t), "the cuts do not ascend");
  const slots = list(options, "slots").map((slot) => {
    demand(Array.isArray(slot) && slot.length === 2, "a slot is no pair");
    return positions(slot, BigInt(n));
  });
  const between = ([t, q]) => cuts.includes(t) && cuts.includes(t - 1) && q < t;
  const distinct = new Set(slots.map(String)).size === slots.length;
  demand(distinct && slots.every(between), "a slot stands twice, or is not between two cuts");
  const staged = flag(options, "staged") || slots.length > 0, last = cuts.length - 1;
  const read = (t, e) => range(t + 1, e + 1).flatMap((j) => reads[j].filter((p) => p <= t));
  const kept = (t) => range(0, t + 1).filter((i) => keep[i]);
  const lostAt = (t) => ascending(new Set([...read(t, n - 1), ...kept(t)]));
  const first = cuts.map((t, w) =>
    w < last ? ascending(new Set(read(t, cuts[w + 1]))) : lostAt(t));
  const needed = [];
  for (let w = last; w >= 0; w--) {
    const later = (needed[w + 1] ?? []).filter((i) => i <= cuts[w]);
    needed[w] = graph.withAncestors([...first[w], ...later]);
  }
  const model = new Model(sum(duration)), R = [], S = [];
  cuts.forEach((t, w) => {
    const hi = staged && t === n - 1 ? 0n : 1n;
    const column = (i) => model.column(`R_${t}_${i}`, { hi, cost: duration[i] });
    R.push(new Map(needed[w].map((i) => [i, column(i)])));
    S.push(new Map(needed[w].map((i) => [i, model.column(`S_${t}_${i}`)])));
  });
  const one = (...columns) => columns.map((column) => [1n, column]);
  cuts.forEach((t, w) => {
    const there = (p) => one(R[w].get(p), S[w].get(p));
    for (const p of first[w]) model.atLeast(there(p), 1n);
    const pairs = needed[w].flatMap((i) => reads[i].map((p) => [i, p]));
    for (const [i, p] of pairs) model.atLeast([...there(p), [-1n, R[w].get(i)]], 0n);
    for (const i of (needed[w + 1] ?? []).filter((i) => i <= t)) {
      model.atLeast([...there(i), [-1n, S[w + 1].get(i)]], 0n);
    }
    const beside = needed[w].filter((i) => i < t && !reads[t].includes(i));
    const room = M - m[t] - workspace[t] - sum(reads[t].map((p) => m[p]));
    model.atMost(beside.map((i) => [m[i], S[w].get(i)]), room);
  });
  cuts.slice(0, last).forEach((t, w) => {
    const lost = lostAt(t), all = graph.withAncestors(lost);
    const Z = new Map(all.map((i) => [i, model.column(`Z_${t}_${i}`)]));
    for (const i of all) {
      const windows = R.slice(w).filter((window) => window.has(i));
      model.atLeast([...one(...windows.map((window) => window.get(i))), [-1n, Z.get(i)]], 0n);
    }
    const there = (p) => one(Z.get(p), S[w].get(p));
    for (const p of lost) model.atLeast(there(p), 1n);
    const pairs = all.flatMap((i) => reads[i].map((p) => [i, p]));
    for (const [i, p] of pairs) model.atLeast([...there(p), [-1n, Z.get(i)]], 0n);
  });
  for (const [t, q] of slots) {
    const w = cuts.indexOf(t - 1);
    if (!R[w].has(q)) continue;
    const knapsack = [[m[q] + workspace[q], R[w].get(q)], [m[q], S[w].get(q)]];
    let room = M;
    for (const i of needed[w]) {
      if (i > q) knapsack.push([m[i], S[w].get(i)]);
      else if (i < q && reads[t].includes(i)) room -= m[i];
      else if (i < q) {
        const users = needed[w].filter((j) => q <= j && j < t && reads[j].includes(i));
        const reasons = users.map((j) => R[w].get(j));
        if (S[w + 1].has(i)) reasons.push(S[w + 1].get(i));
        if (!reasons.length) continue;
        const later = reasons.length > 1 ? model.column(`L_${t}_${q}_${i}`) : reasons[0];
        if (reasons.length > 1) {
          for (const reason of reasons) model.atLeast([[1n, later], [-1n, reason]], 0n);
        }
        knapsack.push([m[i], later]);
      }
    }
    model.atMost(knapsack, room);
  }
  return [model, staged ? "staged" : "in-order"];
}

module.exports = { chainCut, graphMemoryFloor, windowedFrontier };
