// Why a job waits, runs or was stopped: one sentence first, then the numbers, then everything that happened.

import { ask, listed, perhaps } from "../ask.js";
import { asking, clock, element, eventName, facts, field, key, link, part, pill, span, startRange, table, workload } from "../parts.js";
import { PREEMPTIONS, inWords } from "../words.js";

export const title = "Job";
const WORDS = { pending: "waits", reserved: "has quota, and waits for its checks", admitted: "runs", evicting: "is being stopped", inactive: "is inactive", finished: "is done", removed: "is gone", parent: "is tried by its variants" };

export function form(now, go) {
  return asking("Which job", go,
    field("Namespace", "namespace", now.namespace ?? "", { required: true }),
    field("Job or Workload", "name", now.name ?? "", { required: true }),
    element("button", { class: "main" }, "Why?"));
}

export async function view(now, go) {
  const asked = form(now, go);
  if (!now.namespace || !now.name) return [element("h2", {}, "Why does my job wait?"), element("div", { class: "card" }, asked, element("p", { class: "quiet" }, "Its namespace and its name; or search above."))];
  const place = `workloads/${encodeURIComponent(now.namespace)}/${encodeURIComponent(now.name)}`;
  const [story, ledger, [positions]] = await Promise.all([
    ask(`${place}/why`, { asOf: now.asOf, detail: "usual" }),
    ask("ledger"),
    perhaps(listed("positions", { namespace: now.namespace, asOf: now.asOf })),
  ]);
  const mine = (positions ?? []).find((one) => one.workload === story.workload);
  return [asked, head(story, mine, now), life(story, now.asOf ? "" : ledger.headAt), changes(story, place, now), element("section", {}, ...timeline(story, now)), waits(story), (story.earlier ?? []).toReversed().map((one) => element("section", {}, ...timeline(one, now, `Before, in partition ${one.partition}`)))];
}

function head(story, mine, now) {
  const last = story.lines.at(-1);
  const line = [...story.lines].reverse().find((one) => one.text && (story.phase !== "pending" || one.type === "WorkloadPending")) ?? last;
  return element("section", { class: "card" },
    element("h2", {}, story.workload, " ", pill(story.phase)),
    element("p", { class: "lead" }, `${story.job?.name ?? "It"} ${WORDS[story.phase] ?? story.phase}`, story.clusterQueue ? [" in ", link(now, { view: "queue", queue: story.clusterQueue }, story.clusterQueue)] : "", line?.text ? reason(line) : "."),
    preempted(story), mine ? standing(story, mine, now) : "");
}

// Who stopped it last, in words: what people ask first of a job that was there before.
function preempted(story) {
  const line = [...story.lines].reverse().find((one) => one.type === "WorkloadPreempted");
  const [, by, reason] = /^Preempted by (.+): (\w+)\./.exec(line?.text ?? "") ?? [];
  return by ? element("p", {}, `It was preempted at ${clock(line.at)} UTC by ${by}: ${inWords(reason, PREEMPTIONS)}.`) : "";
}

// What is lacking, as a sentence: the first of what was tried, and how many more there are.
const LACKS = /^(\S+) of flavor (\S+) for podset \S+: requested (\S+), unused (\S+), at most ([^\s,]+).*$/;

function reason(line) {
  const [first, ...rest] = line.text.replace(/^Waits: \w+; /, "").replace(/\.$/, "").split("; ");
  const found = LACKS.exec(first);
  if (!found) return `: ${line.text}`;
  const [, resource, flavor, requested, unused, most] = found;
  const others = rest.length ? ` ${rest.length} more of its requests ${rest.length === 1 ? "is" : "are"} short.` : "";
  return ` for ${requested} ${resource} of flavor ${flavor}: ${unused} ${unused === "1" ? "is" : "are"} unused, and ${most} is the most it could ever get.${others}`;
}

function standing(story, mine, now) {
  const start = mine.mightStart
    ? [startRange(mine.mightStart), "if jobs run as long as those that ended of late, and no other job is submitted"]
    : ["unknown", "its place in the queue is not what holds it up, or nothing that ends would let it start"];
  const behind = mine.position > 1 ? `${mine.position - 1} ahead` : "no workload is ahead";
  return [
    facts([
      ["Position", mine.position === null ? "–" : `Position ${mine.position}`, `${mine.clusterQueue}, ${behind}`],
      ["Might start", ...start],
      ["Waited", span(mine.waitedSeconds), inWords(mine.reason)],
      ["Priority", mine.priority],
    ]),
    mine.ahead.length ? [element("h3", {}, "Who is ahead"), element("ol", { class: "ahead" }, mine.ahead.map((one) => element("li", {}, workload(now, one)))),
      mine.position - 1 > mine.ahead.length ? element("p", { class: "quiet" }, `and ${mine.position - 1 - mine.ahead.length} more`) : ""] : "",
  ];
}

// Times of waiting, running and stopping, side by side and as long as they lasted.
const KINDS = { WorkloadSubmitted: "waits", WorkloadRequeued: "waits", QuotaReleased: "waits", WorkloadAdmitted: "runs", WorkloadAdopted: "runs", WorkloadEvicted: "stops", WorkloadFinished: "", WorkloadRemoved: "", WorkloadDeactivated: "" };

const OVER = new Set(["finished", "removed", "inactive"]);

// What goes on does so up to the ledger's newest event; of the past, up to the job's own.
function life(story, newest) {
  const steps = story.lines.filter((line) => line.type in KINDS);
  const times = steps.map((line) => Date.parse(line.at));
  const last = newest && !OVER.has(story.phase) ? newest : story.lines.at(-1).at;
  const end = Math.max(Date.parse(last), ...times);
  const total = end - times[0];
  if (!(total > 0)) return null;
  const shown = steps.map((line, at) => [KINDS[line.type], (times[at + 1] ?? end) - times[at], line]).filter(([kind, lasted]) => kind && lasted > 0);
  const bars = shown.map(([kind, lasted, line]) => {
    const made = part(kind, lasted / total);
    made.title = `${line.type} ${line.at}: ${span(lasted / 1000)}`;
    return made;
  });
  const sum = (wanted) => span(shown.filter(([kind]) => kind === wanted).reduce((all, [, lasted]) => all + lasted, 0) / 1000);
  return element("section", { class: "card" }, element("h3", {}, "Its life so far"),
    element("div", { class: "life", "aria-hidden": "true" }, bars),
    element("div", { class: "ends" }, element("span", {}, `${clock(story.lines[0].at)} UTC`), element("span", {}, clock(last, story.lines[0].at))),
    key([["waits", `waited ${sum("waits")}`], ["runs", `ran ${sum("runs")}`], ["stops", `was stopping ${sum("stops")}`]]));
}

function changes(story, place, now) {
  if (story.phase !== "pending") return null;
  const shown = element("div", { "aria-live": "polite" });
  const button = element("button", { type: "button", class: "main", onclick: async () => {
    if (shown.ariaBusy === "true") return; // not disabled: that would take the focus from it
    shown.ariaBusy = "true";
    const [found, refused] = await perhaps(ask(`${place}/why-not`, { asOf: now.asOf }));
    shown.replaceChildren(found ? element("ul", {}, needs(found).map((one) => element("li", {}, one))) : element("p", { class: "wrong" }, refused));
    shown.ariaBusy = null;
  } }, "What would have to change?");
  return element("section", {}, button, shown);
}

function needs(found) {
  if (found.startsNow) return ["It starts with the next turn."];
  const sentences = found.obstacles.map((one) => `In the way: ${one.text}`);
  for (const one of found.quota) {
    sentences.push(`It would start if ${one.clusterQueue} had ${one.raises.map((raise) => `${raise.resource} of ${raise.flavor} from ${raise.nominal} to ${raise.needed}`).join(" and ")}.`);
  }
  if (found.endings) sentences.push(`It would start if these ended: ${found.endings.workloads.join(", ")}.`);
  return sentences.length ? sentences : ["Nothing that was tried would let it start."];
}

function timeline(story, now, heading = "What happened") {
  const named = (seq) => eventName(story.partition, seq);
  const at = (line) => link({}, { view: "job", namespace: now.namespace, name: now.name, asOf: named(line.seq) }, named(line.seq));
  return [element("h3", {}, heading), table(`Events of ${story.workload}; a number takes the page to that moment`, [
    ["Seq", at, "number"], ["At", (line) => line.at.replace("T", " ").replace("Z", "")], ["Event", (line) => line.type], ["What", (line) => more(line, named)],
  ], story.lines)];
}

function more(line, named) {
  const sentences = [line.text];
  if (line.ahead) sentences.push(`Ahead: ${line.ahead} (${(line.aheadFirst ?? []).join(", ")}).`);
  if (line.priority != null && line.preemptorPriority != null) sentences.push(`Its priority ${line.priority}, its preemptor's ${line.preemptorPriority}.`);
  for (const [flavor, of] of Object.entries(line.borrowed ?? {})) sentences.push(`Its queue had borrowed ${Object.entries(of).map(([name, units]) => `${units} ${name}`).join(", ")} of ${flavor}.`);
  for (const one of line.stopped ?? []) sentences.push(`${one.kind} ${one.name} was stopped${one.by ? ` by ${one.by}` : ""} at ${one.at} (${one.policy}).`);
  for (const one of line.placements ?? []) sentences.push(`${one.podset} on ${one.flavor}: ${one.fits ?? 0} of ${one.of ?? 0} ${one.unit ?? "pod"}s found nodes.`);
  for (const one of line.freedBy ?? []) sentences.push(`Quota was freed by ${one.type} of ${one.object}, seq ${named(one.seq)}.`);
  return sentences.join(" ");
}

function waits(story) {
  if (!story.waits.length) return [];
  return [element("h3", {}, "Waits by reason"), table("Waits", [
    ["From", (one) => clock(one.from)], ["To", (one) => clock(one.to)], ["Lasted", (one) => span(one.seconds)],
    ["Reason", (one) => inWords(one.reason)], ["Ended with", (one) => one.outcome],
  ], story.waits)];
}
