/** The server's HTTP API: documents in, documents out, its `Status` objects as errors. The browser's cookie is the login. */
import { type ActionRequest, decode, type Job, type JobKey, type Problem, type Series, type Sparkline } from "./types";

/** What the server refused, in its own words; `code` 0: it could not be reached. */
export class ApiError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.code = code;
  }
}

export interface SeriesRequest {
  readonly metrics: readonly string[];
  readonly attempt?: string;
  readonly points?: number;
  readonly from?: number;
  readonly to?: number;
}

type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const jobPath = (key: JobKey): string =>
  `/api/v1/jobs/${encodeURIComponent(key.namespace)}/${encodeURIComponent(key.name)}`;

export async function getSeries(key: JobKey, request: SeriesRequest, signal?: AbortSignal): Promise<readonly Series[]> {
  const { metrics, ...rest } = request;
  const answer = await call<{ series: readonly Series[] }>("GET", `${jobPath(key)}/series`, {
    query: { metric: metrics, ...rest },
    signal,
  });
  return answer.series;
}

export async function getMetrics(key: JobKey, signal?: AbortSignal): Promise<readonly string[]> {
  return (await call<{ metrics: readonly string[] }>("GET", `${jobPath(key)}/metrics`, { signal })).metrics;
}

/** Whole documents of jobs, written by `keyText`; those that are gone are left out. */
export async function getJobs(jobs: readonly string[]): Promise<readonly Job[]> {
  const answer = await call<{ items: readonly Job[] }>("GET", "/api/v1/jobs", {
    query: { job: jobs, limit: Math.max(1, jobs.length) },
  });
  return answer.items;
}

/** `jobs` are written by `keyText`. */
export async function getSparklines(jobs: readonly string[], points: number): Promise<readonly Sparkline[]> {
  const answer = await call<{ sparklines: readonly Sparkline[] }>("GET", "/api/v1/sparklines", {
    query: { job: jobs, points },
  });
  return answer.sparklines;
}

/** What can be asked of a job; see the server's protocol/action.py. */
export type Verb = "checkpoint" | "pause" | "resume" | "stop";

/** Asks something of a job; the answer's last action, and later the stream, tell what came of it. */
export async function act(key: JobKey, verb: Verb, request: ActionRequest = {}): Promise<Job> {
  const body = { by: "dashboard", ...request };
  return (await call<{ job: Job }>("POST", `${jobPath(key)}/${verb}`, { body })).job;
}

/** The end of a job's log, then what is added, line by line as text; ends when the job has ended or `signal` aborts. */
export async function* followLog(key: JobKey, tail: number, signal: AbortSignal): AsyncGenerator<string> {
  const answer = await send("GET", `${jobPath(key)}/log`, { query: { tail, follow: true }, signal });
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

interface Options {
  readonly query?: Parameters;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

async function call<T>(method: string, path: string, options: Options): Promise<T> {
  return decode<T>(await (await send(method, path, options)).json());
}

async function send(method: string, path: string, { query, body, signal }: Options): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", headers: { accept: "application/json" } };
  if (signal) init.signal = signal;
  // No form and no page of another origin can set this header: it shows that the dashboard itself asks.
  if (method !== "GET") init.headers = { ...init.headers, "headway-request": "1", "content-type": "application/json" };
  if (body !== undefined) init.body = JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(path + queryText(query), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, error instanceof Error ? error.message : String(error));
  }
  if (answer.ok) return answer;
  throw new ApiError(answer.status, await problemText(answer));
}

async function problemText(answer: Response): Promise<string> {
  try {
    const problem = (await answer.json()) as Partial<Problem>;
    return problem.message ?? answer.statusText;
  } catch {
    return answer.statusText;
  }
}

function queryText(query: Parameters | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
