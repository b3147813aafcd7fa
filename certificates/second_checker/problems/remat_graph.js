// Graphs: what is given, and the formulations of remat-graph.
"use strict";
const { sum, range, ascending } = require("../integers.js");
const { demand, onlyFields, amount, flag, list, some, checkKind } = require("../reading.js");
const { Model, total } = require("../model.js");
const { inputsOf, number } = require("./named.js");

const SIZES = { t: "duration_ns", m: "output_bytes", w: "workspace_bytes" };
const SILENT = ["backward", "result_of", "has_value", "operator_name"];

// t, m, w are duration, output and workspace of each node, `reads` its inputs.
function readGraph(instance) {
  checkKind(instance, "graph", ["nodes", "repeated_blocks"]);
  const nodes = some(instance, "nodes"), numbers = new Map();
  const known = ["name", "inputs", "keep", "again", ...SILENT, ...Object.values(SIZES)];
  const graph = { n: nodes.length, t: [], m: [], w: [], keep: [], again: [], reads: [] };
  for (const node of nodes) {
    onlyFields(node, known, "a node");
    graph.reads.push(inputsOf(node, numbers));
    number(node, numbers);
    for (const letter in SIZES) {
      const otherwise = letter === "w" ? 0n : undefined;
      graph[letter].push(amount(node, SIZES[letter], { otherwise }));
    }
    graph.keep.push(flag(node, "keep"));
    graph.again.push(flag(node, "again", true));
  }
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
  const { n, t: duration, m, w: workspace, reads, keep, again } = graph;
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
  const model = new Model(sum(duration)), R = [], S = [];
  cuts.forEach((t, w) => {
    const isOver = staged && t === n - 1, hi = (i) => (again[i] && !isOver ? 1n : 0n);
    R.push(model.columns(`R_${t}`, needed[w], (i) => ({ hi: hi(i), cost: duration[i] })));
    S.push(model.columns(`S_${t}`, needed[w]));
  });
  // Who computes one of these nodes, in window w, has its inputs: computed there, or still there.
  const reading = (nodes, computed, w, computes) => {
    for (const i of nodes) {
      for (const p of reads[i]) {
        model.atLeast([...total([computed[p], S[w][p]]), [-1n, computes[i]]], 0n);
      }
    }
  };
  cuts.forEach((t, w) => {
    for (const p of first[w]) model.atLeast(total([R[w][p], S[w][p]]), 1n);
    reading(needed[w], R[w], w, R[w]);
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
