// Who is ahead in a queue, what its quota becomes, and why its first one waits; it stays live.

import { listed, perhaps } from "../ask.js";
import { choice, element, field, span, table } from "../parts.js";

export const title = "Queue";

export async function view(now, go) {
  const scope = { namespace: now.namespace, asOf: now.asOf };
  const [all, refused] = await perhaps(listed("queues", { asOf: now.asOf }));
  const queues = all ?? (now.namespace ? await listed("queues", scope) : []);
  const made = element("form", { "aria-label": "Which queue", onchange: () => go(Object.fromEntries(new FormData(made))), onsubmit: (event) => {
    event.preventDefault();
    go(Object.fromEntries(new FormData(made)));
  } },
  choice("ClusterQueue", "queue", now.queue ?? "", ["", ...queues.map((one) => one.name)]),
  all ? [] : field("Namespace", "namespace", now.namespace ?? ""),
  element("button", {}, "Show"));
  const shown = queues.filter((one) => !now.queue || one.name === now.queue);
  const parts = [element("h2", {}, now.queue || "Queues"), made];
  if (refused && !now.namespace) return [...parts, element("p", { class: "wrong" }, refused)];
  parts.push(overview(shown, now));
  if (now.queue) parts.push(...await inside(now, all !== null));
  return parts;
}

function overview(queues, now) {
  const name = (one) => element("a", { href: `?${new URLSearchParams({ ...now, view: "queue", queue: one.name })}` }, one.name);
  return table("ClusterQueues", [
    ["Name", name], ["Cohort", (one) => one.cohort], ["Pending", (one) => one.pending, "number"],
    ["Admitted", (one) => one.admitted, "number"], ["Longest wait", (one) => span(one.longestWaitSeconds), "number"],
    ["First", (one) => one.head], ["Waits for", (one) => one.reason], ["Stopped", (one) => one.stoppedAt],
  ], queues, "There is no ClusterQueue to see.");
}

async function inside(now, all) {
  const scope = all ? {} : { namespace: now.namespace };
  const [[positions, refused], [usage]] = await Promise.all([
    perhaps(listed("positions", { queue: now.queue, asOf: now.asOf, ...scope })),
    perhaps(listed("usage", { queue: now.queue, asOf: now.asOf })),
  ]);
  const [tree] = await perhaps(listed("tree", { of: now.queue, asOf: now.asOf }));
  const found = [];
  if (usage) {
    const bars = new Map((tree ?? []).filter((one) => one.name === now.queue).map((one) => [`${one.flavor} ${one.resource}`, one.bar]));
    found.push(element("h3", {}, "Quota"), table("Quota: █ used, ▒ lent, ░ free, ▓ borrowed", [
      ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource],
      ["Bar", (one) => element("span", { "aria-hidden": "true" }, bars.get(`${one.flavor} ${one.resource}`) ?? ""), "bar"],
      ["Nominal", (one) => one.nominal, "number"], ["Used", (one) => one.used, "number"],
      ["Borrowed", (one) => one.borrowed, "number"], ["Lent", (one) => one.lent, "number"],
      ["Used by", (one) => one.usedBy.join(", ")],
    ], usage));
  }
  found.push(element("h3", {}, "Who waits, in order"));
  if (refused) found.push(element("p", { class: "wrong" }, refused));
  else found.push(table("Pending workloads", [
    ["Position", (one) => one.position, "number"],
    ["Workload", (one) => workload(one, now)], ["Priority", (one) => one.priority, "number"],
    ["Waited", (one) => span(one.waitedSeconds), "number"], ["Reason", (one) => one.reason],
    ["Might start", (one) => one.estimatedStart],
  ], positions, "Nobody waits."));
  return found;
}

function workload(one, now) {
  const [namespace, name] = one.workload.split("/");
  if (!name) return one.workload;
  const asked = { view: "job", namespace, name, ...(now.asOf ? { asOf: now.asOf } : {}) };
  return element("a", { href: `?${new URLSearchParams(asked)}` }, one.workload);
}
