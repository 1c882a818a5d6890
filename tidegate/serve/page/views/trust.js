// Whether the numbers can be believed: how far the ledger is, what was missed, who changed quotas.

import { ask, listed, perhaps } from "../ask.js";
import { element, table } from "../parts.js";

export const title = "Trust";
const WRONG = "GapObserved,StreamReplaced,ObservationRefused,ClockSkewed";

export async function view(now) {
  const [ledger, [gaps, gapsRefused], [quotas, quotasRefused]] = await Promise.all([
    ask("ledger"),
    perhaps(ask("events", { type: WRONG, limit: 100, asOf: now.asOf })),
    perhaps(listed("reports/quota_history", { asOf: now.asOf })),
  ]);
  const facts = [
    ["Ledger", ledger.ledgerId], ["Cluster", ledger.cluster], ["Events", ledger.headSeq], ["Newest", ledger.headAt],
    ["Hash of the newest", ledger.headHash], ["Archived up to", ledger.archivedSeq || "nothing"], ["Newest state kept", ledger.snapshotSeq ?? "none"],
  ];
  return [
    element("h2", {}, "Trust"),
    element("p", {}, "Each event's hash covers the one before. This page reads the ledger and does not verify it: ",
      element("code", {}, "tidegate ledger verify --witness"), " follows the chain, decides every turn again and compares the head with the bus."),
    table("The ledger", [["What", (one) => one[0]], ["Value", (one) => one[1]]], facts),
    element("h3", {}, "What was missed or refused"),
    gaps === null ? element("p", { class: "wrong" }, gapsRefused) : table("Newest first", [
      ["Seq", (one) => one.seq, "number"], ["At", (one) => one.at], ["Event", (one) => one.type], ["What", (one) => JSON.stringify(one.event)],
    ], [...gaps].reverse(), "Nothing, among the newest events."),
    element("h3", {}, "Who changed quotas"),
    quotas === null ? element("p", { class: "wrong" }, quotasRefused) : table("Newest first", [
      ["From", (one) => one.from_at], ["Seq", (one) => one.from_seq, "number"], ["Of", (one) => `${one.kind} ${one.owner}`],
      ["Flavor", (one) => one.flavor], ["Resource", (one) => one.resource], ["Nominal", (one) => one.nominal, "number"],
      ["By", (one) => one.author || "not stamped"], ["Until", (one) => one.to_at],
    ], [...quotas].sort((a, b) => b.from_seq - a.from_seq), "No quota was ever set."),
  ];
}
