// Blocks, racks and nodes, filled by what their pods use, with who runs where.

import { listed } from "../ask.js";
import { element, pill, table } from "../parts.js";

export const title = "Topology";

export async function view(now) {
  const rows = await listed("topology", { of: now.of, asOf: now.asOf });
  const parts = [element("h2", {}, title)];
  if (!rows.length) return [...parts, element("p", {}, "No ResourceFlavor names a Topology.")];
  const flavors = [...new Set(rows.map((row) => row.flavor))];
  return [...parts, ...flavors.flatMap((flavor) => drawn(flavor, rows.filter((row) => row.flavor === flavor)))];
}

function drawn(flavor, rows) {
  const [first] = rows;
  const roots = nested(rows);
  return [
    element("h3", {}, `${first.topology}, flavor ${flavor}`),
    element("p", { class: "quiet" }, `Filled by ${first.resource}; a red frame: something is wrong with the node.`),
    element("ul", { class: "cells", "aria-hidden": "true" }, roots.map(box)),
    element("details", {}, element("summary", {}, "The same as a table"), table(`Domains of ${flavor}`, [
      ["Domain", (one) => one.name, (one) => `depth${Math.min(one.depth, 5)}`], ["Level", (one) => one.level.split("/").at(-1)],
      ["Nodes", (one) => one.nodes, "number"], ["Used", (one) => `${one.used} of ${one.allocatable} ${one.resource}`],
      ["State", (one) => one.state], ["Workloads", (one) => Object.entries(one.workloads).map(([name, pods]) => `${name} (${pods})`).join(", ")],
    ], rows)),
  ];
}

function nested(rows) {
  const roots = [];
  const path = [];
  for (const row of rows) {
    const made = { ...row, children: [] };
    (row.depth ? path[row.depth - 1].children : roots).push(made);
    path[row.depth] = made;
  }
  return roots;
}

function box(one) {
  if (!one.children.length) return node(one);
  return element("li", { class: "domain" }, element("strong", {}, one.name, " ", pill(`${Math.round(one.share * 100)} %`, "")),
    element("ul", { class: "cells" }, one.children.map(box)));
}

function node(one) {
  const fill = element("b", {});
  fill.style.height = `${one.share * 100}%`;
  const said = [`${one.name}: ${one.used} of ${one.allocatable} ${one.resource}`, ...Object.entries(one.workloads).map(([name, pods]) => `${name}: ${pods} pods`), one.state];
  return element("li", { class: `node${one.state ? " broken" : ""}`, title: said.filter(Boolean).join("\n") }, fill, element("em", {}, one.name));
}
