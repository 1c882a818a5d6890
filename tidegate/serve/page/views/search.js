// What has a text in its name: queues, Cohorts and the workloads that are there.

import { listed } from "../ask.js";
import { asking, element, field, link, table, workload } from "../parts.js";

export const title = "Search";

export function form(now, go) {
  return asking("Search", go, field("Name", "text", now.text ?? "", { minlength: 2 }),
    field("Namespace", "namespace", now.namespace ?? ""), element("button", { class: "main" }, "Search"));
}

export async function view(now, go) {
  const parts = [element("h2", {}, now.text ? `Called “${now.text}”` : title), form(now, go)];
  if (!now.text) return [...parts, element("p", {}, "A part of a name, of two characters at least.")];
  const hits = await listed("search", { text: now.text, namespace: now.namespace, asOf: now.asOf, limit: 100 });
  return [...parts, table("Found", [
    ["Kind", (one) => one.kind], ["Name", (one) => named(one, now)], ["Namespace", (one) => one.namespace], ["Where it stands", (one) => one.about],
  ], hits, "Nothing is called so.")];
}

function named(one, now) {
  switch (one.kind) {
    case "Workload": return workload(now, `${one.namespace}/${one.name}`);
    case "ClusterQueue": return link(now, { view: "queue", queue: one.name }, one.name);
    case "LocalQueue": return link(now, { view: "queue", queue: one.about, namespace: one.namespace }, one.name);
    default: return link(now, { view: "cohorts", of: one.name }, one.name);
  }
}
