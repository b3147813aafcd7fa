// Training steps with one budget: the model `cycle`, a linear program around the cycle of a step.
"use strict";
const { sum, max, range, ceil, gcd } = require("../integers.js");
const { demand, amount, some } = require("../reading.js");
const { Model, total } = require("../model.js");
const { readChain } = require("../chain.js");

const NS_PER_S = 1_000_000_000n;

// The chain, with what its optimizer has where it is left out: a gradient as large as the weights,
// and no update of the host.
function read(instance) {
  const chain = readChain(instance);
  some(instance, "stages").forEach((stage, at) => {
    chain.wg[at + 1] = amount(stage, "weight_gradient_bytes", { otherwise: chain.w[at + 1] });
    if (!stage.has("host_update_ns")) chain.hu[at + 1] = null;
  });
  return chain;
}

function lowest(rate) {
  const common = gcd(rate, NS_PER_S);
  return [rate / common, NS_PER_S / common];
}

// Elements 0 to 4N - 1: gaps are even, operations odd, F_1 .. F_N, B_N .. B_1.
class Cycle {
  constructor(chain, resources) {
    const { memory_bytes: M, bytes_per_s: rate, total_bytes_per_s: both } = resources;
    demand(both === undefined || both < 2n * rate, "both directions share twice the rate");
    demand(chain.N <= 200, "there are too many stages");
    const N = chain.N, stages = range(1, N + 1);
    Object.assign(this, { c: chain, M, N, stages, E: range(0, 4 * N), model: new Model(0n) });
    this.link = lowest(rate), this.both = both === undefined ? null : lowest(both);
    const { w, wg, ws, u } = chain;
    this.trained = stages.filter((l) => w[l] || wg[l] || ws[l] || u[l]);
    this.brought = this.E.map(() => []), this.sent = this.E.map(() => []);
    const longest = this.longest();
    this.D = this.model.columns("D", this.E, (e) => {
      const l = this.stage(e), time = e < 2 * N ? chain.f[l] : chain.b[l];
      return { lo: e % 2 ? time : 0n, hi: e % 2 ? time : longest, cost: 1n, isWhole: false };
    });
    this.updates();
    this.activations();
    this.lengths();
    this.moves();
    this.memory();
  }
  stage(e) { return e < 2 * this.N ? Math.floor(e / 2) + 1 : 2 * this.N - Math.floor(e / 2); }
  F(l) { return 2 * l - 1; }
  B(l) { return 4 * this.N - 2 * l + 1; }
  window(l) { return [...range(this.B(l) + 1, 4 * this.N), ...range(0, this.F(l))]; }
  t(bytes) { return ceil(bytes * this.link[1], this.link[0]); }
  share(name, hi = 1n, lo = 0n) { return this.model.column(name, { lo, hi, isWhole: false }); }
  longest() {
    const { f, b, u, hu, w, wg, ws, s, a } = this.c, of = this.stages;
    const busy = of.map((l) => 2n * f[l] + b[l] + u[l] + (hu[l] ?? 0n));
    const moved = of.map((l) => 7n * w[l] + 2n * (wg[l] + ws[l] + s[l] + a[l]));
    return sum(busy) + 4n + this.t(sum(moved));
  }

  updates() {
    const { model, trained, N, E, c: { w, wg, ws, u, hu } } = this;
    const all = { W: sum(w), G: sum(wg), S: sum(ws) };
    const own = ["x", "xs", "n", "m", "h"];
    this.one = this.share("one", 1n, 1n);
    for (const name of ["q", "y", "late", "z", ...own]) this[name] = [];
    for (const l of trained) {
      const able = hu[l] !== null;
      this.q[l] = this.share(`q_${l}`, able ? 1n : 0n), this.y[l] = this.share(`y_${l}`);
      this.late[l] = this.share(`c_${l}`), this.z[l] = this.share(`z_${l}`);
      for (const name of own) this[name][l] = new Map();
      for (const e of this.window(l).filter((e) => e % 2 === 0)) {
        for (const name of own.slice(0, 4)) this[name][l].set(e, this.share(`${name}_${l}_${e}`));
      }
      if (able) for (const e of this.window(l)) this.h[l].set(e, this.share(`h_${l}_${e}`));
    }
    for (const l of trained) this.update(l);
    if (!trained.length) return;
    for (const e of E) {
      const terms = trained.filter((l) => this.h[l].has(e)).map((l) => [-hu[l], this.h[l].get(e)]);
      if (terms.length) model.atLeast([[1n, this.D[e]], ...terms], 0n);
    }
    this.inventories(all);
    // Weights that are sent late, and what is present.
    const { A1, h1, AF, hF, gW, AB, hB, r } = this.have;
    this.qL = E.map((e) => this.share(`qL_${e}`, all.W));
    for (const e of E) {
      const waits = trained.filter((l) => w[l] && (this.window(l).includes(e) || e === this.F(l)));
      const held = waits.map((l) => [w[l], this.late[l]]);
      model.atLeast([[1n, this.qL[e]], [-1n, r[e]], ...held], 0n);
      model.atLeast([[1n, A1[e]], [-1n, h1[e]], [-1n, this.qL[e]]], 0n);
      model.atLeast([[1n, AF[e]], [-1n, hF[e]], [-1n, gW[e]]], 0n);
      model.notBelow(AB[e], hB[e]);
    }
  }
  update(l) {
    const { model, D, c: { w, wg, ws, u, hu } } = this;
    const parts = (name) => [...this[name][l].values()];
    const times = (value, name) => parts(name).map((j) => [value, j]);
    const [q, y, late, z] = [this.q[l], this.y[l], this.late[l], this.z[l]];
    model.equal(total([...parts("x"), q]), 1n);
    if (parts("h").length) model.equal([...total(parts("h")), [-1n, q]], 0n);
    for (const [e, x] of this.x[l]) {
      for (const name of ["xs", "n", "m"]) model.notBelow(x, this[name][l].get(e));
    }
    model.atLeast([[1n, late], [-1n, y], [1n, q], ...times(1n, "m")], 0n);
    model.atLeast([[1n, z], [1n, late], ...times(-1n, "n"), ...times(1n, "m")], 0n);
    const tw = this.t(w[l]), host = this.t(wg[l]) + (hu[l] ?? 0n) + tw;
    const lengths = (elements) => total(elements.map((e) => D[e]));
    const turn = [[u[l] - host, q], ...times(-2n * tw, "m")];
    model.atLeast([...lengths(this.window(l)), ...turn], u[l]);
    model.atLeast([...lengths(range(this.F(l) + 1, this.B(l))), [-tw, y]], 0n);
    model.atLeast([...total(D), ...times(-(2n * this.t(ws[l]) + u[l]), "xs")], 0n);
  }
  inventories(all) {
    const { model, trained, N, E, c: { w, wg, ws } } = this, moved = {};
    const move = (names, lists) => names.forEach((name) => {
      moved[name] = E.map((e) => this.share(`${name}_${e}`, all[name[1]] ?? all.W));
      E.forEach((e) => lists[e].push(moved[name][e]));
    });
    move(["u1", "uF", "uB", "uq", "uG", "uS"], this.brought);
    move(["dF", "dr", "dz", "dG", "dS"], this.sent);
    // Flows: terms by element. What moves; shares in their elements; shares at one of a stage.
    const goes = (name) => E.map((e) => [[1n, moved[name][e]]]);
    const place = (fill) => {
      const found = E.map(() => []);
      for (const l of trained) fill(l, (e, size, j) => found[e % (4 * N)].push([size, j]));
      return found;
    };
    const own = (name, size) => place((l, put) => this[name][l].forEach((j, e) =>
      put(e, size[l], j)));
    const at = (where, what, size) => place((l, put) => what(l).forEach((j) =>
      put(where(l), size[l], j)));
    const behindF = (l) => this.F(l) + 1, beforeF = (l) => this.F(l) - 1;
    const behindB = (l) => this.B(l) + 1, beforeB = (l) => this.B(l) - 1;
    const parts = (name) => (l) => [...this[name][l].values()];
    const y = (l) => [this.y[l]], first = 0, last = beforeB(N);
    const back = at(beforeB, y, w), needed = at(beforeF, parts("m"), w);
    const made = at(behindB, () => [this.one], wg), late = at(behindB, (l) => [this.late[l]], w);
    this.have = {};
    const add = (name, ins, outs, pin = null, most = all.W) => {
      const have = E.map((e) => this.share(`${name}_${e}`, e === pin ? 0n : most));
      this.have[name] = have;
      for (const e of E) {
        const less = ins.flatMap((flow) => flow[e].map(([size, j]) => [-size, j]));
        const more = outs.flatMap((flow) => flow[e]);
        model.equal([[1n, have[e]], [-1n, have.at(e - 1)], ...less, ...more], 0n);
      }
    };
    add("A1", [at(behindF, y, w)], [back], first);
    add("h1", [goes("u1")], [back], first);
    add("AF", [own("m", w)], [needed], last);
    add("hF", [goes("uF")], [needed], last);
    add("gW", [own("m", w)], [goes("dF")]);
    add("AB", [at(behindB, parts("n"), w)], [own("n", w)], last);
    add("hB", [goes("uB")], [own("n", w)], last);
    add("hq", [goes("uq")], [at(beforeF, (l) => [this.q[l]], w)], last);
    add("V", [own("h", w)], [goes("uq")], last);
    add("Gd", [made, goes("uG")], [own("x", wg), goes("dG")], last, all.G);
    add("Gh", [goes("dG")], [own("h", wg), goes("uG")], last, all.G);
    add("hS", [goes("uS")], [own("xs", ws)], null, all.S);
    add("gS", [own("xs", ws)], [goes("dS")], null, all.S);
    add("r", [late], [goes("dr")]);
    const copies = trained.filter((l) => w[l]).map((l) => [-w[l], this.z[l]]);
    if (copies.length) model.atLeast([...total(moved.dz), ...copies], 0n);
  }

  activations() {
    const { model, N, E, stages, c: { a, s } } = this;
    // The input of the chain is in neither sum.
    const A = (l) => sum(range(1, l + 1).map((i) => s[i] + a[i]));
    this.f = model.columns("f", stages, () => ({ isWhole: false }));
    this.Y = model.columns("Y", stages, (i) => ({ hi: s[i] + a[i], isWhole: false }));
    for (const name of ["k", "p", "R", "S", "dev", "off", "soFar"]) this[name] = E.map(() => []);
    for (const e of E) {
      const l = this.stage(e);
      for (const i of range(1, l)) {
        this.k[e][i] = this.share(`k_${i}_${e}`), this.p[e][i] = this.share(`p_${i}_${e}`);
      }
      this.dev[e] = l > 1 ? this.share(`dev_${e}`, A(l - 1)) : null;
      this.off[e] = l > 1 ? this.share(`off_${e}`, A(l - 1)) : null;
      if (!e) continue;
      this.soFar[e] = this.share(`sent_${e}`, A(N));
      this.brought[e].push(this.share(`ua_${e}`, A(N)));
      this.sent[e].push(this.share(`da_${e}`, A(N)));
      for (const i of e % 2 ? [] : range(1, e < 2 * N ? l : l + 1)) {
        this.R[e][i] = this.share(`R_${e}_${i}`), this.S[e][i] = this.share(`S_${e}_${i}`);
      }
    }
    for (const e of E) {
      if (this.stage(e) > 1) this.exists(e);
      if (e) this.sends(e);
      if (e % 2) this.operation(e);
      else if (e) this.gap(e);
    }
  }
  exists(e) {
    const { model, c: { a, s } } = this, l = this.stage(e), k = this.k[e], p = this.p[e];
    const parts = range(1, l).flatMap((i) => [[-s[i], k[i]], [-a[i], p[i]]]);
    model.equal([[1n, this.dev[e]], [1n, this.off[e]], ...parts], 0n);
    model.atLeast(total([k[l - 1], p[l - 1]]), 1n);
    model.atLeast([[1n, this.dev[e]]], a[l - 1]);
  }
  sends(e) {
    const { model } = this, l = this.stage(e), soFar = this.soFar[e];
    const before = e > 1 ? [[-1n, this.soFar[e - 1]]] : [];
    model.equal([[1n, soFar], [-1n, this.sent[e].at(-1)], ...before], 0n);
    const ever = (numbers) => numbers.map((i) => [-1n, this.Y[i]]);
    model.atMost([[1n, soFar], ...ever(this.stages.filter((i) => this.F(i) < e))], 0n);
    if (l === 1) return;
    model.notBelow(soFar, this.off[e]);
    model.atMost([[1n, this.off[e]], ...ever(range(1, l))], 0n);
  }
  operation(e) {
    const { model } = this, l = this.stage(e);
    for (const i of range(1, l)) {
      model.notBelow(this.k[e - 1][i], this.k[e][i]), model.notBelow(this.p[e - 1][i], this.p[e][i]);
    }
    const balance = [[1n, this.dev[e]], [-1n, this.dev[e - 1]], [-1n, this.brought[e].at(-1)]];
    if (l > 1) model.atMost(balance, 0n);
  }
  gap(e) {
    const { model, N, c: { a, s } } = this, l = this.stage(e);
    const fresh = e <= 2 * N ? this.stage(e - 1) : null; // its first forward has just ended
    const [R, S] = [this.R[e], this.S[e]], runs = this.stages.filter((i) => R[i] !== undefined);
    for (const i of runs) {
      if (i > 1) {
        const from = [R[i - 1], S[i - 1], this.k[e - 1][i - 1], this.p[e - 1][i - 1]];
        const read = from.map((j) => [-1n, j]);
        model.atMost([[1n, R[i]], ...read], 0n), model.atMost([[1n, S[i]], ...read], 0n);
      }
      const k = i === fresh ? this.f[i] : this.k[e - 1][i], now = this.k[e][i];
      if (now === undefined) {
        model.atLeast(total([S[i], k]), 1n);
        continue;
      }
      model.atMost([[1n, now], [-1n, S[i]], [-1n, k]], 0n);
      const p = i === fresh ? [1n, this.f[i]] : [-1n, this.p[e - 1][i]];
      model.atMost([[1n, this.p[e][i]], [-1n, R[i]], p], i === fresh ? 1n : 0n);
    }
    const terms = [[-1n, this.brought[e].at(-1)]];
    if (this.dev[e] !== null) terms.push([1n, this.dev[e]]);
    if (this.dev[e - 1] !== null) terms.push([-1n, this.dev[e - 1]]);
    for (const i of runs) terms.push([-a[i], R[i]], [-s[i], S[i]]);
    if (fresh) terms.push([a[fresh] - s[fresh], this.f[fresh]]);
    model.atMost(terms, (fresh ? a[fresh] : 0n) - (e < 2 * N ? 0n : s[l]));
  }

  lengths() {
    const { f, u } = this.c;
    for (const e of this.E.filter((e) => e % 2 === 0)) {
      const again = this.stages.filter((i) => this.R[e][i] !== undefined)
        .flatMap((i) => [[-f[i], this.R[e][i]], [-f[i], this.S[e][i]]]);
      const updated = this.trained.filter((l) => this.x[l].has(e))
        .map((l) => [-u[l], this.x[l].get(e)]);
      this.model.atLeast([[1n, this.D[e]], ...again, ...updated], 0n);
    }
  }
  moves() {
    for (const e of this.E) {
      const [brought, sent] = [this.brought[e], this.sent[e]];
      const pass = (columns, [p, q]) => columns.length &&
        this.model.atMost([[-p, this.D[e]], ...columns.map((j) => [q, j])], 0n);
      pass(brought, this.link), pass(sent, this.link);
      if (this.both) pass([...brought, ...sent], this.both);
    }
  }
  memory() {
    const { N, trained, have, c: { a, s, w, wg, ws, d, g, of, ob } } = this;
    for (const e of this.E) {
      const l = this.stage(e), terms = this.dev[e] === null ? [] : [[1n, this.dev[e]]];
      if (e < 2 * N) terms.push([s[l] - a[l], this.f[l]]);
      const left = l > 1 ? d[l - 1] : 0n;
      const operands = e < 2 * N ? a[l] + of[l]
        : s[l] + d[l] + max(g[l] + ob[l], left) + wg[l];
      if (trained.length) {
        terms.push([1n, this.qL[e]]);
        for (const name of ["h1", "hF", "gW", "hB", "hq", "hS", "gS", "Gd"]) {
          terms.push([1n, have[name][e]]);
        }
        for (const name of ["A1", "AF", "AB"]) terms.push([-1n, have[name][e]]);
      }
      for (const i of trained) {
        if (this.window(i).includes(e) && e !== this.F(i) - 1) terms.push([-w[i], this.q[i]]);
        for (const [gap, x] of this.x[i]) terms.push([ws[i], x], [-ws[i], this.xs[i].get(gap)]);
      }
      this.model.atMost(terms, this.M - sum(w) - a[0] - operands);
    }
  }
}

module.exports = {
  resources: { memory_bytes: 0n, bytes_per_s: 1n },
  optional: { total_bytes_per_s: 1n },
  read,
  formulations: {
    cycle: { options: [], build: (chain, resources) =>
      [new Cycle(chain, resources).model, "all schedules"] },
  },
};
