// Lists the models of the second checker, one line of JSON for each line of its input: a problem,
// a formulation, an instance, resources, options, and records that derive more rows, of which those
// that do not follow are listed as refused. Integers are texts.
"use strict";
const fs = require("node:fs");
const { FORMULATIONS } = require("../../certificates/second_checker/check.js");
const { Refused, parseJson } = require("../../certificates/second_checker/reading.js");
const { derive } = require("../../certificates/second_checker/tree.js");

for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
  const given = parseJson(line), [instance, resources, options] = ["instance", "resources",
    "options"].map((key) => given.get(key));
  const build = FORMULATIONS[`${given.get("problem")} ${given.get("name")} 1`];
  const [model, validFor] = build(instance, resources, options);
  const refused = given.get("derived").map((record) => {
    const [letter, ...parts] = record.split(" ");
    try {
      derive(model, letter, parts);
      return false;
    } catch (error) {
      if (error instanceof Refused) return true;
      throw error;
    }
  });
  const columns = model.names.map((name, j) =>
    [name, model.lo[j], model.hi[j], model.cost[j], model.isWhole[j]]);
  const rows = model.rows.map(({ total, right, isEquation }) =>
    [[...total].sort(([i], [j]) => i - j), right, isEquation]);
  const listed = { validFor, offset: model.offset, scale: model.scale, columns, rows, refused };
  const text = (_, value) => (typeof value === "bigint" ? String(value) : value);
  console.log(JSON.stringify(listed, text));
}
