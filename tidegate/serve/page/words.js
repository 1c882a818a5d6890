// What a word of the API means in plain English; the word itself stays, for kubectl shows that one.

export const REASONS = {
  NoMatchingFlavor: "no flavor of its queue suits it",
  WaitingForQuota: "not enough quota is free",
  ExceedsMaxQuota: "it asks for more than there could ever be",
  TopologyPlacementFailed: "no nodes close enough could take its pods",
  WaitingForPreemptedWorkloads: "what it preempted has to stop first",
  Misconfigured: "it cannot be admitted as it is",
  Suspended: "its queue is stopped",
  PendingEvaluation: "it has not been looked at yet",
  WaitingForPodsReady: "another job's pods must be ready first",
  AdmissionGated: "a gate on it is closed",
  OnHold: "it is on hold",
  Deactivated: "it is deactivated",
  ReservedForPreemptor: "what is free is kept for a job that preempted others",
  Draining: "its queue is being drained",
  BudgetExhausted: "the budget of its queue is spent",
  UnsatisfiedChecks: "its admission checks are not done",
  ClusterQueueStopped: "its ClusterQueue was stopped",
  LocalQueueStopped: "its LocalQueue was stopped",
  Preempted: "it was preempted, and waits again",
  PodsReadyTimeout: "its pods were not ready in time, and it waits again",
};

export const PREEMPTIONS = {
  InClusterQueue: "the other has priority in the same queue",
  InCohortReclamation: "its queue had borrowed, and the owner takes it back",
  InCohortFairSharing: "its queue had more than its fair share",
  InCohortReclaimWhileBorrowing: "the other has priority while both borrow",
  FlavorMigration: "the other is a variant of it on a better flavor",
};

export function inWords(word, of = REASONS) {
  if (!word) return "";
  return of[word] ? `${of[word]} (${word})` : word;
}
