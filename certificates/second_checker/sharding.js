// Formulations of sharding and of remat-sharding.
"use strict";
const { sum, max, min, range, ascending } = require("./integers.js");
const { demand, onlyFields, amount } = require("./reading.js");
const { readShardedGraph, readStrategyGraph } = require("./instances.js");
const { Model } = require("./tree.js");

const one = (columns) => [...columns].map((column) => [1n, column]);
const minus = (terms) => terms.map(([value, column]) => [-value, column]);
const least = (sizes) => (sizes.length ? sizes.reduce(min) : 0n);

function strategyChoice(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const { n, cost, usage, interval, edges } = readStrategyGraph(instance), model = new Model(0n);
  const M = amount(resources, "memory_bytes"), nodes = range(0, n);
  const allowed = cost.map((costs) => range(0, costs.length).filter((a) => costs[a] !== null));
  const s = nodes.map((i) => model.columns(`s_${i}`, allowed[i], (a) => ({ cost: cost[i][a] })));
  for (const i of nodes) model.equal(one(s[i].values()), 1n);
  for (const { i, j, costs } of edges) {
    const pairs = allowed[i].flatMap((a) => allowed[j].map((b) => [a, b]))
      .filter(([a, b]) => costs[a][b] !== null);
    const e = pairs.map(([a, b]) => model.column(`e_${i}_${j}_${a}_${b}`, { cost: costs[a][b] }));
    for (const [end, node] of [[0, i], [1, j]]) {
      for (const k of allowed[node]) {
        const chosen = e.filter((_, number) => pairs[number][end] === k);
        model.equal([...one(chosen), [-1n, s[node].get(k)]], 0n);
      }
    }
  }
  const living = nodes.filter((i) => interval[i][0] < interval[i][1]);
  const order = (a, b) => (a < b ? -1 : 1);
  const firsts = [...new Set(living.map((i) => interval[i][0]))].sort(order);
  const ends = [...new Set(living.map((i) => interval[i][1]))].sort(order);
  const counts = (time, number) =>
    number + 1 === firsts.length || ends.find((end) => end > time) <= firsts[number + 1];
  for (const time of firsts.filter(counts)) {
    const live = living.filter((i) => interval[i][0] <= time && time < interval[i][1]);
    const u = live.map((i) => least(allowed[i].map((a) => usage[i][a])));
    const beyond = live.map((i, number) =>
      allowed[i].map((a) => [usage[i][a] - u[number], s[i].get(a)]));
    const room = M - sum(u), most = sum(beyond.map((terms) => max(0n, ...terms.map(([x]) => x))));
    if (most > room) model.atMost(beyond.flat(), room);
  }
  return [model, "all schedules"];
}

// The columns and rows of what strategies are chosen; `own[i][k]` is the cost of operator i alone,
// and `groups` has for each pair of leaders the classes of strategies and the columns e of these.
function choices(graph, model, times = () => 1n) {
  const { n, cost, leader, reads, tables, table } = graph, operators = range(0, n);
  const leaders = ascending(new Set(leader)), own = [], isForbidden = [];
  for (const i of operators) {
    const inner = reads[i].filter((j) => leader[j] === leader[i]).map((j) => table(j, i));
    const along = (k) => inner.filter((costs) => costs).map((costs) => costs[k][k]);
    own.push(cost[i].map((value, k) => (value ?? 0n) + sum(along(k).map((part) => part ?? 0n))));
    isForbidden.push(cost[i].map((value, k) => value === null || along(k).includes(null)));
  }
  const s = new Map();
  for (const g of leaders) {
    const members = operators.filter((i) => leader[i] === g), strategies = range(0, cost[g].length);
    s.set(g, model.columns(`s_${g}`, strategies, (k) => ({
      cost: sum(members.map((i) => times(i) * own[i][k])),
      hi: members.some((i) => isForbidden[i][k]) ? 0n : 1n,
    })));
    model.equal(one(s.get(g).values()), 1n);
  }
  const groups = new Map();
  for (const { j, i, costs } of tables) {
    const [g, h] = [leader[j], leader[i]], says = costs.flat().some((value) => value !== 0n);
    if (g === h || !says) continue;
    const group = groups.get(`${g} ${h}`) ?? { g, h, tables: [] };
    group.tables.push(costs), groups.set(`${g} ${h}`, group);
  }
  // Strategies of which all tables say the same, as a Map from the first of each class.
  const classes = (leader, said) => {
    const found = new Map(), firsts = new Map();
    for (const k of s.get(leader).keys()) {
      const key = said(k).join(" ");
      if (!firsts.has(key)) firsts.set(key, k), found.set(k, []);
      found.get(firsts.get(key)).push(k);
    }
    return found;
  };
  for (const group of groups.values()) {
    const { g, h, tables } = group, entries = (a, b) => tables.map((costs) => costs[a][b]);
    group.of = classes(g, (a) => tables.flatMap((costs) => costs[a].map(String)));
    group.to = classes(h, (b) => tables.flatMap((costs) => costs.map((row) => String(row[b]))));
    group.e = new Map([...group.of.keys()].map((a) => [a,
      model.columns(`e_${g}_${h}_${a}`, [...group.to.keys()], (b) => ({
        cost: sum(entries(a, b).map((part) => part ?? 0n)),
        hi: entries(a, b).includes(null) ? 0n : 1n,
      }))]));
    const chosen = (leader, strategies) => minus(one(strategies.map((k) => s.get(leader).get(k))));
    for (const [a, strategies] of group.of) {
      model.equal([...one(group.e.get(a).values()), ...chosen(g, strategies)], 0n);
    }
    for (const [b, strategies] of group.to) {
      const columns = [...group.e.values()].map((row) => row.get(b));
      model.equal([...one(columns), ...chosen(h, strategies)], 0n);
    }
  }
  const group = (j, i) => groups.get(`${leader[j]} ${leader[i]}`);
  return { own, s: (i) => s.get(leader[i]), group };
}

function shardingOnly(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  amount(resources, "memory_bytes");
  const model = new Model(0n);
  choices(readShardedGraph(instance), model);
  return [model, "all schedules"];
}

function shardedMemoryFloor(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const { n, cost, size, role, keep, reads } = readShardedGraph(instance);
  const M = amount(resources, "memory_bytes"), model = new Model(0n), operators = range(0, n);
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

function kiwiReducedCompact(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const graph = readShardedGraph(instance), { n, role, keep, reads, size, tables } = graph;
  const M = amount(resources, "memory_bytes"), model = new Model(0n), operators = range(0, n);
  const isBackward = (i) => role[i] === "backward";
  const turn = operators.find(isBackward) ?? n;
  demand(operators.slice(turn).every(isBackward), "an operator comes after a backward one");
  const users = operators.map(() => []);
  for (const i of operators) for (const j of reads[i]) users[j].push(i);
  const H = operators.map((i) => users[i].find(isBackward));
  const isStored = (i) => role[i] === "forward" && H[i] !== undefined; // i is in Z
  const Z = operators.filter(isStored);
  const forward = (i) => users[i].filter((j) => !isBackward(j)).at(-1) ?? i;
  const live = operators.map((i) =>
    role[i] === "parameter" || keep[i] ? n : users[i].at(-1) ?? i);
  const { own, s, group } = choices(graph, model, (i) => (isStored(i) ? 2n : 1n));
  const m = new Map(), w = new Map(), g = new Map();
  for (const i of Z) { // 1
    m.set(i, model.column(`m_${i}`));
    w.set(i, model.columns(`w_${i}`, [...s(i).keys()], (k) => ({ cost: -own[i][k] })));
    model.equal([...one(w.get(i).values()), [-1n, m.get(i)]], 0n);
    for (const [k, column] of s(i)) model.atLeast([[1n, column], [-1n, w.get(i).get(k)]], 0n);
  }
  const sorted = [...tables].sort((x, y) => x.j - y.j || x.i - y.i);
  for (const { j, i, costs } of sorted) { // 2
    const between = group(j, i);
    if (!isStored(i) || !between || !costs.flat().some((value) => value)) continue;
    for (const [b, strategies] of between.to) {
      const x = [...between.e].map(([a, row]) => {
        const c = costs[a][b], e = row.get(b);
        if (!c) return e;
        const again = model.column(`f_${j}_${i}_${a}_${b}`, { cost: c });
        model.atLeast([[1n, e], [-1n, again]], 0n);
        return again;
      });
      const kept = one(strategies.map((k) => w.get(i).get(k)));
      const chosen = one(strategies.map((k) => s(i).get(k)));
      model.atLeast([...kept, ...minus(chosen), ...one(x)], 0n);
    }
  }
  for (const i of Z) { // 3
    for (const j of reads[i].filter(isStored)) model.atLeast(one([m.get(j), m.get(i)]), 1n);
  }
  const moments = operators.map((i) => { // 4
    const late = users[i].filter((j) => isStored(j) && H[j] > live[i]);
    const found = ascending(new Set(late.map((j) => H[j])));
    for (const q of found) {
      const columns = model.columns(`g_${i}_${q}`, [...s(i).keys()]);
      g.set(`${i} ${q}`, columns);
      for (const j of late.filter((j) => H[j] >= q)) {
        model.atLeast([...one(columns.values()), [1n, m.get(j)]], 1n);
      }
      for (const [k, column] of s(i)) model.atLeast([[1n, column], [-1n, columns.get(k)]], 0n);
    }
    return found;
  });
  const parts = operators.flatMap((i) => { // 5: what counts from one moment to another
    if (!sum(size[i])) return [];
    const possible = [...s(i).keys()].filter((k) => model.hi[s(i).get(k)] > 0n);
    const u = least(possible.map((k) => size[i][k])), found = [];
    const all = { isAll: true, u, terms: possible.map((k) => [size[i][k] - u, s(i).get(k)]) };
    const add = (part, from, to) => from <= to && found.push({ ...part, i, from, to });
    let end = Math.min(live[i], n - 1);
    if (isStored(i)) {
      const rest = possible.map((k) => [size[i][k] - u, w.get(i).get(k)]);
      add(all, i, forward(i));
      add({ u: 0n, terms: [[u, m.get(i)], ...rest] }, forward(i) + 1, H[i] - 1);
      add(all, H[i], end);
    } else add(all, i, end);
    for (const q of moments[i]) {
      const terms = possible.map((k) => [size[i][k], g.get(`${i} ${q}`).get(k)]);
      add({ u: 0n, terms }, end + 1, q);
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

module.exports = { strategyChoice, shardingOnly, shardedMemoryFloor, kiwiReducedCompact };
