/**
 * The one stream of a browser: follows the server's events, holds the present jobs, and tells every tab.
 *
 * Runs in a worker that all tabs share (`worker.ts`), so that parsing never holds up a page and ten tabs cost the server one
 * stream. It reconnects with growing pauses and goes on from the last event that it heard.
 */
import { EventParser } from "./sse";
import { type Changes, decode, type Job, keyText } from "./types";

/** How it is with the stream: `signedOut` ends it until a tab asks again; the others mend themselves. */
export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "away"; readonly since: number; readonly retryAt: number }
  | { readonly kind: "signedOut" };

/** What tabs hear. A snapshot comes in several parts; `first` begins one and `last` ends it. Times are Unix seconds. */
export type Message =
  | { readonly kind: "connection"; readonly connection: Connection }
  | {
      readonly kind: "jobs";
      readonly first: boolean;
      readonly last: boolean;
      readonly jobs: readonly Job[];
      readonly at: readonly number[];
      readonly deleted: readonly string[];
      readonly serverTime: number;
      readonly receivedAt: number;
    };

/** What tabs say: try at once, or stop telling this tab. */
export type Request = "retry" | "leave";

export interface FeedOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly url: string;
  readonly tell: (message: Message) => void;
  /** Seconds without a byte after which the stream counts as dead; the server says something every 15. */
  readonly quietSeconds?: number;
  /** Longest pause between attempts, in seconds. */
  readonly mostPause?: number;
}

const PART = 250;

export class Feed {
  readonly #options: Required<FeedOptions>;
  readonly #jobs = new Map<string, { job: Job; at: number }>();
  #connection: Connection = { kind: "connecting" };
  #lastId = "";
  #serverTime = 0;
  #receivedAt = 0;
  #known = false;
  #wake: (() => void) | undefined;
  #running = false;
  #closed = false;
  #abort: AbortController | undefined;

  constructor(options: FeedOptions) {
    this.#options = { quietSeconds: 45, mostPause: 10, ...options };
  }

  /** Everything known, for a tab that has just come. */
  *greeting(): Generator<Message> {
    yield { kind: "connection", connection: this.#connection };
    if (!this.#known) return;
    const held = [...this.#jobs.values()];
    for (let begin = 0; begin === 0 || begin < held.length; begin += PART) {
      const part = held.slice(begin, begin + PART);
      yield {
        kind: "jobs",
        first: begin === 0,
        last: begin + PART >= held.length,
        jobs: part.map((each) => each.job),
        at: part.map((each) => each.at),
        deleted: [],
        serverTime: this.#serverTime,
        receivedAt: this.#receivedAt,
      };
    }
  }

  /** Starts to follow, or tries again at once. */
  retry(): void {
    this.#wake?.();
    if (!this.#running && !this.#closed) void this.#follow();
  }

  close(): void {
    this.#closed = true;
    this.#abort?.abort();
    this.#wake?.();
  }

  async #follow(): Promise<void> {
    this.#running = true;
    let failures = 0;
    let awaySince = 0;
    while (!this.#closed) {
      const outcome = await this.#listen(() => {
        failures = 0;
        awaySince = 0;
      });
      if (outcome === "signedOut") {
        this.#set({ kind: "signedOut" });
        break;
      }
      if (this.#closed) break;
      awaySince ||= Date.now() / 1000;
      const pause = Math.min(this.#options.mostPause, 0.5 * 2 ** failures) * (0.75 + Math.random() / 2);
      failures += 1;
      this.#set({ kind: "away", since: awaySince, retryAt: Date.now() / 1000 + pause });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause * 1000);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#running = false;
  }

  /** One connection, until it breaks. */
  async #listen(onLive: () => void): Promise<"signedOut" | "broken"> {
    const abort = new AbortController();
    this.#abort = abort;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), this.#options.quietSeconds * 1000);
    };
    try {
      alive();
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (this.#lastId) headers["last-event-id"] = this.#lastId;
      const answer = await this.#options.fetch(this.#options.url, {
        headers,
        signal: abort.signal,
        cache: "no-store",
        credentials: "same-origin",
      });
      if (answer.status === 401 || answer.status === 403) return "signedOut";
      if (!answer.ok || !answer.body) return "broken";
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "broken";
        if (this.#connection.kind !== "live") {
          onLive();
          this.#set({ kind: "live" });
        }
        alive();
        for (const event of parser.push(value)) {
          this.#take(decode<Changes>(JSON.parse(event.data)));
          this.#lastId = event.id;
        }
      }
    } catch {
      return "broken"; // refused, cut off, or quiet for too long: the caller tries again and the tabs show since when
    } finally {
      clearTimeout(watchdog);
    }
  }

  #take(changes: Changes): void {
    this.#serverTime = changes.serverTime;
    this.#receivedAt = Date.now() / 1000;
    if (changes.snapshot) this.#jobs.clear();
    for (const job of changes.jobs ?? []) this.#jobs.set(keyText(job), { job, at: changes.serverTime });
    const deleted = (changes.deleted ?? []).map(([namespace, name]) => keyText({ namespace, name }));
    for (const key of deleted) this.#jobs.delete(key);
    if (changes.snapshot) {
      this.#known = true;
      for (const message of this.greeting()) if (message.kind === "jobs") this.#options.tell(message);
      return;
    }
    const jobs = changes.jobs ?? [];
    this.#options.tell({
      kind: "jobs",
      first: false,
      last: true,
      jobs,
      at: jobs.map(() => changes.serverTime),
      deleted,
      serverTime: this.#serverTime,
      receivedAt: this.#receivedAt,
    });
  }

  #set(connection: Connection): void {
    this.#connection = connection;
    this.#options.tell({ kind: "connection", connection });
  }
}
