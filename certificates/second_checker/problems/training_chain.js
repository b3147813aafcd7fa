// Training steps with one budget: what is given, and the model `cycle` around the cycle of a step.
"use strict";
const { sum, max, range, ceil, gcd } = require("../integers.js");
const { demand, amount, some } = require("../reading.js");
const { Model, total } = require("../model.js");
const { readChain } = require("../chain.js");
const { Updates } = require("./training_chain_updates.js");
const { peak } = require("./training_chain_peak.js");

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

// The rates of a direction and, where they share a total, of both; null where they do not.
function rates({ bytes_per_s: rate, total_bytes_per_s: both }) {
  demand(both === undefined || both < 2n * rate, "both directions share twice the rate");
  return [lowest(rate), both === undefined ? null : lowest(both)];
}

// Elements 0 to 4N - 1: gaps are even, operations odd, F_1 .. F_N, B_N .. B_1.
class Cycle extends Updates {
  constructor(chain, resources) {
    super();
    const M = resources.memory_bytes, [link, both] = rates(resources);
    demand(chain.N <= 200, "there are too many stages");
    const N = chain.N, stages = range(1, N + 1);
    Object.assign(this, { c: chain, M, N, stages, E: range(0, 4 * N), model: new Model(0n) });
    this.link = link, this.both = both;
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
    if (N > 1) this.peak();
  }
  longest() {
    const { f, b, u, hu, w, wg, ws, s, a } = this.c, of = this.stages;
    const busy = of.map((l) => 2n * f[l] + b[l] + u[l] + (hu[l] ?? 0n));
    const moved = of.map((l) => 7n * w[l] + 2n * (wg[l] + ws[l] + s[l] + a[l]));
    return sum(busy) + 4n + this.t(sum(moved));
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
      model.notBelow(this.k[e - 1][i], this.k[e][i]);
      model.notBelow(this.p[e - 1][i], this.p[e][i]);
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
    const { N, trained, have, c: { a, s, w, wg, ws, d, g, of, os, ob } } = this;
    for (const e of this.E) {
      const l = this.stage(e), terms = this.dev[e] === null ? [] : [[1n, this.dev[e]]];
      if (e < 2 * N) terms.push([s[l] + os[l] - a[l] - of[l], this.f[l]]);
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
  // What was saved for good before B_N starts, at cut 2 N.
  peak() {
    const { model, N, E, c: { s } } = this, below = range(1, N), later = E.slice(2 * N + 1);
    const K = model.columns("K", below, () => ({ isWhole: false }));
    const O = this.share("O", sum(below.map((l) => s[l])));
    for (const l of below) {
      const again = later.map((e) => this.S[e][l]).filter((column) => column !== undefined);
      model.atLeast(total([K[l], ...again]), 1n);
    }
    const saved = below.map((l) => [-s[l], K[l]]);
    model.atLeast([[1n, this.dev[2 * N]], [1n, O], ...saved], 0n);
    model.atLeast([[-1n, O], ...total(later.map((e) => this.brought[e].at(-1)))], 0n);
  }
}

module.exports = {
  resources: { memory_bytes: 0n, bytes_per_s: 1n },
  optional: { total_bytes_per_s: 1n },
  read,
  formulations: {
    cycle: { options: [], build: (chain, resources) =>
      [new Cycle(chain, resources).model, "all schedules"] },
    peak: { options: [], build: (chain, resources) =>
      [peak(chain, resources.memory_bytes, ...rates(resources)), "all schedules"] },
  },
};
