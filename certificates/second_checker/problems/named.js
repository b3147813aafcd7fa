// Nodes and operators that are named, and read others before them. Their names become numbers.
"use strict";
const { ascending } = require("../integers.js");
const { demand, isAmount, list, text } = require("../reading.js");

// The numbers of what a node reads, ascending.
function inputsOf(node, numbers) {
  const inputs = list(node, "inputs");
  demand(inputs.every((name) => numbers.has(name)), "a node reads one that is not before it");
  return ascending(inputs.map((name) => numbers.get(name)));
}

// Gives a node its number.
function number(node, numbers) {
  const name = text(node, "name");
  demand(!numbers.has(name) && numbers.set(name, numbers.size), "two nodes have one name");
}

const isCost = (value) => value === null || isAmount(value); // null forbids

module.exports = { inputsOf, number, isCost };
