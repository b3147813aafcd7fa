// Strategy graphs: what is given, and the formulation of sharding.
"use strict";
const { sum, max, least, range, ascending } = require("../integers.js");
const { demand, onlyFields, isAmount, list, some, text, checkKind } = require("../reading.js");
const { Model, total } = require("../model.js");
const { number, isCost } = require("./named.js");

// `edges` are from a node i to a node j > i, those of the same two added up.
function readStrategyGraph(instance) {
  checkKind(instance, "strategy-graph", ["nodes", "edges", "usage_limit_bytes"]);
  const nodes = some(instance, "nodes"), numbers = new Map(), edges = new Map();
  const graph = { n: nodes.length, cost: [], usage: [], interval: [] };
  for (const node of nodes) {
    onlyFields(node, ["name", "interval", "costs_ns", "usages_bytes"], "a node");
    number(node, numbers);
    const [costs, usages] = [some(node, "costs_ns"), some(node, "usages_bytes")];
    const interval = list(node, "interval"), isInterval = interval.every((v) => isAmount(v));
    demand(isInterval && interval.length === 2 && interval[0] <= interval[1], "no interval");
    demand(costs.every(isCost), "a node has costs");
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
  return { ...graph, edges: [...edges.values()] };
}

function strategyChoice({ n, cost, usage, interval, edges }, { memory_bytes: M }) {
  const model = new Model(0n), nodes = range(0, n);
  const allowed = cost.map((costs) => range(0, costs.length).filter((a) => costs[a] !== null));
  const s = nodes.map((i) => model.columns(`s_${i}`, allowed[i], (a) => ({ cost: cost[i][a] })));
  for (const i of nodes) model.equal(total(Object.values(s[i])), 1n);
  for (const { i, j, costs } of edges) {
    const pairs = allowed[i].flatMap((a) => allowed[j].map((b) => [a, b]))
      .filter(([a, b]) => costs[a][b] !== null);
    const e = pairs.map(([a, b]) => model.column(`e_${i}_${j}_${a}_${b}`, { cost: costs[a][b] }));
    [i, j].forEach((node, end) => {
      for (const k of allowed[node]) {
        const chosen = e.filter((_, place) => pairs[place][end] === k);
        model.equal([...total(chosen), [-1n, s[node][k]]], 0n);
      }
    });
  }
  const living = nodes.filter((i) => interval[i][0] < interval[i][1]);
  const [firsts, ends] = [0, 1].map((end) => ascending(living.map((i) => interval[i][end])));
  const counts = (time, place) =>
    place + 1 === firsts.length || ends.find((end) => end > time) <= firsts[place + 1];
  for (const time of firsts.filter(counts)) {
    const live = living.filter((i) => interval[i][0] <= time && time < interval[i][1]);
    const u = live.map((i) => least(allowed[i].map((a) => usage[i][a])));
    const beyond = live.map((i, place) => allowed[i].map((a) => [usage[i][a] - u[place], s[i][a]]));
    const room = M - sum(u), most = sum(beyond.map((terms) => max(0n, ...terms.map(([x]) => x))));
    if (most > room) model.atMost(beyond.flat(), room);
  }
  return [model, "all schedules"];
}

module.exports = {
  resources: { memory_bytes: 0n },
  read: readStrategyGraph,
  formulations: { "strategy-choice": { options: [], build: strategyChoice } },
};
