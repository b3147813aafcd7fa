// Instances: what is given, checked field by field.
"use strict";
const { sum, ascending } = require("./integers.js");
const { demand, onlyFields, isAmount, amount, flag, list, text } = require("./reading.js");

function checkKind(instance, kind, fields) {
  const known = ["format", "kind", "version", "name", "provenance", ...fields];
  onlyFields(instance, known, "the instance");
  for (const [key, value] of Object.entries({ format: "jettison", kind, version: 1n })) {
    demand(instance.get(key) === value, `${key} is not ${value}`);
  }
  text(instance, "name");
}

// The numbers of what a node reads, ascending; and a node's name, which becomes its number.
function inputsOf(node, numbers) {
  const inputs = list(node, "inputs");
  demand(inputs.every((name) => numbers.has(name)), "a node reads one that is not before it");
  return ascending(new Set(inputs.map((name) => numbers.get(name))));
}

function nameOf(node, numbers) {
  const name = text(node, "name");
  demand(!numbers.has(name) && numbers.set(name, numbers.size), "two nodes have one name");
}

// Stages from 1, and index 0 for the input; `g` is what the gradient of a stage's input adds.
function readChain(instance) {
  const fields = ["input_bytes", "stages", "backward_overhead_holds_gradient"];
  checkKind(instance, "chain", fields);
  const stages = list(instance, "stages");
  demand(stages.length > 0, "a chain has stages");
  const holds = flag(instance, fields[2]);
  const chain = { N: stages.length, a: [amount(instance, "input_bytes")], t0: 0n };
  const columns = { f: "forward_ns", b: "backward_ns", s: "saved_bytes",
    of: "forward_overhead_bytes", ob: "backward_overhead_bytes", w: "weight_bytes" };
  for (const letter of ["g", ...Object.keys(columns)]) chain[letter] = [0n];
  stages.forEach((stage, number) => {
    onlyFields(stage, ["name", "output_bytes", ...Object.values(columns)], `stage ${number + 1}`);
    chain.g.push(holds ? 0n : chain.a[number]);
    chain.a.push(amount(stage, "output_bytes"));
    for (const letter in columns) {
      const otherwise = "fbs".includes(letter) ? undefined : 0n;
      chain[letter].push(amount(stage, columns[letter], { otherwise }));
    }
    demand(chain.s.at(-1) >= chain.a.at(-1), "a stage saves less than its output");
    chain.t0 += chain.f.at(-1) + chain.b.at(-1);
  });
  demand(chain.a.at(-1) === 0n, "the loss has an output");
  return chain;
}

// `reads` are the inputs of each node.
function readGraph(instance) {
  checkKind(instance, "graph", ["nodes", "repeated_blocks"]);
  const nodes = list(instance, "nodes"), numbers = new Map();
  demand(nodes.length > 0, "a graph has nodes");
  const graph = { n: nodes.length, t: [], m: [], w: [], keep: [], reads: [] };
  const sizes = ["duration_ns", "output_bytes", "workspace_bytes"];
  for (const node of nodes) {
    onlyFields(node, ["name", "inputs", "backward", "keep", "result_of", ...sizes], "a node");
    graph.reads.push(inputsOf(node, numbers));
    nameOf(node, numbers);
    graph.t.push(amount(node, sizes[0])), graph.m.push(amount(node, sizes[1]));
    graph.w.push(amount(node, sizes[2], { otherwise: 0n })), graph.keep.push(flag(node, "keep"));
  }
  graph.withAncestors = (set) => {
    const found = new Set(set), waiting = [...found];
    while (waiting.length) {
      for (const p of graph.reads[waiting.pop()]) if (!found.has(p)) found.add(p), waiting.push(p);
    }
    return ascending(found);
  };
  return graph;
}

const isCost = (value) => value === null || isAmount(value); // null forbids

// `cost[i][k]` is null where strategy k of operator i is forbidden; `tables` have source j, target
// i and costs, and `table(j, i)` finds the costs.
function readShardedGraph(instance) {
  checkKind(instance, "sharded-graph", ["operators", "resharding", "mesh", "fastest"]);
  const operators = list(instance, "operators"), numbers = new Map(), tables = new Map();
  demand(operators.length > 0, "a sharded graph has operators");
  const graph = { n: operators.length, role: [], reads: [], leader: [], keep: [] };
  Object.assign(graph, { cost: [], size: [], tables: [] });
  operators.forEach((operator, i) => {
    onlyFields(operator, ["name", "role", "inputs", "follows", "keep", "strategies", "operation",
      "scope"], "an operator");
    const role = text(operator, "role"), reads = inputsOf(operator, numbers);
    const mayRead = ["forward", "backward"].includes(role);
    demand(mayRead || ["parameter", "input"].includes(role), "there is no such role");
    demand(mayRead || reads.length === 0, `a ${role} reads nothing`);
    const followed = operator.get("follows") ?? null, strategies = list(operator, "strategies");
    demand(followed === null || numbers.has(followed), "an operator follows one not before it");
    nameOf(operator, numbers);
    graph.role.push(role), graph.reads.push(reads), graph.keep.push(flag(operator, "keep"));
    graph.leader.push(followed === null ? i : graph.leader[numbers.get(followed)]);
    graph.size.push(strategies.map((strategy) => amount(strategy, "memory_bytes")));
    graph.cost.push(strategies.map((strategy) => {
      const known = ["name", "compute_ns", "communication_ns", "memory_bytes"];
      onlyFields(strategy, known, "a strategy");
      const communication = amount(strategy, "communication_ns", { otherwise: 0n });
      const isForbidden = (strategy.get("compute_ns") ?? null) === null;
      return isForbidden ? null : amount(strategy, "compute_ns") + communication;
    }));
    const count = graph.cost[graph.leader[i]].length;
    demand(strategies.length > 0 && strategies.length === count, "not the leader's strategies");
  });
  for (const given of list(instance, "resharding")) {
    onlyFields(given, ["source", "target", "cost_ns"], "a table");
    const [j, i] = ["source", "target"].map((end) => numbers.get(text(given, end)));
    demand(graph.reads[i]?.includes(j) && !tables.has(`${j} ${i}`), "a table is for no pair");
    const costs = list(given, "cost_ns"), [rows, columns] = [j, i].map((k) => graph.cost[k].length);
    const isRow = (row) => Array.isArray(row) && row.length === columns && row.every(isCost);
    demand(costs.length === rows && costs.every(isRow), "a table has another shape");
    tables.set(`${j} ${i}`, costs), graph.tables.push({ j, i, costs });
  }
  graph.table = (j, i) => tables.get(`${j} ${i}`);
  return graph;
}

// `edges` are from a node i to a node j > i, those of the same two added up.
function readStrategyGraph(instance) {
  checkKind(instance, "strategy-graph", ["nodes", "edges", "usage_limit_bytes"]);
  const nodes = list(instance, "nodes"), numbers = new Map(), edges = new Map();
  const graph = { n: nodes.length, cost: [], usage: [], interval: [] };
  demand(nodes.length > 0, "a graph has nodes");
  for (const node of nodes) {
    onlyFields(node, ["name", "interval", "costs_ns", "usages_bytes"], "a node");
    nameOf(node, numbers);
    const [costs, usages] = [list(node, "costs_ns"), list(node, "usages_bytes")];
    const interval = list(node, "interval"), isInterval = interval.every((v) => isAmount(v));
    demand(isInterval && interval.length === 2 && interval[0] <= interval[1], "no interval");
    demand(costs.length > 0 && costs.every(isCost), "a node has costs");
    demand(usages.length === costs.length && usages.every((v) => isAmount(v)), "no usages");
    graph.cost.push(costs), graph.usage.push(usages), graph.interval.push(interval);
  }
  const plus = (one, other) => (one === null || other === null ? null : one + other);
  for (const edge of list(instance, "edges")) {
    onlyFields(edge, ["first", "second", "costs_ns"], "an edge");
    let [i, j] = ["first", "second"].map((end) => numbers.get(text(edge, end)) ?? -1);
    demand(i >= 0 && j >= 0 && i !== j, "an edge is between two nodes");
    const given = list(edge, "costs_ns"), { length } = graph.cost[j];
    demand(given.length === length * graph.cost[i].length && given.every(isCost), "no such costs");
    let costs = graph.cost[i].map((_, a) => given.slice(a * length, (a + 1) * length));
    if (i > j) [i, j, costs] = [j, i, costs[0].map((_, b) => costs.map((row) => row[b]))];
    const before = edges.get(`${i} ${j}`)?.costs;
    if (before) costs = costs.map((row, a) => row.map((cost, b) => plus(before[a][b], cost)));
    edges.set(`${i} ${j}`, { i, j, costs });
  }
  return Object.assign(graph, { edges: [...edges.values()] });
}

function readThreePartition(instance) {
  checkKind(instance, "three-partition", ["target", "values"]);
  const V = amount(instance, "target", { least: 1n }), x = list(instance, "values");
  const isRight = (value) => isAmount(value) && V < 4n * value && 2n * value < V;
  demand(x.length > 0 && x.every(isRight), "a value is not between a quarter and a half");
  demand(3n * sum(x) === BigInt(x.length) * V, "the values do not sum to the target of all");
  return { V, x };
}

module.exports = { readChain, readGraph, readShardedGraph, readStrategyGraph, readThreePartition };
