// The recorded jobs under another configuration: both replays side by side, by queue.

import { ask } from "../ask.js";
import { asking, element, field, span, table } from "../parts.js";

export const title = "What if";

const HINT = "clusterqueue/team-a.cpu=40";

export function form(now, go) {
  return asking("Another configuration", go,
  field("What to change", "set", now.set ?? "", { placeholder: HINT, required: true, size: 48 }),
  field("From", "from", now.from ?? "", { placeholder: "the beginning" }),
  field("To", "to", now.to ?? "", { placeholder: "the end" }),
  element("button", { class: "main" }, "Replay"));
}

export async function view(now, go) {
  const parts = [element("h2", {}, title), form(now, go)];
  if (!now.set) {
    return [...parts, element("p", {}, "Every recorded job is submitted again in virtual time, once as it was and once with this changed: ",
      element("code", {}, HINT), ", ", element("code", {}, "workload/a/job-x.priority=9"), ", ", element("code", {}, "policy.fairSharing=true"),
      ". Several are parted by a semicolon.")];
  }
  const found = await ask("what-if", { set: now.set, from: now.from, to: now.to });
  return [...parts,
    element("p", {}, `Changed: ${found.changes.join("; ")}.`),
    both(found.sides),
    element("ul", {}, found.notes.map((one) => element("li", {}, one)))];
}

function both(sides) {
  const changed = new Map([...sides.changed.queues, { ...sides.changed.total, queue: "" }].map((one) => [one.queue, one]));
  const rows = [...sides.unchanged.queues, { ...sides.unchanged.total, queue: "" }]
    .map((one) => ({ queue: one.queue, before: one, after: changed.get(one.queue) ?? {} }));
  const pair = (name, show = (value) => value) => (row) => change(show(row.before[name]), show(row.after[name]));
  return table("Replayed as it was → as it is asked to be", [
    ["Queue", (row) => row.queue || "all"],
    ["Started", pair("admissions"), "number"], ["Waiting at the end", pair("waiting"), "number"],
    ["Median wait", pair("waitMedianSeconds", span), "number"], ["Longest wait", pair("waitMaxSeconds", span), "number"],
    ["Preempted", pair("preemptions"), "number"], ["Finished", pair("finished"), "number"],
  ], rows);
}

function change(before, after) {
  return before === after ? String(before) : element("strong", {}, `${before} → ${after ?? "–"}`);
}
