import { afterEach, describe, expect, it } from "vitest";
import { Feed, type Message } from "../../src/api/feed";
import { EventParser } from "../../src/api/sse";
import { JobStore } from "../../src/api/store";
import { decode, type Job, keyText, readKey } from "../../src/api/types";
import { makeRow } from "../builders";

describe("EventParser", () => {
  const text =
    'retry: 2000\n\nid: e-1\nevent: snapshot\ndata: {"a":1}\n\n: still here\n\nid: e-2\r\ndata: x\r\ndata: y\r\n\r\n';
  const events = [
    { id: "e-1", event: "snapshot", data: '{"a":1}' },
    { id: "e-2", event: "message", data: "x\ny" },
  ];

  it("reads events whatever the pieces are cut at", () => {
    for (let size = 1; size <= text.length; size += 1) {
      const parser = new EventParser();
      const found = [];
      for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
      expect(found).toEqual(events);
    }
  });
});

describe("documents", () => {
  it("get their non-finite numbers back", () => {
    const job = decode<Job>(
      JSON.parse('{"metrics":{"loss":"NaN","x":"-Infinity","y":1},"conditions":[{"evidence":{"z":"Infinity"}}]}'),
    );
    expect(job.metrics).toEqual({ loss: Number.NaN, x: Number.NEGATIVE_INFINITY, y: 1 });
    expect(job.conditions[0]?.evidence).toEqual({ z: Number.POSITIVE_INFINITY });
  });

  it.each([
    ["local", "train"],
    ["a/b", "c d"],
    ["<b>", "名前%"],
  ])("keys of %s, %s survive the address", (namespace, name) => {
    const key = { namespace, name };
    expect(readKey(keyText(key))).toEqual(key);
  });

  it("does not take other words for keys", () => {
    for (const text of ["", "a", "a/", "/b", "a/b/c", "%/a"]) expect(readKey(text)).toBeNull();
  });
});

/** A server that answers each attempt with the next of the given streams, held open until ended. */
class Server {
  readonly asked: (string | undefined)[] = [];
  readonly #answers: (() => Response)[];
  controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(...answers: (number | "stream" | "refused")[]) {
    this.#answers = answers.map((answer) => () => {
      if (answer === "refused") throw new TypeError("fetch failed");
      if (typeof answer === "number") return new Response("{}", { status: answer });
      return new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) => {
            this.controller = controller;
          },
        }),
      );
    });
  }

  readonly fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    this.asked.push(new Headers(init?.headers).get("last-event-id") ?? undefined);
    init?.signal?.addEventListener("abort", () => this.controller?.error(new DOMException("aborted", "AbortError")));
    const answer = this.#answers.shift();
    if (!answer) return new Promise(() => undefined);
    return answer();
  };

  say(text: string): void {
    this.controller?.enqueue(new TextEncoder().encode(text));
  }
}

const event = (id: string, changes: object): string =>
  `id: ${id}\nevent: x\ndata: ${JSON.stringify({ id, serverTime: 100, ...changes })}\n\n`;

async function until(check: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!check()) {
    if (Date.now() > deadline) throw new Error("it did not come");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("Feed", () => {
  let feed: Feed | undefined;
  afterEach(() => feed?.close());

  function follow(server: Server, store: JobStore, quietSeconds = 30): Feed {
    feed = new Feed({
      fetch: server.fetch as typeof fetch,
      url: "/",
      tell: store.receive,
      mostPause: 0.01,
      quietSeconds,
    });
    feed.retry();
    return feed;
  }
  const names = (store: JobStore) =>
    store
      .fleet()
      .list.map((seen) => seen.job.name)
      .join();
  const newStore = () => new JobStore((flush) => flush());

  it("gives the snapshot, then what changes and what goes", async () => {
    const server = new Server("stream");
    const store = newStore();
    follow(server, store);
    await until(() => server.controller !== undefined);
    server.say(event("e-1", { snapshot: true, rows: [makeRow({ name: "a" }), makeRow({ name: "b" })] }));
    await until(() => names(store) === "a,b");
    server.say(event("e-2", { rows: [makeRow({ name: "a", state: "Complete" })], deleted: [["local", "b"]] }));
    await until(() => names(store) === "a");
    expect(store.fleet().byKey.get("local/a")?.job.state).toBe("Complete");
    expect(store.connection()).toEqual({ kind: "live" });
  });

  it("comes back after a break, from the last event that it heard", async () => {
    const server = new Server("stream", "refused", 503, "stream");
    const store = newStore();
    const kinds: string[] = [];
    store.subscribeConnection(() => kinds.push(store.connection().kind));
    follow(server, store);
    await until(() => server.controller !== undefined);
    server.say(event("e-7", { snapshot: true, rows: [makeRow()] }));
    await until(() => store.fleet().known);
    server.controller?.error(new Error("cut"));
    server.controller = undefined;
    await until(() => server.controller !== undefined);
    expect(names(store)).toBe("train");
    server.say(": here\n\n");
    await until(() => store.connection().kind === "live");
    expect(server.asked).toEqual([undefined, "e-7", "e-7", "e-7"]);
    expect(kinds).toEqual(["live", "away", "away", "away", "live"]);
  });

  it("takes a silent stream for a dead one", async () => {
    const server = new Server("stream", "stream");
    const store = newStore();
    follow(server, store, 0.05);
    await until(() => server.asked.length >= 2);
  });

  it("stops at a closed door, and tries again when asked to", async () => {
    const server = new Server(403, "stream");
    const store = newStore();
    const one = follow(server, store);
    await until(() => store.connection().kind === "signedOut");
    one.retry();
    await until(() => server.controller !== undefined);
  });

  it("tells a tab that comes late everything, in parts", async () => {
    const server = new Server("stream");
    const one = follow(server, newStore());
    await until(() => server.controller !== undefined);
    const rows = Array.from({ length: 600 }, (_, index) => makeRow({ name: `job-${index}` }));
    server.say(event("e-1", { snapshot: true, rows }));
    const late = newStore();
    await until(() => [...one.greeting()].length === 4);
    const messages: Message[] = [...one.greeting()];
    for (const message of messages) late.receive(message);
    expect(late.fleet().list.length).toBe(600);
    expect(messages.map((message) => message.kind)).toEqual(["connection", "jobs", "jobs", "jobs"]);
  });
});

describe("a snapshot in parts", () => {
  let feed: Feed | undefined;
  afterEach(() => feed?.close());

  it("is told on as it comes, also to a tab that comes amid it, and begins anew after a break", async () => {
    const server = new Server("stream", "stream");
    const store = new JobStore((flush) => flush());
    const heard: Message[] = [];
    feed = new Feed({
      fetch: server.fetch as typeof fetch,
      url: "/",
      tell: (message) => {
        heard.push(message);
        store.receive(message);
      },
      mostPause: 0.01,
    });
    feed.retry();
    await until(() => server.controller !== undefined);
    const part = (more: boolean, ...names: string[]) => ({
      snapshot: true,
      more,
      rows: names.map((name) => makeRow({ name })),
    });
    const say = (data: object) =>
      server.say(`event: snapshot\ndata: ${JSON.stringify({ serverTime: 5, ...data })}\n\n`);
    say(part(true, "lost"));
    await until(() => heard.some((message) => message.kind === "jobs"));
    server.controller?.error(new Error("cut"));
    server.controller = undefined;
    await until(() => server.controller !== undefined);
    expect(server.asked).toEqual([undefined, undefined]);
    say(part(true, "c"));
    await until(() => heard.filter((message) => message.kind === "jobs").length === 2);
    const late = new JobStore((flush) => flush());
    for (const message of feed.greeting()) late.receive(message);
    expect(late.fleet().known).toBe(false);
    server.say(event("e-1", part(false, "b")));
    await until(() => store.fleet().known);
    late.receive(heard.at(-1) as Message);
    for (const each of [store, late]) expect(each.fleet().list.map((seen) => seen.job.name)).toEqual(["c", "b"]);
    server.say(event("e-2", { rows: [], deleted: [["local", "c"]] }));
    await until(() => store.fleet().list.length === 1);
  });
});

describe("JobStore", () => {
  it("shows a new snapshot only once it is whole, without jobs that are gone", () => {
    const store = new JobStore((flush) => flush());
    const part = { kind: "jobs", deleted: [], serverTime: 5, receivedAt: 5 } as const;
    store.receive({ ...part, first: true, last: true, rows: [makeRow({ name: "old" })] });
    store.receive({ ...part, first: true, last: false, rows: [makeRow({ name: "a" })] });
    expect(store.fleet().list.map((seen) => seen.job.name)).toEqual(["old"]);
    store.receive({ ...part, first: false, last: true, rows: [makeRow({ name: "b" })] });
    expect(store.fleet().list.map((seen) => seen.job.name)).toEqual(["a", "b"]);
  });

  it("tells React once for many messages", () => {
    const flushes: (() => void)[] = [];
    const store = new JobStore((flush) => flushes.push(flush));
    let told = 0;
    store.subscribe(() => {
      told += 1;
    });
    const message = {
      kind: "jobs",
      first: false,
      last: true,
      deleted: [],
      serverTime: 5,
      receivedAt: 5,
    } as const;
    for (let count = 0; count < 10; count += 1) store.receive({ ...message, rows: [makeRow()] });
    expect(flushes.length).toBe(1);
    for (const flush of flushes) flush();
    expect(told).toBe(1);
  });
});
