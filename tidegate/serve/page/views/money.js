// A month by team: what each used and what it cost, what queues borrowed and left, and what budgets have left.

import { listed, perhaps } from "../ask.js";
import { asking, element, field, filtered, later, part, pill, table } from "../parts.js";

export const title = "Money";

export function form(now, go) {
  return asking("Whose money", go, field("Month", "month", now.month ?? "", { placeholder: "2026-03", pattern: "[0-9]{4}-[0-9]{2}", size: 8 }),
    field("Namespace (empty: all)", "namespace", now.namespace ?? ""), element("button", { class: "main" }, "Show"));
}

export async function view(now, go) {
  const budgets = perhaps(listed("budgets", { asOf: now.asOf }));
  const rows = await listed("costs", { month: now.month, namespace: now.namespace, asOf: now.asOf });
  const month = rows[0]?.month ?? now.month ?? "";
  const quota = perhaps(listed("quota-use", { month, asOf: now.asOf }));
  const teams = summed(rows);
  const most = Math.max(1e-9, ...teams.map((one) => one.cost || one.hours));
  return [
    element("h2", {}, month ? `Money in ${month}` : "Money"), form(now, go),
    rows.length ? element("p", { class: "quiet" }, `Full hours up to ${rows[0].until.slice(0, 16).replace("T", " ")} UTC: what is counted changes no more.`) : null,
    filtered("Filter teams", teams, (one) => [one.namespace], (shown) => table("By team", [
      ["Team", (one) => one.namespace], ["Beside others", (one) => element("div", { class: "quota", "aria-hidden": "true" }, part("used", (one.cost || one.hours) / most))],
      ["Cost", (one) => (one.priced ? one.cost.toFixed(2) : "–"), "number"], ["Currency", (one) => one.currency],
      ["CPU hours", (one) => one.hours.toFixed(1), "number"], ["Without a price", (one) => [...one.unpriced].join(", ")],
    ], shown, "Nothing was used, or nothing is to be seen.")),
    rows.length ? element("p", {}, download(rows, month)) : null,
    element("h3", {}, "Budgets"),
    later(budgets, (found) => table("Budgets now", [
      ["Of", (one) => one.owner], ["Resource", (one) => one.resource], ["Each", (one) => one.period],
      ["How far", (one) => element("div", { class: "quota", "aria-hidden": "true" }, part(one.percent >= 100 ? "stops" : one.percent >= 80 ? "waits" : "used", (one.percent ?? 0) / 100))],
      ["Spent", (one) => `${one.spentHours} of ${one.budgetHours}`, "number"], ["Of it", (one) => (one.percent === null ? "–" : `${one.percent} %`), "number"],
      ["Spent at, as now", (one) => one.spentAt], ["Ends", (one) => one.endsAt], ["Kind", (one) => pill(one.kind, one.kind.includes("spent") ? "bad" : "")],
    ], found, "No ClusterQueue or Cohort has a budget.")),
    element("h3", {}, "Borrowed and unused"),
    later(quota, (found) => filtered("Filter queues", found, (one) => [one.clusterQueue, one.flavor, one.resource], (shown) => table("Unit hours by queue", [
      ["Queue", (one) => one.clusterQueue], ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource],
      ["Nominal", (one) => hours(one, "nominalHours"), "number"], ["Used", (one) => hours(one, "usedHours"), "number"],
      ["Borrowed", (one) => hours(one, "borrowedHours"), "number"], ["Unused or lent", (one) => hours(one, "unusedHours"), "number"],
    ], shown, "No queue had quota."))),
    rows.length ? element("details", {}, element("summary", {}, "What it is made of"), table("By namespace, queue, flavor and resource", [
      ["Namespace", (one) => one.namespace], ["Queue", (one) => one.clusterQueue], ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource],
      ["Unit hours", (one) => hours(one, "unitHours"), "number"], ["Price", (one) => one.perUnitHour, "number"],
      ["Cost", (one) => (one.cost === null ? "–" : one.cost.toFixed(2)), "number"], ["Currency", (one) => one.currency],
    ], rows)) : null,
  ];
}

// Bytes are shown as GiB hours, everything else in its own unit.
function hours(row, name) {
  return /memory|storage/.test(row.resource) ? `${(row[name] / 2 ** 30).toFixed(1)} Gi` : row[name].toFixed(1);
}

function summed(rows) {
  const sums = new Map();
  const currency = new Map(rows.filter((one) => one.currency).map((one) => [one.namespace, one.currency]));
  for (const one of rows) {
    // What has no price stands beside what has one, in the same line of its team.
    const id = `${one.namespace} ${one.currency ?? currency.get(one.namespace) ?? ""}`;
    const sum = sums.get(id) ?? { namespace: one.namespace, currency: one.currency, cost: 0, hours: 0, unpriced: new Set(), priced: false };
    if (one.resource === "cpu") sum.hours += one.unitHours;
    sum.currency ??= one.currency;
    if (one.cost === null) sum.unpriced.add(one.resource);
    else {
      sum.cost += one.cost;
      sum.priced = true;
    }
    sums.set(id, sum);
  }
  return [...sums.values()].sort((a, b) => b.cost - a.cost || b.hours - a.hours);
}

function download(rows, name) {
  const names = Object.keys(rows[0]);
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
