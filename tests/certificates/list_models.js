// Lists the models of the second checker, one line of JSON for each line of its input: a problem,
// a formulation, an instance, resources, options, and records that derive more rows, of which those
// that do not follow are listed as refused. Integers are texts.
"use strict";
const fs = require("node:fs");
const { given } = require("../../certificates/second_checker/check.js");
const { Refused, parseJson } = require("../../certificates/second_checker/reading.js");

for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
  const stated = parseJson(line), options = stated.get("options");
  const claim = { ...Object.fromEntries(stated), version: 1n };
  const { formulation, instance, resources } = given(claim);
  const [model, validFor] = formulation.build(instance, resources, options);
  const refused = stated.get("derived").map((record) => {
    const [letter, ...parts] = record.split(" ");
    try {
      model.derive(letter, parts);
      return false;
    } catch (error) {
      if (error instanceof Refused) return true;
      throw error;
    }
  });
  const columns = model.names.map((name, j) =>
    [name, model.lo[j], model.hi[j], model.cost[j], model.isWhole[j]]);
  const rows = model.rows.map(({ terms, right, isEquation }) =>
    [[...terms].sort(([i], [j]) => i - j), right, isEquation]);
  const listed = { validFor, offset: model.offset, scale: model.scale, columns, rows, refused };
  const text = (_, value) => (typeof value === "bigint" ? String(value) : value);
  console.log(JSON.stringify(listed, text));
}
