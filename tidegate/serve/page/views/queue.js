// Who is ahead in a queue, what its quota becomes, and who holds it; it stays live.

import { listed, perhaps } from "../ask.js";
import { asking, clock, element, facts, field, filtered, key, link, quotaBar, span, startRange, table, workload } from "../parts.js";
import { inWords } from "../words.js";

export const title = "Queue";

export async function view(now, go) {
  const [all, refused] = await perhaps(listed("queues", { asOf: now.asOf }));
  const queues = all ?? (now.namespace ? await listed("queues", { namespace: now.namespace, asOf: now.asOf }) : []);
  const bound = all === null;
  const whose = bound ? asking("Whose queues", go, field("Namespace", "namespace", now.namespace ?? ""), element("button", { class: "main" }, "Show")) : null;
  if (bound && !now.namespace) return [element("h2", {}, "Queues"), element("p", { class: "wrong" }, refused), whose];
  if (!now.queue) return [element("h2", {}, "Queues"), whose, overview(queues, now)];
  const mine = queues.find((one) => one.name === now.queue);
  return [element("p", {}, link(now, { view: "queue", namespace: now.namespace }, "All queues")), head(mine, now), ...await inside(now, bound)];
}

function overview(queues, now) {
  return filtered("Filter queues", queues, (one) => [one.name, one.cohort, one.reason ?? ""], (rows) => table("ClusterQueues", [
    ["Name", (one) => link(now, { view: "queue", queue: one.name, namespace: now.namespace }, one.name)], ["Cohort", (one) => one.cohort],
    ["Pending", (one) => one.pending, "number"], ["Running", (one) => one.admitted, "number"], ["Longest wait", (one) => span(one.longestWaitSeconds), "number"],
    ["First in line", (one) => workload(now, one.head)], ["Waits because", (one) => inWords(one.reason)], ["Stopped", (one) => one.stoppedAt],
  ], rows, "There is no ClusterQueue to see."));
}

function head(mine, now) {
  if (!mine) return element("h2", {}, now.queue);
  const first = mine.head ? [workload(now, mine.head), ` is first, and waits: ${inWords(mine.reason) || "its turn comes next"}.`] : ["No workload waits."];
  const stopped = mine.stoppedAt ? ` It was stopped at ${clock(mine.stoppedAt)} UTC${mine.stoppedBy ? ` by ${mine.stoppedBy}` : ""}.` : "";
  return element("section", { class: "card" }, element("h2", {}, mine.name), element("p", { class: "lead" }, first, stopped),
    facts([["Pending", mine.pending], ["Running", mine.admitted, mine.reserving ? `${mine.reserving} more have quota and wait for checks` : ""],
      ["Longest wait", span(mine.longestWaitSeconds)], ["Cohort", mine.cohort ? link(now, { view: "cohorts", of: mine.cohort }, mine.cohort) : "none", mine.strategy]]));
}

async function inside(now, bound) {
  const scope = bound ? { namespace: now.namespace } : {};
  const [[positions, refused], [running], [tree]] = await Promise.all([
    perhaps(listed("positions", { queue: now.queue, asOf: now.asOf, ...scope })),
    perhaps(listed("running", { queue: now.queue, asOf: now.asOf, ...scope })),
    perhaps(listed("tree", { of: now.queue, asOf: now.asOf })),
  ]);
  const quota = (tree ?? []).filter((one) => one.name === now.queue);
  return [
    quota.length ? [element("h3", {}, "Quota"), key(), table(`Quota of ${now.queue}`, [
      ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource], ["How full", quotaBar], ["Nominal", (one) => one.nominal, "number"],
      ["Used", (one) => one.used, "number"], ["Borrowed", (one) => one.borrowed, "number"], ["Lent", (one) => one.lent, "number"],
    ], quota)] : [],
    element("h3", {}, "Who waits, in order"),
    refused ? element("p", { class: "wrong" }, refused) : table("Pending workloads", [
      ["Position", (one) => one.position, "number"], ["Workload", (one) => workload(now, one.workload)], ["Priority", (one) => one.priority, "number"],
      ["Waited", (one) => span(one.waitedSeconds), "number"], ["Waits because", (one) => inWords(one.reason)],
      ["Might start", (one) => (one.mightStart ? startRange(one.mightStart) : "")],
    ], positions, "No workload waits."),
    element("h3", {}, "Who holds the quota"),
    running === null ? element("p", { class: "quiet" }, "Not to be had for you.") : table("Workloads with quota, the longest first", [
      ["Workload", (one) => workload(now, one.workload)], ["Of", (one) => one.author], ["Priority", (one) => one.priority, "number"], ["Since (UTC)", (one) => clock(one.since)],
      ["Holds", (one) => Object.entries(one.amounts).map(([flavor, of]) => `${Object.entries(of).map(([name, units]) => `${units} ${name}`).join(", ")} of ${flavor}`).join("; ")],
    ], running, "No workload runs."),
  ];
}
