// The model `peak`: the memory where B_N starts, and the link and both processors over a step.
"use strict";
const { sum, max, range, ceil } = require("../integers.js");
const { demand } = require("../reading.js");
const { Model } = require("../model.js");

function peak(chain, M, link, both) {
  const { N, a, s, f, b, w, wg, ws, u, hu, d, g, ob } = chain, stages = range(1, N + 1);
  demand(N <= 100_000, "there are too many stages");
  const model = new Model(0n), [p, q] = link;
  const share = (name, hi = 1n) => model.column(name, { hi, isWhole: false });
  const busy = sum(stages.map((l) => 2n * f[l] + b[l] + u[l] + (hu[l] ?? 0n)));
  const moved = 3n * sum(w) + sum(wg) + 2n * sum(ws) + 2n * sum(s);
  const T = model.column("T", { hi: busy + ceil(moved * q, p), cost: 1n, isWhole: false });
  const off = share("off", sum(s));
  // Terms of rows; what comes in and goes out is of negative sign.
  const device = [[1n, T]], host = [[1n, T]], memory = [[-1n, off]];
  const brought = [[-1n, off]], sent = [[-1n, off]];
  let least = 0n;
  for (const l of stages) {
    least += f[l] + b[l];
    if (l < N) {
      const k = share(`k_${l}`);
      least += f[l], device.push([f[l], k]), memory.push([s[l], k]);
    }
    if (!(w[l] || wg[l] || ws[l] || u[l])) continue;
    const isAble = hu[l] !== null, onHost = share(`q_${l}`, isAble ? 1n : 0n);
    const travels = share(`s_${l}`);
    model.atLeast([[-1n, onHost], [-1n, travels]], -1n);
    least += u[l], device.push([u[l], onHost]), host.push([-(hu[l] ?? 0n), onHost]);
    brought.push([-w[l], onHost], [-ws[l], travels]);
    sent.push([-wg[l], onHost], [-ws[l], travels]);
    memory.push([-ws[l], onHost], [-ws[l], travels]);
    if (l === N) continue;
    const y = share(`y_${l}`), copied = share(`c_${l}`);
    model.atLeast([[1n, copied], [-1n, y], [1n, onHost]], 0n);
    brought.push([-w[l], y]), sent.push([-w[l], copied]), memory.push([-w[l], y]);
  }
  model.atLeast(device, least), model.atLeast(host, 0n);
  const pass = (terms, [rate, per]) =>
    model.atLeast([[rate, T], ...terms.map(([size, j]) => [per * size, j])], 0n);
  pass(brought, link), pass(sent, link);
  if (both) pass([...brought, ...sent], both);
  const operands = s[N] + d[N] + max(g[N] + ob[N], N > 1 ? d[N - 1] : 0n) + wg[N];
  model.atMost(memory, M - a[0] - sum(w) - sum(ws) - operands);
  return model;
}

module.exports = { peak };
