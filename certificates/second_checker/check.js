#!/usr/bin/env node
// A second checker of jettison's certificates, for Node 18 or later and nothing else:
//
//     node check.js FILE...        status 0 if all are proved, 2 if one is not, else 3 if one is of
//                                  a formulation that is not known here
//
// It was written from docs/certificates.md, and shares nothing with the checker in Python. Amounts
// are BigInts; numbers of rows and columns, stages, nodes, layers and operations are Numbers.
"use strict";
const fs = require("node:fs");
const zlib = require("node:zlib");
const crypto = require("node:crypto");

class Refused extends Error {}
class NotKnown extends Error {}
class NoInteger {} // a number with a fraction or an exponent
function refuse(reason) {
  throw new Refused(reason);
}
const demand = (holds, reason) => holds || refuse(reason);
const sum = (values) => values.reduce((total, value) => total + value, 0n);
const max = (...values) => values.reduce((a, b) => (b > a ? b : a));
const min = (a, b) => (a < b ? a : b);
const range = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
const ascending = (set) => [...set].sort((a, b) => a - b);
const ceil = (a, b) => (a > 0n ? (a + b - 1n) / b : a / b); // b > 0, and / cuts towards 0
const floor = (a, b) => -ceil(-a, b);
const gcd = (a, b) => (b ? gcd(b, a % b) : a < 0n ? -a : a);

// ---------------------------------------------------------------- the file, its lines and numbers
const MOST_BYTES = 2 ** 29, MOST_LINE = 2 ** 24, MOST_DIGITS = 400, MOST_DEPTH = 500;
const MOST_AMOUNT = 1n << 80n;

function* linesOf(path) {
  let data = fs.readFileSync(path);
  if (data[0] === 0x1f && data[1] === 0x8b) {
    try {
      const { buffer, engine } = zlib.gunzipSync(data, { maxOutputLength: MOST_BYTES, info: true });
      const rest = data.subarray(engine.bytesWritten);
      demand(rest.every((byte) => byte === 0), "something follows the compressed data");
      data = buffer;
    } catch (error) {
      throw new Refused(`the compressed file is broken: ${error.message}`);
    }
  }
  demand(data.length <= MOST_BYTES, "the file is too long");
  for (let start = 0; start < data.length; ) {
    const end = data.indexOf(10, start);
    demand(end >= 0 && end - start < MOST_LINE, "a line is too long, or has no end");
    const line = data.subarray(start, end);
    demand(line.every((byte) => byte < 128), "only ASCII characters are allowed");
    yield line.toString("latin1");
    start = end + 1;
  }
}

function integer(text) {
  const canonical = /^(0|-?[1-9][0-9]{0,399})$/.test(text ?? "");
  return canonical ? BigInt(text) : refuse(`no integer of at most ${MOST_DIGITS} digits: ${text}`);
}

function place(text, count, what) {
  const value = Number(integer(text));
  demand(value >= 0 && value < count, `there is no ${what} ${text}`);
  return value;
}

function pairs(parts, sign = ":") {
  return parts.map((part) => {
    const at = part.indexOf(sign);
    return at < 0 ? [part, 0n] : [part.slice(0, at), integer(part.slice(at + 1))];
  });
}

// JSON with exact integers: objects become Maps, integers BigInts.
function parseJson(text) {
  const string = String.raw`"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
  const number = String.raw`-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?`;
  const words = `([{}[\\],:])|(${string})|(${number})|(true|false|null)`;
  const token = new RegExp(`[ \\t\\n\\r]*(?:${words})`, "y");
  const next = () => token.exec(text) ?? refuse("the header is not JSON");
  function value(found, depth) {
    demand(depth < MOST_DEPTH, "the header nests too deeply");
    if (found[2]) return JSON.parse(found[2]);
    if (found[3]) {
      if (/[.eE]/.test(found[3])) return new NoInteger();
      demand(found[3].replace("-", "").length <= MOST_DIGITS, "a number is too long");
      return BigInt(found[3]);
    }
    if (found[4]) return { true: true, false: false, null: null }[found[4]];
    const list = [], object = new Map(), isList = found[1] === "[";
    demand(isList || found[1] === "{", "the header is not JSON");
    for (let item = next(); ; item = next()) {
      if (item[1] === (isList ? "]" : "}") && list.length + object.size === 0) break;
      if (isList) list.push(value(item, depth + 1));
      else {
        demand(item[2], "a key is not a text");
        const key = JSON.parse(item[2]);
        demand(next()[1] === ":" && !object.has(key), `the key ${key} stands twice`);
        object.set(key, value(next(), depth + 1));
      }
      const mark = next()[1];
      if (mark === (isList ? "]" : "}")) break;
      demand(mark === ",", "the header is not JSON");
    }
    return isList ? list : object;
  }
  const found = value(next(), 0);
  demand(/^[ \t\n\r]*$/.test(text.slice(token.lastIndex)), "something follows the header");
  return found;
}

function canonical(value) {
  if (value instanceof Map) {
    const keys = [...value.keys()].sort();
    return `{${keys.map((key) => `${canonical(key)}:${canonical(value.get(key))}`).join(",")}}`;
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  demand(!(value instanceof NoInteger), "a number of the instance is not an integer");
  if (typeof value !== "string") return String(value);
  // JSON.stringify writes the short forms, and leaves what is not ASCII and U+007F as it is.
  const long = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^ -~]/g, long);
}

function onlyFields(object, known, what) {
  demand(object instanceof Map, `${what} is not an object`);
  for (const key of object.keys()) demand(known.includes(key), `${what} has the field ${key}`);
}

function field(object, key, otherwise, isRight, what) {
  const value = object.has(key) ? object.get(key) : otherwise;
  return isRight(value) ? value : refuse(`${key} is not ${what}`);
}

function amount(object, key, { least = 0n, otherwise } = {}) {
  const isRight = (value) => typeof value === "bigint" && value >= least && value <= MOST_AMOUNT;
  return field(object, key, otherwise, isRight, `an integer from ${least} on`);
}

const flag = (object, key) => field(object, key, false, (v) => typeof v === "boolean", "a flag");
const list = (object, key) => field(object, key, [], Array.isArray, "a list");
const text = (object, key) => field(object, key, null, (v) => typeof v === "string", "a text");

function positions(values, below) {
  const isOne = (value) => typeof value === "bigint" && value >= 0n && value < below;
  return values.every(isOne) ? values.map(Number) : refuse("a node is none");
}

function checkKind(instance, kind, fields) {
  const known = ["format", "kind", "version", "name", "provenance", ...fields];
  onlyFields(instance, known, "the instance");
  for (const [key, value] of Object.entries({ format: "jettison", kind, version: 1n })) {
    demand(instance.get(key) === value, `${key} is not ${value}`);
  }
  text(instance, "name");
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

// `reads` are the inputs of each node, ascending.
function readGraph(instance) {
  checkKind(instance, "graph", ["nodes", "repeated_blocks"]);
  const nodes = list(instance, "nodes"), numbers = new Map();
  demand(nodes.length > 0, "a graph has nodes");
  const graph = { n: nodes.length, t: [], m: [], w: [], keep: [], reads: [] };
  const sizes = ["duration_ns", "output_bytes", "workspace_bytes"];
  for (const node of nodes) {
    onlyFields(node, ["name", "inputs", "backward", "keep", "result_of", ...sizes], "a node");
    const inputs = list(node, "inputs");
    demand(inputs.every((name) => numbers.has(name)), "a node reads one that is not before it");
    graph.reads.push(ascending(new Set(inputs.map((name) => numbers.get(name)))));
    const name = text(node, "name");
    demand(!numbers.has(name) && numbers.set(name, numbers.size), "two nodes have one name");
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

// ---------------------------------------------------------------- integer programs
class Model {
  constructor(offset) {
    Object.assign(this, { offset, names: [], lo: [], hi: [], cost: [], rows: [] });
  }
  column(name, { hi = 1n, cost = 0n } = {}) {
    this.names.push(name), this.lo.push(0n), this.hi.push(hi), this.cost.push(cost);
    return this.names.length - 1;
  }
  // Terms are pairs of a coefficient and a column. None of the formulations here has an equation.
  atMost(terms, right) {
    this.atLeast(terms.map(([value, column]) => [-value, column]), -right);
  }
  atLeast(terms, right) {
    const total = new Map();
    for (const [value, column] of terms) total.set(column, (total.get(column) ?? 0n) + value);
    for (const [column, value] of total) if (!value) total.delete(column);
    const d = [...total.values()].reduce(gcd, 0n);
    if (d > 1n) {
      for (const [column, value] of total) total.set(column, value / d);
      right = ceil(right, d);
    }
    this.rows.push({ total, right });
  }
  toExceed(time) {
    const most = time - 1n - this.offset, d = this.cost.reduce(gcd, 0n);
    return d ? d * floor(most, d) : most;
  }
}

class Multipliers {
  constructor(model, cost, lo, hi) {
    Object.assign(this, { model, lo, hi, Y: [], r: [...cost] });
    this.terms = this.r.map((r, column) => min(r * lo[column], r * hi[column]));
    this.value = sum(this.terms);
  }
  change(changes) {
    const named = new Set(), touched = new Set(), rows = this.model.rows;
    for (const [text, Y] of changes) {
      const i = place(text, rows.length, "row");
      demand(Y >= 0n && !named.has(i) && named.add(i), `row ${i} stands twice, or is negative`);
      const step = Y - (this.Y[i] ?? 0n);
      if (!step) continue;
      this.Y[i] = Y;
      this.value += step * rows[i].right;
      for (const [column, a] of rows[i].total) this.r[column] -= step * a, touched.add(column);
    }
    for (const column of touched) this.follow(column);
  }
  follow(column) {
    const r = this.r[column], term = min(r * this.lo[column], r * this.hi[column]);
    this.value += term - this.terms[column];
    this.terms[column] = term;
  }
  without(column, value) {
    const r = this.r[column], atLow = value === this.lo[column];
    const [lo, hi] = [this.lo[column] + (atLow ? 1n : 0n), this.hi[column] - (atLow ? 0n : 1n)];
    return this.value - this.terms[column] + min(r * lo, r * hi);
  }
}

function derivedByRounding(model, [divisor, ...weights]) {
  const d = integer(divisor), total = new Map(), named = new Set();
  let right = 0n, shift = 0n;
  demand(d >= 1n, "a divisor is not positive");
  for (const [text, w] of pairs(weights)) {
    const i = place(text, model.rows.length, "row"), row = model.rows[i];
    demand(w >= 0n && !named.has(i) && named.add(i), `row ${i} stands twice, or is negative`);
    right += w * row.right;
    for (const [column, a] of row.total) total.set(column, (total.get(column) ?? 0n) + w * a);
  }
  for (const [column, a] of total) {
    const raised = ceil(a, d);
    right -= a * model.lo[column];
    shift += raised * model.lo[column];
    raised ? total.set(column, raised) : total.delete(column);
  }
  right = ceil(right, d) + shift;
  const most = 10n ** BigInt(MOST_DIGITS), isSmall = (value) => value <= most && value >= -most;
  demand([right, ...total.values()].every(isSmall), "a derived row has too long numbers");
  model.rows.push({ total, right });
}

function derivedCover(model, [rowText, betaText, ...items]) {
  const row = model.rows[place(rowText, model.rows.length, "row")], beta = integer(betaText);
  const steps = (beta + 2n) * BigInt(items.length);
  demand(beta >= 0n && steps > 0n && steps <= 20_000_000n, "no cover, or one too large");
  const alpha = new Map();
  for (const [text, profit] of pairs(items)) {
    const column = place(text, model.names.length, "column");
    const binary = model.lo[column] === 0n && model.hi[column] === 1n;
    demand(!alpha.has(column) && binary && profit >= 1n, "a column of a cover is none");
    demand((row.total.get(column) ?? 0n) < 0n, "a column of a cover has no weight");
    alpha.set(column, profit);
  }
  let room = -row.right;
  for (const [column, a] of row.total) {
    if (!alpha.has(column)) room -= min(-a * model.lo[column], -a * model.hi[column]);
  }
  // The least weight of columns whose profits reach 0 to beta + 1; null where none do.
  const lightest = [0n, ...Array(Number(beta) + 1).fill(null)];
  for (const [column, profit] of alpha) {
    for (let goal = lightest.length - 1; goal > 0; goal--) {
      const before = lightest[profit >= BigInt(goal) ? 0 : goal - Number(profit)];
      const now = before === null ? null : before - row.total.get(column);
      if (now !== null && !(lightest[goal] <= now && lightest[goal] !== null)) lightest[goal] = now;
    }
  }
  demand(lightest.at(-1) === null || lightest.at(-1) > room, "a cover does not follow");
  for (const [column, profit] of alpha) alpha.set(column, -profit);
  model.rows.push({ total: alpha, right: -beta });
}

function followTree(model, k, exceed, lines) {
  const lo = [...model.lo], hi = [...model.hi], trail = [], path = [];
  const columns = new Map(model.names.map((name, column) => [name, column]));
  const need = exceed === null ? null : exceed << k;
  let bound = null, ray = null, complete = false, leaves = 0;
  const setBounds = (column, low, high) => {
    [lo[column], hi[column]] = [low, high];
    bound?.follow(column), ray?.follow(column);
  };
  const narrow = (column, low, high) => {
    trail.push([column, lo[column], hi[column]]);
    setBounds(column, low, high);
  };
  const optimality = () => {
    demand(need !== null, "a claim of no schedule needs leaves f, and fixes nothing");
    return (bound ??= new Multipliers(model, model.cost.map((cost) => cost << k), lo, hi));
  };
  const close = (multipliers, needed, parts) => {
    multipliers.change(pairs(parts));
    demand(multipliers.value > needed, "a leaf does not prove the claim");
    leaves += 1;
    while (path.length) {
      const branch = path.pop();
      while (trail.length > branch.mark) setBounds(...trail.pop());
      if (branch.second) continue;
      path.push({ ...branch, second: true });
      return narrow(branch.column, branch.above, hi[branch.column]);
    }
    complete = true;
  };
  for (const line of lines) {
    const [letter, ...parts] = line.split(" ");
    demand(!complete, "a line follows the tree");
    if (letter === "G" || letter === "K") {
      demand(!bound && !ray && !path.length, "rows are derived before the tree");
      (letter === "G" ? derivedByRounding : derivedCover)(model, parts);
    } else if (letter === "b") {
      const column = columns.get(parts[0]), v = integer(parts[1]);
      demand(parts.length === 2 && column !== undefined, "a branch on no integer column");
      demand(lo[column] <= v && v < hi[column] && path.length < 100_000, "a branch splits nothing");
      path.push({ column, above: v + 1n, mark: trail.length, second: false });
      narrow(column, lo[column], v);
    } else if (letter === "x") {
      const mark = parts.includes("|") ? parts.indexOf("|") : parts.length;
      optimality().change(pairs(parts.slice(0, mark)));
      for (const [text, v] of pairs(parts.slice(mark + 1), "=")) {
        const column = place(text, model.names.length, "column");
        const [low, high] = [lo[column], hi[column]];
        demand(low < high && (v === low || v === high), "a column is not fixed to a bound");
        demand(bound.without(column, v) > need, "a column may have another value");
        narrow(column, v, v);
      }
    } else if (letter === "l") close(optimality(), need, parts);
    else if (letter === "f") {
      ray ??= new Multipliers(model, model.cost.map(() => 0n), lo, hi);
      close(ray, 0n, parts);
    } else throw new Refused(`there is no record ${letter}`);
  }
  demand(complete, "a part of the space stays open");
  return `${leaves} leaves`;
}

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

// ---------------------------------------------------------------- the dynamic programs of chains
function followProgram(claim, lines) {
  onlyFields(claim.options, [], "the formulation");
  const drops = claim.name === "drops-bellman", tables = drops ? ["C0", "E0", "C1", "E1"] : ["p"];
  const isRight = claim.k === 0n && claim.validFor === `persistent${drops ? " with drops" : ""}`;
  demand(isRight, "not what the formulation is for");
  const { N, a, s, f, g, of, ob, t0 } = readChain(claim.instance);
  const [goal, cost] = claim.time === null ? [1n, f.map(() => 0n)] : [claim.time - t0, f];
  const listed = new Map();
  const least = (table, from, to, m) => {
    const steps = listed.get(`${table} ${from} ${to}`) ?? [];
    let low = 0;
    for (let high = steps.length; low < high; ) {
      const middle = (low + high) >> 1;
      steps[middle][0] >= m ? (high = middle) : (low = middle + 1);
    }
    return steps[low]?.[1] ?? 0n;
  };
  for (const line of lines) {
    const [table, first, second, ...rest] = line.split(" ");
    demand(tables.includes(table) && rest.length > 0, "no step function");
    const [from, to] = [first, second].map((text) => place(text, N + 1, "stage"));
    const key = `${table} ${from} ${to}`, kind = table[0], p = table[1] === "1" ? 1n : 0n;
    demand(1 <= from && from <= to && !listed.has(key), "no sub-chain, or listed before");
    const steps = pairs(rest).map(([m, h]) => [integer(m), h]);
    const falls = steps.every(([m, h], i) => !i || (m > steps[i - 1][0] && h < steps[i - 1][1]));
    demand(falls && steps[0][0] >= 0n && steps.at(-1)[1] >= 1n, "steps do not ascend and descend");
    const [stays, other] = drops ? [`C${p}`, `${kind}0`] : ["p", "p"];
    const held = kind === "E" ? a[from - 1] : 0n, waiting = a[to] + p * s[to];
    const forward = p && from === to ? 0n : waiting + s[from] + of[from] + held;
    const saving = max(forward, kind === "E" ? 0n : s[from] + a[from] + g[from] + ob[from]);
    const inner = range(from + 1, to).map((j) => a[j - 1] + a[j] + of[j]);
    const passing = waiting + max(a[from] + of[from], ...inner);
    for (const [m, h] of key === `E1 ${from} ${from}` ? [] : steps) { // which is infinite
      const saved = from === to ? 0n : least(stays, from + 1, to, m - s[from]), free = m - held;
      demand(m < saving || saved >= h, `${key} in ${m} bytes, saving, costs ${saved}`);
      for (let k = from + 1, again = 0n; k <= to && free >= passing; k++) {
        if ((again += cost[k - 1]) >= h) break; // what is listed is never negative
        const rest = free - a[k - 1];
        const split = rest < 0n ? h : least(stays, k, to, rest) + least(other, from, k - 1, m);
        demand(again + split >= h, `${key} in ${m} bytes, split at ${k}, costs less`);
        if (!drops || (p && k === to)) continue;
        const dropped = least(`E${p}`, k, to, free) + least(`${kind}1`, from, k, m);
        demand(again + dropped >= h, `${key} in ${m} bytes, dropping at ${k}, costs less`);
      }
    }
    listed.set(key, steps);
  }
  const M = amount(claim.resources, "memory_bytes") - a[0];
  demand(M < 0n || least(tables[0], 1, N, M) >= goal, "the steps do not prove the claim");
  return `steps of ${listed.size} sub-chains`;
}

const FORMULATIONS = {
  "remat-chain drops-bellman 1": null,
  "remat-chain persistent-bellman 1": null,
  "remat-chain chain-cut 1": chainCut,
  "remat-graph memory-floor 1": graphMemoryFloor,
  "remat-graph windowed-frontier 1": windowedFrontier,
};

function readClaim(header) {
  const keys = ["problem", "instance", "instance_sha256", "resources", "formulation", "claim",
    "valid_for", "scale_bits", "producer"];
  onlyFields(header, keys, "the header");
  const part = (key) => field(header, key, null, (v) => v instanceof Map, "an object");
  const [instance, resources, claimed] = ["instance", "resources", "claim"].map(part);
  const content = new Map(instance), options = new Map(part("formulation"));
  content.delete("name"), content.delete("provenance");
  const sha256 = crypto.createHash("sha256").update(canonical(content)).digest("hex");
  demand(sha256 === text(header, "instance_sha256"), "the instance has another hash");
  onlyFields(claimed, ["time_ns", "infeasible"], "the claim");
  const infeasible = claimed.get("infeasible") === true;
  demand(claimed.size === 1 && (infeasible || claimed.has("time_ns")), "the claim is none");
  const name = text(options, "name"), version = amount(options, "version", { least: 1n });
  options.delete("name"), options.delete("version");
  const k = amount(header, "scale_bits");
  demand(k <= 256n, "there are too many scale bits");
  return { problem: text(header, "problem"), instance, resources, name, version, options, k,
    validFor: text(header, "valid_for"), sha256,
    time: infeasible ? null : amount(claimed, "time_ns") };
}

function check(path) {
  const lines = linesOf(path);
  demand(lines.next().value === "jettison certificate 1", "this is no certificate");
  const claim = readClaim(parseJson(lines.next().value ?? ""));
  const key = `${claim.problem} ${claim.name} ${claim.version}`;
  if (!Object.hasOwn(FORMULATIONS, key)) throw new NotKnown(key);
  onlyFields(claim.resources, ["memory_bytes"], "resources");
  const said = claim.time === null ? "there is no schedule" : `at least ${claim.time} ns`;
  const about = `${said} (${claim.validFor}), ${claim.problem}, ${claim.sha256}, ${claim.name}`;
  if (FORMULATIONS[key] === null) return `${about}, ${followProgram(claim, lines)}`;
  const [model, validFor] = FORMULATIONS[key](claim.instance, claim.resources, claim.options);
  demand(claim.validFor === validFor, `the formulation holds for ${validFor}`);
  const exceed = claim.time === null ? null : model.toExceed(claim.time);
  return `${about}, ${followTree(model, claim.k, exceed, lines)}`;
}

let status = 0;
for (const path of process.argv.slice(2)) {
  try {
    console.log(`${path}: proved: ${check(path)}`);
  } catch (error) {
    if (!(error instanceof Refused || error instanceof NotKnown)) throw error;
    const word = error instanceof Refused ? "refused" : "not known";
    console.log(`${path}: ${word}: ${error.message.slice(0, 500).replace(/[^ -~]/g, "?")}`);
    status = word === "refused" ? 2 : status || 3;
  }
}
process.exitCode = status;
