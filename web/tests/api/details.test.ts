import { describe, expect, it } from "vitest";
import { DetailStore } from "../../src/api/details";
import type { Message } from "../../src/api/feed";
import { JobStore } from "../../src/api/store";
import { type Job, readKey } from "../../src/api/types";
import { makeJob, makeRow } from "../builders";

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

async function until(check: () => boolean): Promise<void> {
  for (let count = 0; count < 400 && !check(); count += 1) await settled();
  expect(check()).toBe(true);
}

function changed(...names: string[]): Message {
  const rows = names.map((name) => makeRow({ name }));
  return { kind: "jobs", first: false, last: true, rows, deleted: [], serverTime: 5, receivedAt: 5 };
}

function make(pause = 0) {
  const asked: (readonly string[])[] = [];
  const there = new Map<string, Job>();
  let fails = 0;
  const store = new JobStore((flush) => flush());
  const get = async (keys: readonly string[]) => {
    asked.push(keys);
    if (fails > 0) {
      fails -= 1;
      throw new Error("away");
    }
    return keys.flatMap((key) => there.get(readKey(key)?.name ?? "") ?? []);
  };
  const details = new DetailStore(store, get, pause);
  const put = (name: string, step: number) => there.set(name, makeJob({ name, progress: { step } }));
  const fail = (count: number) => {
    fails = count;
  };
  return { store, details, asked, there, put, fail };
}

describe("DetailStore", () => {
  it("asks for what is wanted, and again when it changed, and for nothing else", async () => {
    const { store, details, asked, put } = make();
    put("a", 1);
    put("b", 1);
    const letGo = details.want(["local/a", "local/b"]);
    await until(() => details.get("local/b") !== undefined);
    expect(asked).toEqual([["local/a", "local/b"]]);
    put("a", 2);
    store.receive(changed("a", "c"));
    await until(() => details.get("local/a")?.job.progress.step === 2);
    expect(asked).toEqual([["local/a", "local/b"], ["local/a"]]);
    letGo();
    store.receive(changed("a"));
    await settled();
    expect(asked.length).toBe(2);
    expect(details.get("local/a")).toBeUndefined();
  });

  it("keeps what somebody else still wants", async () => {
    const { details, put } = make();
    put("a", 1);
    const one = details.want(["local/a"]);
    const other = details.want(["local/a"]);
    await until(() => details.get("local/a") !== undefined);
    one();
    expect(details.get("local/a")).toBeDefined();
    other();
    expect(details.get("local/a")).toBeUndefined();
  });

  it("gathers the changes of a pause into one request", async () => {
    const { store, details, asked, put } = make(40);
    for (const name of ["a", "b"]) put(name, 1);
    details.want(["local/a", "local/b"]);
    await until(() => details.get("local/a") !== undefined);
    for (const name of ["a", "b", "a", "a"]) {
      store.receive(changed(name));
      await settled();
    }
    await until(() => asked.length === 2);
    expect(asked[1]).toEqual(["local/a", "local/b"]);
  });

  it("forgets a job that is gone", async () => {
    const { store, details, there, put } = make();
    put("a", 1);
    details.want(["local/a"]);
    await until(() => details.get("local/a") !== undefined);
    there.clear();
    store.receive(changed("a"));
    await until(() => details.get("local/a") === undefined);
  });

  it("asks again when the server is back", async () => {
    const { store, details, asked, put, fail } = make();
    put("a", 1);
    fail(1);
    details.want(["local/a"]);
    await until(() => asked.length === 1);
    await settled();
    expect(details.get("local/a")).toBeUndefined();
    store.receive({ kind: "connection", connection: { kind: "live" } });
    await until(() => details.get("local/a") !== undefined);
  });
});
