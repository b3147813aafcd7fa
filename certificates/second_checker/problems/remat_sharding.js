// Sharded graphs: what is given, and the formulations of remat-sharding.
"use strict";
const { sum, least, range, ascending } = require("../integers.js");
const { demand, onlyFields, amount, flag, list, some, text, checkKind } = require("../reading.js");
const { Model, total, minus } = require("../model.js");
const { inputsOf, number, isCost } = require("./named.js");

const OPERATOR = ["name", "role", "inputs", "follows", "keep", "strategies", "operation", "scope"];

// `cost[i][k]` is null where strategy k of operator i is forbidden; `tables` have source j, target
// i and costs, and `table(j, i)` finds the costs.
function readShardedGraph(instance) {
  checkKind(instance, "sharded-graph", ["operators", "resharding", "mesh", "fastest"]);
  const operators = some(instance, "operators"), numbers = new Map(), tables = new Map();
  const graph = { n: operators.length, role: [], reads: [], leader: [], keep: [] };
  Object.assign(graph, { cost: [], size: [], tables: [] });
  operators.forEach((operator, i) => {
    onlyFields(operator, OPERATOR, "an operator");
    const role = text(operator, "role"), reads = inputsOf(operator, numbers);
    const mayRead = ["forward", "backward"].includes(role);
    demand(mayRead || ["parameter", "input"].includes(role), "there is no such role");
    demand(mayRead || reads.length === 0, `a ${role} reads nothing`);
    const followed = operator.get("follows") ?? null, strategies = some(operator, "strategies");
    demand(followed === null || numbers.has(followed), "an operator follows one not before it");
    number(operator, numbers);
    graph.role.push(role), graph.reads.push(reads), graph.keep.push(flag(operator, "keep"));
    graph.leader.push(followed === null ? i : graph.leader[numbers.get(followed)]);
    graph.size.push(strategies.map((strategy) => amount(strategy, "memory_bytes")));
    graph.cost.push(strategies.map(readCost));
    const count = graph.cost[graph.leader[i]].length;
    demand(strategies.length === count, "not the leader's strategies");
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

function readCost(strategy) {
  onlyFields(strategy, ["name", "compute_ns", "communication_ns", "memory_bytes"], "a strategy");
  const communication = amount(strategy, "communication_ns", { otherwise: 0n });
  const isForbidden = (strategy.get("compute_ns") ?? null) === null;
  return isForbidden ? null : amount(strategy, "compute_ns") + communication;
}

// The columns and rows of what strategies are chosen; `own[i][k]` is the cost of operator i alone,
// `s(i)` are the columns of its leader, and `group(j, i)` has the classes of strategies of the
// leaders of j and i, and the columns e of these.
function choices({ n, cost, leader, reads, tables, table }, model, times = () => 1n) {
  const operators = range(0, n), own = [], isForbidden = [], s = [], groups = new Map();
  for (const i of operators) {
    const inner = reads[i].filter((j) => leader[j] === leader[i]).map((j) => table(j, i));
    const along = (k) => inner.filter((costs) => costs).map((costs) => costs[k][k]);
    own.push(cost[i].map((value, k) => (value ?? 0n) + sum(along(k).map((part) => part ?? 0n))));
    isForbidden.push(cost[i].map((value, k) => value === null || along(k).includes(null)));
  }
  for (const g of ascending(leader)) {
    const members = operators.filter((i) => leader[i] === g);
    s[g] = model.columns(`s_${g}`, range(0, cost[g].length), (k) => ({
      cost: sum(members.map((i) => times(i) * own[i][k])),
      hi: members.some((i) => isForbidden[i][k]) ? 0n : 1n,
    }));
    model.equal(total(s[g]), 1n);
  }
  for (const { j, i, costs } of tables) {
    const [g, h] = [leader[j], leader[i]], says = costs.flat().some((value) => value !== 0n);
    if (g === h || !says) continue;
    const group = groups.get(`${g} ${h}`) ?? { g, h, tables: [] };
    group.tables.push(costs), groups.set(`${g} ${h}`, group);
  }
  // Strategies of which all tables say the same, as a Map from the first of each class.
  const classes = (leader, said) => {
    const found = new Map(), firsts = new Map();
    for (const k of s[leader].keys()) {
      const key = said(k).join(" ");
      if (!firsts.has(key)) firsts.set(key, k), found.set(k, []);
      found.get(firsts.get(key)).push(k);
    }
    return found;
  };
  for (const group of groups.values()) {
    const { g, h, tables } = group, entries = (a, b) => tables.map((costs) => costs[a][b]);
    const of = classes(g, (a) => tables.flatMap((costs) => costs[a].map(String)));
    const to = classes(h, (b) => tables.flatMap((costs) => costs.map((row) => String(row[b]))));
    const e = [];
    for (const a of of.keys()) {
      e[a] = model.columns(`e_${g}_${h}_${a}`, to.keys(), (b) => ({
        cost: sum(entries(a, b).map((part) => part ?? 0n)),
        hi: entries(a, b).includes(null) ? 0n : 1n,
      }));
    }
    const chosen = (columns, strategies) => minus(total(strategies.map((k) => columns[k])));
    for (const [a, strategies] of of) {
      model.equal([...total(Object.values(e[a])), ...chosen(s[g], strategies)], 0n);
    }
    for (const [b, strategies] of to) {
      const columns = [...of.keys()].map((a) => e[a][b]);
      model.equal([...total(columns), ...chosen(s[h], strategies)], 0n);
    }
    Object.assign(group, { of, to, e });
  }
  const group = (j, i) => groups.get(`${leader[j]} ${leader[i]}`);
  return { own, s: (i) => s[leader[i]], group };
}

function shardingOnly(graph) {
  const model = new Model(0n);
  choices(graph, model);
  return [model, "all schedules"];
}

function memoryFloor({ n, cost, size, role, keep, reads }, { memory_bytes: M }) {
  const model = new Model(0n), operators = range(0, n);
  const u = operators.map((i) => least(size[i].filter((_, k) => cost[i][k] !== null)));
  const parameters = operators.filter((i) => role[i] === "parameter");
  for (const i of operators) {
    const there = new Set([...parameters.filter((j) => j < i), ...reads[i], i]);
    model.atMost([], M - sum([...there].map((j) => u[j])));
  }
  const stay = operators.filter((i) => keep[i] || role[i] === "parameter");
  model.atMost([], M - sum(stay.map((i) => u[i])));
  return [model, "in-order"];
}

function kiwiReducedCompact(graph, { memory_bytes: M }) {
  const { n, role, keep, reads, size, tables } = graph;
  const model = new Model(0n), operators = range(0, n);
  const isBackward = (i) => role[i] === "backward";
  const turn = operators.find(isBackward) ?? n;
  demand(operators.slice(turn).every(isBackward), "an operator comes after a backward one");
  const users = operators.map((j) => operators.filter((i) => reads[i].includes(j)));
  const H = operators.map((i) => users[i].find(isBackward));
  const isStored = (i) => role[i] === "forward" && H[i] !== undefined; // i is in Z
  const Z = operators.filter(isStored);
  const forward = (i) => users[i].filter((j) => !isBackward(j)).at(-1) ?? i;
  const live = operators.map((i) =>
    role[i] === "parameter" || keep[i] ? n : users[i].at(-1) ?? i);
  const { own, s, group } = choices(graph, model, (i) => (isStored(i) ? 2n : 1n));
  const m = [], w = [], g = operators.map(() => []);
  for (const i of Z) { // 1
    m[i] = model.column(`m_${i}`);
    w[i] = model.columns(`w_${i}`, s(i).keys(), (k) => ({ cost: -own[i][k] }));
    model.equal([...total(w[i]), [-1n, m[i]]], 0n);
    s(i).forEach((column, k) => model.notBelow(column, w[i][k]));
  }
  const sorted = [...tables].sort((x, y) => x.j - y.j || x.i - y.i);
  for (const { j, i, costs } of sorted) { // 2
    const between = group(j, i);
    if (!isStored(i) || !between || !costs.flat().some((value) => value)) continue;
    for (const [b, strategies] of between.to) {
      const x = [...between.of.keys()].map((a) => {
        const c = costs[a][b], e = between.e[a][b];
        if (!c) return e;
        const again = model.column(`f_${j}_${i}_${a}_${b}`, { cost: c });
        model.notBelow(e, again);
        return again;
      });
      const kept = total(strategies.map((k) => w[i][k]));
      const chosen = total(strategies.map((k) => s(i)[k]));
      model.atLeast([...kept, ...minus(chosen), ...total(x)], 0n);
    }
  }
  for (const i of Z) { // 3
    for (const j of reads[i].filter(isStored)) model.atLeast(total([m[j], m[i]]), 1n);
  }
  const moments = operators.map((i) => { // 4
    const late = users[i].filter((j) => isStored(j) && H[j] > live[i]);
    const found = ascending(late.map((j) => H[j]));
    for (const q of found) {
      g[i][q] = model.columns(`g_${i}_${q}`, s(i).keys());
      for (const j of late.filter((j) => H[j] >= q)) {
        model.atLeast(total([...g[i][q], m[j]]), 1n);
      }
      s(i).forEach((column, k) => model.notBelow(column, g[i][q][k]));
    }
    return found;
  });
  const parts = operators.flatMap((i) => { // 5: what counts from one moment to another
    if (!sum(size[i])) return [];
    const possible = range(0, size[i].length).filter((k) => model.hi[s(i)[k]] > 0n);
    const u = least(possible.map((k) => size[i][k])), found = [];
    const beyond = (columns) => possible.map((k) => [size[i][k] - u, columns[k]]);
    const all = { isAll: true, u, terms: beyond(s(i)) };
    const add = (part, from, to) => from <= to && found.push({ ...part, i, from, to });
    let end = Math.min(live[i], n - 1);
    if (isStored(i)) {
      add(all, i, forward(i));
      add({ u: 0n, terms: [[u, m[i]], ...beyond(w[i])] }, forward(i) + 1, H[i] - 1);
      add(all, H[i], end);
    } else add(all, i, end);
    for (const q of moments[i]) {
      add({ u: 0n, terms: possible.map((k) => [size[i][k], g[i][q][k]]) }, end + 1, q);
      end = q;
    }
    return found;
  });
  const continues = (i, t) =>
    parts.some((part) => part.isAll && part.i === i && part.from === t + 1);
  for (const t of operators) {
    const ending = parts.filter(({ to }) => to === t);
    if (t < n - 1 && ending.every(({ i }) => continues(i, t))) continue;
    const here = parts.filter(({ from, to }) => from <= t && t <= to);
    model.atMost(here.flatMap(({ terms }) => terms), M - sum(here.map(({ u }) => u)));
  }
  return [model, "kiwi-reduced"];
}

module.exports = {
  resources: { memory_bytes: 0n },
  read: readShardedGraph,
  formulations: {
    "kiwi-reduced-compact": { options: [], build: kiwiReducedCompact },
    "memory-floor": { options: [], build: memoryFloor },
    "sharding-only": { options: [], build: shardingOnly },
  },
};
