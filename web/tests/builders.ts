/** Documents for tests: a running job, changed as the test says. */
import type { Seen } from "../src/api/store";
import { type Job, keyText } from "../src/api/types";

export const NOW = 1_796_000_000;

export function makeJob(changes: Partial<Job> = {}): Job {
  return {
    namespace: "local",
    name: "train",
    uid: "uid-1",
    platform: "local",
    state: "Running",
    stateReason: null,
    summary: "Running",
    ending: null,
    verdict: "Progressing",
    verdictText: null,
    conditions: [],
    progress: { percent: 45, step: 450, totalSteps: 1000 },
    resumed: null,
    eta: null,
    metrics: {},
    best: {},
    directions: {},
    checkpoint: null,
    attempts: [],
    actions: [],
    ranks: [],
    ledger: {},
    spec: {},
    config: {},
    tags: [],
    log: null,
    host: null,
    warnings: [],
    createdAt: NOW - 3600,
    startedAt: NOW - 3600,
    endedAt: null,
    updatedAt: NOW,
    lastContactAge: 0,
    ...changes,
  };
}

export function makeSeen(changes: Partial<Job> = {}, at = NOW): Seen {
  const job = makeJob(changes);
  return { key: keyText(job), job, at };
}
