/** Documents for tests: a running job, changed as the test says. */
import type { Seen } from "../src/api/store";
import { type Job, keyText, type SentRow } from "../src/api/types";

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
    verdictMessage: null,
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
    warningMessages: [],
    createdAt: NOW - 3600,
    startedAt: NOW - 3600,
    endedAt: null,
    updatedAt: NOW,
    lastContactAge: 0,
    ...changes,
  };
}

/** A row as the stream carries it. */
export function makeRow(changes: Partial<SentRow> = {}): SentRow {
  const { namespace, name, uid, state, summary, verdict, conditions, progress, eta, metrics, checkpoint } = makeJob();
  const { ledger, spec, tags, createdAt, startedAt, endedAt, updatedAt, lastContactAge } = makeJob();
  const shown = { namespace, name, uid, state, summary, verdict, conditions, progress, eta, metrics, checkpoint };
  return {
    ...shown,
    ...{ ledger, spec, tags, createdAt, startedAt, endedAt, updatedAt, lastContactAge },
    at: NOW,
    ...changes,
  };
}

export function makeSeen(changes: Partial<Job> = {}, at = NOW): Seen<Job> {
  const job = makeJob(changes);
  return { key: keyText(job), job, at };
}
