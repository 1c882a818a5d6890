// The cohort trees at any moment: the quota of each queue, its borrowing, and preempted workloads.

import { ask, listed, perhaps } from "../ask.js";
import { clock, element, eventName, filtered, key, later, link, quotaBar, table, workload } from "../parts.js";
import { PREEMPTIONS, inWords } from "../words.js";

export const title = "Cohorts";

export async function view(now) {
  const scope = { of: now.of, asOf: now.asOf };
  const preemptions = perhaps(Promise.all([ask("events", { type: "WorkloadPreempted", limit: 50, asOf: now.asOf }), ask("ledger")]));
  const [nodes, shares] = await Promise.all([listed("tree", scope), listed("shares", scope)]);
  const share = new Map(shares.map((one) => [one.name, one.share]));
  const borrows = nodes.filter((one) => one.kind === "ClusterQueue" && one.borrowed !== "0");
  return [
    element("h2", {}, now.of ? `Cohort of ${now.of}` : "Cohorts over time"),
    now.of ? element("p", {}, link(now, { view: "cohorts" }, "All cohorts")) : null,
    element("p", { class: "lead" }, said(nodes, borrows)),
    element("p", { class: "quiet" }, "The slider above takes the trees to any moment."), key(),
    filtered("Filter", nodes, (one) => [one.name, one.parent, one.flavor, one.resource], (rows) => table("Quota of cohorts and their queues", [
      ["Name", (one) => (one.kind === "ClusterQueue" ? link(now, { view: "queue", queue: one.name }, one.name) : link(now, { view: "cohorts", of: one.name }, one.name)), (one) => `depth${Math.min(one?.depth ?? 0, 5)}`],
      ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource], ["How full", quotaBar], ["Quota with children", (one) => one.quota, "number"],
      ["Nominal", (one) => one.nominal, "number"], ["Used", (one) => one.used, "number"],
      ["Borrowed", (one) => one.borrowed, "number"], ["Lent", (one) => one.lent, "number"], ["Borrowed share, ‰", (one) => share.get(one.name), "number"],
    ], rows, "The ledger knows no quota.")),
    element("h3", {}, "Preemptions"),
    later(preemptions, ([events, ledger]) => table("Newest first", [
      ["Seq", (one) => moment(now, eventName(ledger.partitions && one.partition, one.seq)), "number"], ["At (UTC)", (one) => clock(one.at)],
      ["Preempted", (one) => workload(now, one.workload)], ["In", (one) => one.clusterQueue], ["For", (one) => workload(now, one.event.by)], ["Because", (one) => inWords(one.event.reason, PREEMPTIONS)],
    ], [...events].reverse(), "No workload was preempted.")),
  ];
}

function moment(now, event) {
  return link({}, { view: "cohorts", of: now.of, asOf: event }, event);
}

function said(nodes, borrows) {
  const queues = new Set(nodes.filter((one) => one.kind === "ClusterQueue").map((one) => one.name)).size;
  if (!queues) return "The ledger knows no quota.";
  const who = new Set(borrows.map((one) => one.name));
  const some = [...who].slice(0, 3).join(", ");
  return `${queues} queue${queues === 1 ? "" : "s"}; ${who.size ? `${who.size} borrow${who.size === 1 ? "s" : ""}: ${some}${who.size > 3 ? ", …" : "."}` : "no queue borrows."}`;
}
