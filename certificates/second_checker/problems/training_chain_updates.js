// Weights, gradients and states in the model `cycle`: updates, and the inventories of what moves.
"use strict";
const { sum, range, ceil } = require("../integers.js");
const { total } = require("../model.js");

// The elements, and the part of the model about updates; the class of the whole has its fields.
class Updates {
  stage(e) { return e < 2 * this.N ? Math.floor(e / 2) + 1 : 2 * this.N - Math.floor(e / 2); }
  F(l) { return 2 * l - 1; }
  B(l) { return 4 * this.N - 2 * l + 1; }
  window(l) { return [...range(this.B(l) + 1, 4 * this.N), ...range(0, this.F(l))]; }
  t(bytes) { return ceil(bytes * this.link[1], this.link[0]); }
  share(name, hi = 1n, lo = 0n) { return this.model.column(name, { lo, hi, isWhole: false }); }

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
}

module.exports = { Updates };
