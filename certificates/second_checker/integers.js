// Integers: amounts are BigInts; numbers of rows, columns, stages, nodes and layers are Numbers.
"use strict";
const sum = (values) => values.reduce((total, value) => total + value, 0n);
const max = (...values) => values.reduce((a, b) => (b > a ? b : a));
const min = (a, b) => (a < b ? a : b);
const least = (values) => (values.length ? values.reduce(min) : 0n); // 0 of none
const range = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
const ascending = (values) => [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
const ceil = (a, b) => (a > 0n ? (a + b - 1n) / b : a / b); // b > 0, and / cuts towards 0
const floor = (a, b) => -ceil(-a, b);
const gcd = (a, b) => (b ? gcd(b, a % b) : a < 0n ? -a : a);

module.exports = { sum, max, min, least, range, ascending, ceil, floor, gcd };
