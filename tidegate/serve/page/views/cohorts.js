// The cohort trees at any moment: who has which quota, who borrows, and whom preemptions hit.

import { listed, perhaps } from "../ask.js";
import { element, table } from "../parts.js";

export const title = "Cohorts";

export async function view(now) {
  const [nodes, shares, [preemptions]] = await Promise.all([
    listed("tree", { of: now.of, asOf: now.asOf }),
    listed("shares", { of: now.of, asOf: now.asOf }),
    perhaps(listed("reports/preemptions", { asOf: now.asOf })),
  ]);
  const share = new Map(shares.map((one) => [one.name, one.share]));
  const name = (one) => (one.kind === "ClusterQueue" ? element("a", { href: `?${new URLSearchParams({ ...now, view: "queue", queue: one.name })}` }, one.name) : one.name);
  return [
    element("h2", {}, "Cohorts"),
    element("p", { class: "quiet" }, "The slider above takes the trees to any moment. █ used of its own, ▒ lent, ░ free, ▓ borrowed."),
    table("Quota of cohorts and their queues", [
      ["Name", name, (one) => `depth${Math.min(one?.depth ?? 0, 5)}`], ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource],
      ["Quota", (one) => element("span", { "aria-hidden": "true" }, one.bar), "bar"],
      ["Nominal", (one) => one.nominal, "number"], ["Used", (one) => one.used, "number"],
      ["Borrowed", (one) => one.borrowed, "number"], ["Lent", (one) => one.lent, "number"],
      ["Share", (one) => share.get(one.name), "number"],
    ], nodes, "The ledger knows no quota."),
    element("h3", {}, "Preemptions"),
    preemptions === null ? element("p", { class: "quiet" }, "Not to be had for you, or for a moment this far into the ledger.")
      : table("Newest preemptions", [
        ["At", (one) => one.at], ["Preempted", (one) => one.workload], ["By", (one) => one.by],
        ["Reason", (one) => one.reason],
      ], preemptions.slice(-50).reverse(), "Nobody was preempted."),
  ];
}
