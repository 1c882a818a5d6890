// Whether the numbers can be believed: is the chain whole, what was missed, who changed quotas.

import { ask, listed, perhaps } from "../ask.js";
import { bytes, clock, element, eventName, facts, filtered, later, pill, table } from "../parts.js";

export const title = "Trust";
const WRONG = "GapObserved,StreamReplaced,ObservationRefused,ClockSkewed";

export async function view(now) {
  const gaps = perhaps(ask("events", { type: WRONG, limit: 100, asOf: now.asOf }));
  const quotas = perhaps(listed("reports/quota_history", { asOf: now.asOf }));
  const ledger = await ask("ledger");
  return [
    element("h2", {}, "Trust"), verified(ledger),
    element("p", {}, "Whether a turn was decided rightly is for ", element("code", {}, "tidegate ledger verify --witness"),
      ": it decides each again and compares the head with the bus. ", element("code", {}, "tidegate ledger checkpoint"), " signs the head, so that it can be proved later."),
    element("h3", {}, "What was missed or refused"),
    later(gaps, (found) => table("Newest first", [
      ["Seq", (one) => eventName(ledger.partitions && one.partition, one.seq), "number"], ["At (UTC)", (one) => clock(one.at)], ["Event", (one) => one.type], ["What", (one) => JSON.stringify(one.event)],
    ], [...found].reverse(), "Nothing.")),
    element("h3", {}, "Who changed quotas"),
    later(quotas, (found) => filtered("Filter quotas", [...found].sort((a, b) => b.from_seq - a.from_seq), (one) => [one.owner, one.flavor, one.resource, one.author ?? ""], (rows) => table("Newest first", [
      ["From (UTC)", (one) => clock(one.from_at)], ["Seq", (one) => eventName(ledger.partitions && one.partition, one.from_seq), "number"], ["Of", (one) => `${one.kind} ${one.owner}`],
      ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource], ["Nominal", (one) => bytes(one.resource, one.nominal), "number"],
      ["By", (one) => one.author || "not stamped"], ["Until", (one) => clock(one.to_at)],
    ], rows, "No quota was ever set."))),
  ];
}

function verified(ledger) {
  const each = ledger.partitions ?? [ledger];
  const broken = each.find((one) => one.brokenSeq);
  const whole = !broken && ledger.verifiedSeq >= ledger.headSeq - 1000;
  const state = broken ? pill("chain broken", "bad") : whole ? pill("chain whole", "good") : pill("being read", "pending");
  const upTo = each.map((one) => eventName(one.partition, one.verifiedSeq)).join(" and ");
  const said = broken
    ? `The hash of event ${eventName(broken.partition, broken.brokenSeq)} does not fit the one before it: believe nothing from there on.`
    : `Of ${ledger.headSeq} events each hash fits the one before it, as this server found itself, up to event ${upTo}.`;
  return element("section", { class: "card" }, state, element("p", { class: "lead" }, said), each.map((one) => facts([
    ...(ledger.partitions ? [["Partition", one.partition, `${one.headSeq} events`]] : []),
    ["Ledger", one.ledgerId || "–", one.cluster], ["Newest event", clock(one.headAt), "UTC"], ["Hash of the newest", `${one.headHash.slice(0, 16)}…`],
    ["Archived up to", one.archivedSeq || "nothing"], ["Newest state kept", one.snapshotSeq ?? "none"],
  ])));
}
