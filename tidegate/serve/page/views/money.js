// What a month cost each namespace, by the prices that are set; and what of it was borrowed.

import { listed } from "../ask.js";
import { choice, element, field, table } from "../parts.js";

export const title = "Money";
const COLUMNS = ["month", "namespace", "cluster_queue", "flavor", "resource", "unit_hours", "cost", "currency"];

export function form(now, go) {
  const made = element("form", { "aria-label": "Whose money", onsubmit: (event) => {
    event.preventDefault();
    go(Object.fromEntries(new FormData(made)));
  } }, field("Namespace (empty: all)", "namespace", now.namespace ?? ""), element("button", {}, "Show"));
  return made;
}

export async function view(now, go) {
  const rows = await listed("reports/chargeback", { namespace: now.namespace, asOf: now.asOf, limit: 5000 });
  const months = [...new Set(rows.map(month))].sort();
  const chosen = months.includes(now.month) ? now.month : months.at(-1) ?? "";
  const mine = rows.filter((one) => month(one) === chosen);
  const picking = element("form", { "aria-label": "Which month", onchange: () => go(Object.fromEntries(new FormData(picking))) }, choice("Month", "month", chosen, months));
  const sums = new Map();
  for (const one of mine) {
    const key = `${one.namespace} ${one.currency ?? ""}`;
    const sum = sums.get(key) ?? { namespace: one.namespace, currency: one.currency, cost: 0, unpriced: 0 };
    if (one.per_unit_hour === null) sum.unpriced += 1;
    else sum.cost += one.cost ?? 0;
    sums.set(key, sum);
  }
  const names = mine.length ? Object.keys(mine[0]) : COLUMNS;
  return [
    element("h2", {}, chosen ? `Money in ${chosen}` : "Money"), form(now, go), picking,
    table("By namespace", [
      ["Namespace", (one) => one.namespace], ["Cost", (one) => one.cost.toFixed(2), "number"], ["Currency", (one) => one.currency],
      ["Rows without a price", (one) => one.unpriced, "number"],
    ], [...sums.values()].sort((a, b) => b.cost - a.cost), "Nothing was used, or nothing is to be seen."),
    mine.length ? element("p", {}, download(names, mine, chosen)) : null,
    mine.length ? table("What it is made of", names.map((name) => [name.replaceAll("_", " "), (one) => shown(one[name]), typeof mine[0][name] === "number" ? "number" : null]), mine.slice(0, 500)) : null,
  ].filter(Boolean);
}

function month(row) {
  return String(row.month ?? row.hour ?? row.day ?? "").slice(0, 7);
}

function shown(value) {
  return typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(6) : value;
}

function download(names, rows, name) {
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    // A cell that begins like a formula would be one in a spreadsheet.
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return `"${safe.replaceAll('"', '""')}"`;
  };
  const text = [names, ...rows.map((row) => names.map((one) => row[one]))].map((line) => line.map(quoted).join(",")).join("\r\n");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  return element("a", { href: url, download: `tidegate-${name}.csv` }, "Download as CSV");
}
