// Why a job waits, runs or was stopped: its last word first, then everything that happened.

import { ask, listed, perhaps } from "../ask.js";
import { element, field, span, table } from "../parts.js";

export const title = "Job";

export function form(now, go) {
  const made = element("form", { "aria-label": "Which job", onsubmit: (event) => {
    event.preventDefault();
    go(Object.fromEntries(new FormData(made)));
  } },
  field("Namespace", "namespace", now.namespace ?? "", { required: true }),
  field("Job or Workload", "name", now.name ?? "", { required: true }),
  element("button", {}, "Why?"));
  return made;
}

export async function view(now, go) {
  const asked = form(now, go);
  if (!now.namespace || !now.name) return [element("h2", {}, title), asked, element("p", {}, "Which job? Its namespace and its name.")];
  const place = `workloads/${encodeURIComponent(now.namespace)}/${encodeURIComponent(now.name)}`;
  const [story, [positions]] = await Promise.all([
    ask(`${place}/why`, { asOf: now.asOf, detail: "brief" }),
    perhaps(listed("positions", { namespace: now.namespace, asOf: now.asOf })),
  ]);
  const mine = (positions ?? []).find((one) => one.workload === story.workload);
  return [asked, element("h2", {}, story.workload), ...sentence(story, mine),
    changes(story, place, now), happened(story, place, now), ...waits(story)];
}

// What each event meant for others takes longer to find than what happened: it follows.
function happened(story, place, now) {
  const shown = element("section", { "aria-busy": "true" }, ...timeline(story, now));
  perhaps(ask(`${place}/why`, { asOf: now.asOf })).then(([found]) => {
    shown.replaceChildren(...timeline(found ?? story, now));
    shown.removeAttribute("aria-busy");
  });
  return shown;
}

function sentence(story, mine) {
  const last = story.lines.at(-1);
  const told = [element("p", { class: "lead" }, element("strong", {}, story.phase), story.clusterQueue ? ` in ${story.clusterQueue}. ` : ". ",
    [...story.lines].reverse().find((one) => one.text && (story.phase !== "pending" || one.type === "WorkloadPending"))?.text ?? last?.text ?? "")];
  if (mine) {
    const start = mine.estimatedStart ? ` By the pace of the last admissions it might start about ${mine.estimatedStart}: a pace, not a promise.` : "";
    told.push(element("p", {}, `Position ${mine.position ?? "–"} in ${mine.clusterQueue}, waited ${span(mine.waitedSeconds)}.`,
      mine.ahead.length ? ` Ahead: ${mine.ahead.join(", ")}.` : " Nobody is ahead.", start));
  }
  return told;
}

function changes(story, place, now) {
  if (story.phase !== "pending") return null;
  const shown = element("div", { "aria-live": "polite" });
  const button = element("button", { type: "button", onclick: async () => {
    button.disabled = true;
    const [found, refused] = await perhaps(ask(`${place}/why-not`, { asOf: now.asOf }));
    shown.replaceChildren(found ? element("ul", {}, needs(found).map((one) => element("li", {}, one))) : element("p", { class: "wrong" }, refused));
    button.disabled = false;
  } }, "What would have to change?");
  return element("section", {}, button, shown);
}

function needs(found) {
  if (found.startsNow) return ["It starts with the next turn."];
  const told = found.obstacles.map((one) => `In the way: ${one.text}`);
  for (const one of found.quota) {
    told.push(`It would start if ${one.clusterQueue} had ${one.raises.map((raise) => `${raise.resource} of ${raise.flavor} from ${raise.nominal} to ${raise.needed}`).join(" and ")}.`);
  }
  if (found.endings) told.push(`It would start if these ended: ${found.endings.workloads.join(", ")}.`);
  return told.length ? told : ["Nothing that was tried would let it start."];
}

function timeline(story, now) {
  const at = (line) => element("a", { href: `?${new URLSearchParams({ ...now, view: "job", asOf: line.seq })}` }, String(line.seq));
  return [element("h3", {}, "What happened"), table(`Events of ${story.workload}`, [
    ["Seq", at, "number"], ["At", (line) => line.at], ["Event", (line) => line.type], ["What", more],
  ], story.lines)];
}

function more(line) {
  const told = [line.text];
  if (line.ahead) told.push(`Ahead: ${line.ahead} (${(line.aheadFirst ?? []).join(", ")}).`);
  if (line.priority != null && line.preemptorPriority != null) told.push(`Its priority ${line.priority}, its preemptor's ${line.preemptorPriority}.`);
  for (const one of line.freedBy ?? []) told.push(`Room was made by ${one.type} of ${one.who}, seq ${one.seq}.`);
  return told.join(" ");
}

function waits(story) {
  if (!story.waits.length) return [];
  return [element("h3", {}, "Waits by reason"), table("Waits", [
    ["From", (one) => one.from], ["To", (one) => one.to], ["Lasted", (one) => span(one.seconds)],
    ["Reason", (one) => one.reason], ["Ended with", (one) => one.outcome],
  ], story.waits)];
}
