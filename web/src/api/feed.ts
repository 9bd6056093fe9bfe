/**
 * The one stream of a browser: follows the server's events, holds a row of each job, and tells every tab.
 *
 * Runs in a worker that all tabs share (`worker.ts`), so that parsing never holds up a page and ten tabs cost the server one
 * stream. It reconnects with growing pauses and goes on from the last event that it heard.
 */
import { EventParser } from "./sse";
import { decode, keyText, type RowChanges, type SentRow } from "./types";

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
      readonly rows: readonly SentRow[];
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
  #rows = new Map<string, SentRow>();
  /** The rows of a snapshot that has not come to its end. */
  #arriving: Map<string, SentRow> | undefined;
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
    if (!this.#known && !this.#arriving) return;
    const held = [...(this.#arriving ?? this.#rows).values()];
    for (let begin = 0; begin === 0 || begin < held.length; begin += PART) {
      yield {
        kind: "jobs",
        first: begin === 0,
        last: begin + PART >= held.length && !this.#arriving,
        rows: held.slice(begin, begin + PART),
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
      this.#arriving = undefined;
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
          this.#take(decode<RowChanges>(JSON.parse(event.data)));
          this.#lastId = event.id;
        }
      }
    } catch {
      return "broken"; // refused, cut off, or quiet for too long: the caller tries again and the tabs show since when
    } finally {
      clearTimeout(watchdog);
    }
  }

  #take(changes: RowChanges): void {
    this.#serverTime = changes.serverTime;
    this.#receivedAt = Date.now() / 1000;
    const first = changes.snapshot === true && !this.#arriving;
    if (first) this.#arriving = new Map();
    const rows = changes.rows ?? [];
    const deleted = (changes.deleted ?? []).map(([namespace, name]) => keyText({ namespace, name }));
    const target = this.#arriving ?? this.#rows;
    for (const row of rows) target.set(keyText(row), row);
    for (const key of deleted) target.delete(key);
    const last = changes.more !== true;
    if (this.#arriving && last) {
      this.#rows = this.#arriving;
      this.#arriving = undefined;
      this.#known = true;
    }
    this.#options.tell({
      kind: "jobs",
      first,
      last,
      rows,
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
