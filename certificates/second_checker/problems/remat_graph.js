// Graphs: what is given, and the formulations of remat-graph.
"use strict";
const { sum, range, ascending } = require("../integers.js");
const { demand, onlyFields, amount, flag, list, some, checkKind } = require("../reading.js");
const { Model, total } = require("../model.js");
const { inputsOf, number } = require("./named.js");

const SILENT = ["backward", "result_of", "has_value", "operator_name", "offload"];
const KNOWN = ["name", "inputs", "keep", "again", "results", "duration_ns", "output_bytes",
  "workspace_bytes", ...SILENT];
const OWN = ["output_bytes", "keep", "result_of", "has_value"];

// t, m, w are duration, output and workspace of each node, `reads` its inputs. An operator with
// several results is a node of no bytes, and they are the nodes after it; `runs` has their number.
function readGraph(instance) {
  checkKind(instance, "graph", ["nodes", "repeated_blocks"]);
  const numbers = new Map();
  const graph = { t: [], m: [], w: [], keep: [], again: [], reads: [], runs: new Map() };
  const add = (named, fields) => {
    number(named, numbers);
    for (const key in fields) graph[key].push(fields[key]);
  };
  for (const node of some(instance, "nodes")) {
    onlyFields(node, KNOWN, "a node");
    const reads = inputsOf(node, numbers), place = numbers.size;
    demand(!reads.some((p) => graph.runs.has(p)), "a node reads an operator with results");
    const again = flag(node, "again", true), t = amount(node, "duration_ns");
    const w = amount(node, "workspace_bytes", { otherwise: 0n });
    if (!node.has("results")) {
      const m = amount(node, "output_bytes"), keep = flag(node, "keep");
      add(node, { t, m, w, keep, again, reads });
      continue;
    }
    demand(!OWN.some((key) => node.has(key)), "it has results and its own value");
    const results = some(node, "results");
    for (const result of results) onlyFields(result, ["name", "output_bytes", "keep"], "a result");
    const sizes = results.map((result) => amount(result, "output_bytes"));
    add(node, { t, m: 0n, w: w + sum(sizes), keep: false, again, reads });
    results.forEach((result, k) => {
      const keep = flag(result, "keep");
      add(result, { t: 0n, m: sizes[k], w: 0n, keep, again, reads: [place] });
    });
    graph.runs.set(place, results.length);
  }
  graph.n = numbers.size;
  return graph;
}

function memoryFloor({ n, t, m, w, reads, keep }, { memory_bytes: M }) {
  const model = new Model(sum(t));
  for (const i of range(0, n)) model.atMost([], M - m[i] - w[i] - sum(reads[i].map((p) => m[p])));
  model.atMost([], M - sum(m.filter((_, i) => keep[i])));
  return [model, "all schedules"];
}

function nodesOf(values, n) {
  const isNode = (value) => typeof value === "bigint" && value >= 0n && value < BigInt(n);
  demand(Array.isArray(values) && values.every(isNode), "a node is none");
  return values.map(Number);
}

function readWindows(options, n) {
  const cuts = nodesOf(some(options, "cuts"), n);
  demand(cuts.every((t, w) => !w || cuts[w - 1] < t), "the cuts do not ascend");
  const slots = list(options, "slots").map((slot) => nodesOf(slot, n));
  const isSlot = ([t, q, ...more]) =>
    cuts.includes(t) && cuts.includes(t - 1) && q < t && !more.length;
  const distinct = new Set(slots.map(String)).size === slots.length;
  demand(distinct && slots.every(isSlot), "a slot stands twice, or is not between two cuts");
  return { cuts, slots, staged: flag(options, "staged") || slots.length > 0 };
}

function windowedFrontier(graph, resources, options) {
  const { n, t: duration, m, w: workspace, reads, keep, again, runs } = graph;
  const M = resources.memory_bytes, { cuts, slots, staged } = readWindows(options, n);
  const last = cuts.length - 1;
  const read = (t, e) => range(t + 1, e + 1).flatMap((j) => reads[j].filter((p) => p <= t));
  const kept = (t) => range(0, t + 1).filter((i) => keep[i]);
  const lostAt = (t) => ascending([...read(t, n - 1), ...kept(t)]);
  const first = cuts.map((t, w) => (w < last ? ascending(read(t, cuts[w + 1])) : lostAt(t)));
  const withAncestors = (nodes) => {
    const found = new Set(nodes); // grows while it is gone through
    for (const i of found) for (const p of reads[i]) found.add(p);
    return ascending(found);
  };
  const needed = [];
  for (let w = last; w >= 0; w--) {
    const later = (needed[w + 1] ?? []).filter((i) => i <= cuts[w]);
    needed[w] = withAncestors([...first[w], ...later]);
  }
  const isResult = (node) => reads[node].some((p) => runs.has(p));
  const model = new Model(sum(duration)), R = [], S = [];
  cuts.forEach((t, w) => {
    // Nothing is computed between an operator and its results.
    const end = w < last ? cuts[w + 1] : n - (staged ? 1 : 0);
    const some = range(t + 1, end + 1).some((s) => s === n || !isResult(s));
    const R_hi = (i) => (again[i] && some ? 1n : 0n);
    const S_hi = (i) => (!runs.has(i) || (i <= t && t < i + runs.get(i)) ? 1n : 0n);
    R.push(model.columns(`R_${t}`, needed[w], (i) => ({ hi: R_hi(i), cost: duration[i] })));
    S.push(model.columns(`S_${t}`, needed[w], (i) => ({ hi: S_hi(i) })));
  });
  // Who computes one of these nodes, in window w, has its inputs: computed there, or still there.
  const reading = (nodes, computed, w, computes, stays = () => true) => {
    for (const i of nodes) {
      for (const p of reads[i]) {
        const there = stays(p) ? [computed[p], S[w][p]] : [computed[p]];
        model.atLeast([...total(there), [-1n, computes[i]]], 0n);
      }
    }
  };
  cuts.forEach((t, w) => {
    for (const p of first[w]) model.atLeast(total([R[w][p], S[w][p]]), 1n);
    reading(needed[w], R[w], w, R[w], (p) => !runs.has(p));
    for (const i of (needed[w + 1] ?? []).filter((i) => i <= t)) {
      model.atLeast([...total([R[w][i], S[w][i]]), [-1n, S[w + 1][i]]], 0n);
    }
    const beside = needed[w].filter((i) => i < t && !reads[t].includes(i));
    const room = M - m[t] - workspace[t] - sum(reads[t].map((p) => m[p]));
    model.atMost(beside.map((i) => [m[i], S[w][i]]), room);
  });
  cuts.slice(0, last).forEach((t, w) => {
    const lost = lostAt(t), all = withAncestors(lost), Z = model.columns(`Z_${t}`, all);
    for (const i of all) {
      const windows = R.slice(w).filter((window) => i in window);
      model.atLeast([...total(windows.map((window) => window[i])), [-1n, Z[i]]], 0n);
    }
    for (const p of lost) model.atLeast(total([Z[p], S[w][p]]), 1n);
    reading(all, Z, w, Z);
  });
  for (const [t, q] of slots) {
    const w = cuts.indexOf(t - 1);
    if (!(q in R[w])) continue;
    const knapsack = [[m[q] + workspace[q], R[w][q]], [m[q], S[w][q]]];
    let room = M;
    for (const i of needed[w]) {
      if (i > q) knapsack.push([m[i], S[w][i]]);
      else if (i < q && reads[t].includes(i)) room -= m[i];
      else if (i < q) {
        const users = needed[w].filter((j) => q <= j && j < t && reads[j].includes(i));
        const reasons = users.map((j) => R[w][j]);
        if (i in S[w + 1]) reasons.push(S[w + 1][i]);
        if (!reasons.length) continue;
        const later = reasons.length > 1 ? model.column(`L_${t}_${q}_${i}`) : reasons[0];
        if (reasons.length > 1) for (const reason of reasons) model.notBelow(later, reason);
        knapsack.push([m[i], later]);
      }
    }
    model.atMost(knapsack, room);
  }
  return [model, staged ? "staged" : "in-order"];
}

module.exports = {
  resources: { memory_bytes: 0n },
  read: readGraph,
  formulations: {
    "memory-floor": { options: [], build: memoryFloor },
    "windowed-frontier": { options: ["cuts", "slots", "staged"], build: windowedFrontier },
  },
};
