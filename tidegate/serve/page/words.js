// What a word of the API means in plain English; the word itself stays, for kubectl shows that one.

export const REASONS = {
  NoMatchingFlavor: "no flavor of its queue suits it",
  WaitingForQuota: "not enough quota is free",
  ExceedsMaxQuota: "it requests more than its queue's quota plus borrowing limit",
  TopologyPlacementFailed: "no nodes close enough together could take its pods",
  WaitingForPreemptedWorkloads: "what it preempted has to stop first",
  Misconfigured: "it cannot be admitted as it is defined",
  Suspended: "its queue is stopped",
  NotTried: "it has not been tried yet",
  PendingEvaluation: "it has not been evaluated yet",
  WaitingForPodsReady: "another job's pods must be ready first",
  AdmissionGated: "one of its admission gates is closed",
  OnHold: "it is on hold",
  Deactivated: "it is deactivated",
  ReservedForPreemptor: "unused quota is reserved for a job that preempted others",
  Draining: "its queue is being drained",
  BudgetExhausted: "the budget of its queue is spent",
  NoClusterAccepts: "no other cluster takes a copy of it",
  UnsatisfiedAdmissionChecks: "its admission checks are not done",
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
