/** What is true of SQLite alone: what a crash, a full disk and a failing neighbour leave, and how its statements run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { JOB_STATES } from "../../src/core/machine.ts";
import { openSqlite } from "../../src/store/sqlite/open.ts";
import { StoreUnavailable } from "../../src/store/store.ts";
import type { Signal, Store } from "../../src/store/store.ts";
import { nextId, siteOf, T0 } from "./site.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-sqlite-"));
let files = 0;
const newPath = (): string => join(folder, `${(files += 1)}`, "sluice.db");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a case on a file and closes the store. */
async function on<T>(path: string, run: (store: Store) => Promise<T>, maxPages?: number): Promise<T> {
  const store = await openSqlite({ path, maxPages });
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}

/** Rows of a query on a closed file. */
function rows(path: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path);
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

describe("SQLite", () => {
  it("D17: kill -9 in the middle of work loses nothing that was acknowledged", async () => {
    const path = newPath();
    const child = spawn(process.execPath, [fileURLToPath(new URL("insert-for-ever.ts", import.meta.url)), path], { stdio: ["ignore", "pipe", "inherit"] });
    const told: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      if (/^\w+ \S{36}$/.test(line)) told.push(line);
      if (told.length === 3000) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    expect(child.signalCode).toBe("SIGKILL");
    await on(path, async (store) => {
      const endpoint = "endpoint-1";
      const reached: Record<string, string[]> = { insert: JOB_STATES.slice(), other: JOB_STATES.slice(), claim: ["IN_PROGRESS", "COMPLETED"], report: ["COMPLETED"] };
      const wrong: string[] = [];
      for (const line of told) {
        const [what = "", id = ""] = line.split(" ");
        const found = await store.jobs.get({ endpoint, id, now: T0 });
        if (!found || !reached[what]?.includes(found.job.state)) wrong.push(`${line}: ${found?.job.state}`);
      }
      expect(wrong).toEqual([]);
      expect(told.length).toBeGreaterThanOrEqual(3000);
      const counts = await store.jobs.counts({ endpoint, now: T0 });
      await store.close();
      const inState = (state: string) => Number(rows(path, `SELECT count(*) AS n FROM jobs WHERE state = '${state}'`)[0]?.["n"]);
      expect(counts).toEqual({ inQueue: inState("IN_QUEUE"), inProgress: inState("IN_PROGRESS"), completed: inState("COMPLETED"), failed: 0, retried: 0 });
    });
  });

  it("D40: with a full disk writes are refused, reads go on, and it works again with room", async () => {
    const path = newPath();
    const big = JSON.stringify("x".repeat(20_000));
    const { endpoint, kept } = await on(path, async (store) => {
      const site = siteOf(store);
      const acknowledged: string[] = [];
      const refused = await (async () => {
        for (;;) {
          const tried = await Promise.allSettled([site.add({ input: big }), site.add({ input: big }), site.counts()]);
          for (const answer of tried.slice(0, 2)) if (answer.status === "fulfilled" && "id" in answer.value) acknowledged.push(answer.value.id);
          expect(tried[2]?.status).toBe("fulfilled");
          const failed = tried.find((answer) => answer.status === "rejected");
          if (failed) return failed.reason as unknown;
        }
      })();
      expect(refused).toBeInstanceOf(StoreUnavailable);
      expect(refused).toMatchObject({ why: "full" });
      await expect(store.ping()).rejects.toMatchObject({ why: "full" });
      for (const id of acknowledged) expect(await site.state(id)).toBe("IN_QUEUE");
      expect(await site.counts()).toMatchObject({ inQueue: acknowledged.length });
      return { endpoint: site.endpoint, kept: acknowledged };
    }, 120);
    await on(path, async (store) => {
      expect(await store.jobs.counts({ endpoint, now: T0 })).toMatchObject({ inQueue: kept.length });
      await store.ping();
      await siteOf(store).add({ input: big });
      const claim = await store.jobs.claim({ endpoint, worker: "w1", limit: 100, maxBytes: 1e9, now: T0 });
      expect(claim.jobs.map(({ job }) => job.id).toSorted()).toEqual(kept.toSorted());
      expect(claim.jobs.every(({ input }) => input === big)).toBe(true);
    });
  });

  it("an operation that fails does not hurt the others of its batch, nor what the thread remembers", () =>
    on(newPath(), async (store) => {
      const site = siteOf(store);
      const { id } = await site.add();
      const wrong = { ...(await site.add()), ttlMs: 0.5 };
      const answers = await Promise.allSettled([site.add(), site.add({ id }), site.add(), site.add({ id: nextId(), ttlMs: wrong.ttlMs }), site.move(wrong.id, "cancel"), site.take({ limit: 1 }), site.take({ limit: 9 })]);
      expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"]);
      expect(await site.counts()).toEqual({ inQueue: 0, inProgress: 3, completed: 0, failed: 0, retried: 0 });
      expect(await site.state(wrong.id)).toBe("CANCELLED");
      expect(await site.state(id)).toBe("IN_PROGRESS");
    }));

  it("a batch that is undone and run again tells each signal once, and forgets no delivery or deadline", () =>
    on(newPath(), async (store) => {
      const site = siteOf(store);
      const { endpoint } = site;
      const { id } = await site.running();
      const reserve = (reader: string) => store.chunks.reserve({ endpoint, id, reader, maxBytes: 9, now: T0 });
      await store.chunks.append({ endpoint, id, worker: "w1", chunks: ["0"], unlessLast: false, now: T0 });
      await reserve("a");
      await Promise.allSettled([store.chunks.deliver({ endpoint, id, reader: "a", delivered: true }), site.add({ id })]);
      expect(await reserve("b")).toMatchObject({ chunks: [] });

      await site.report(id);
      const lapsing = await site.add({ ttlMs: 10_000 });
      const signals: Signal[] = [];
      store.onSignal((signal) => signals.push(signal));
      const [counts] = await Promise.all([site.counts(T0 + 10_000), site.add({ id }).catch(() => undefined)]);
      expect(counts).toMatchObject({ inQueue: 0, failed: 1 });
      await Promise.allSettled([site.move(lapsing.id, "cancel", { now: T0 + 10_000 }), site.add({ id })]);
      expect(signals).toEqual([{ kind: "settled", endpoint, id: lapsing.id, state: "TIMED_OUT" }]);
    }));

  it("D17: a claim runs after the inserts of its batch, and both share one commit", async () => {
    const path = newPath();
    await on(path, async (store) => {
      const site = siteOf(store);
      await site.report((await site.running()).id);
      const wal = (): number => readFileSync(`${path}-wal`).length;
      const before = wal();
      const [claim, ...jobs] = await Promise.all([site.take({ limit: 9 }), site.add(), site.add({ lowPriority: true }), site.add()]);
      const [first, low, second] = jobs.map(({ id }) => id);
      expect(claim.jobs.map(({ job }) => job.id)).toEqual([first, second, low]);
      expect(commitsAfter(readFileSync(`${path}-wal`), before)).toBe(1);
      const { id } = await site.add();
      expect(commitsAfter(readFileSync(`${path}-wal`), before)).toBe(2);
      const [behind, both] = await Promise.all([site.add(), site.takeIds({ limit: 2 })]);
      expect(both).toEqual([id, behind.id]);
      expect(commitsAfter(readFileSync(`${path}-wal`), before)).toBe(3);
    });
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it("a batch of reads writes nothing", () => {
    const path = newPath();
    return on(path, async (store) => {
      const site = siteOf(store);
      const { id } = await site.add();
      const before = readFileSync(`${path}-wal`);
      await Promise.all([site.get(id), site.counts(), site.waiting(), site.attempts(id), store.jobs.running(), store.chunks.reserve({ endpoint: site.endpoint, id, reader: "r", maxBytes: 1, now: T0 })]);
      expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
    });
  });

  it("after close every call is refused as closed", async () => {
    const store = await openSqlite({ path: newPath() });
    const site = siteOf(store);
    const last = site.add();
    await Promise.all([store.close(), store.close()]);
    await expect(last).resolves.toMatchObject({ state: "IN_QUEUE" });
    await expect(site.add()).rejects.toMatchObject({ why: "closed" });
    await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it("a reopened store goes on: order, counts, identity, and reservations are free", async () => {
    const path = newPath();
    const before = await on(path, async (store) => {
      const site = siteOf(store);
      const { id } = await site.running();
      const { endpoint } = site;
      await store.chunks.append({ endpoint, id, worker: "w1", chunks: ["1"], unlessLast: false, now: T0 });
      expect(await store.chunks.reserve({ endpoint, id, reader: "r1", maxBytes: 9, now: T0 })).toMatchObject({ chunks: ["1"] });
      const back = await site.running();
      const later = await site.add();
      await site.move(back.id, "release", { attempt: 1, over: true });
      return { endpoint, id, order: [back.id, later.id], identity: await store.identity() };
    });
    await on(path, async (store) => {
      const { endpoint, id } = before;
      expect(await store.identity()).toBe(before.identity);
      expect(await store.chunks.reserve({ endpoint, id, reader: "r2", maxBytes: 9, now: T0 })).toMatchObject({ chunks: ["1"] });
      const site = siteOf(store);
      const last = await site.add({ endpoint });
      const lost = await store.jobs.move({ endpoint, id, on: "lose", attempt: 1, over: true, now: T0 });
      expect(lost.ok).toBe(true);
      const { jobs } = await store.jobs.claim({ endpoint, worker: "w1", limit: 9, maxBytes: 1e6, now: T0 });
      expect(jobs.map(({ job }) => job.id)).toEqual([id, ...before.order, last.id]);
    });
  });
});

describe("the schema of SQLite", () => {
  it("spells exactly the states of the table", async () => {
    const path = newPath();
    await on(path, (store) => store.ping());
    const table = String(rows(path, "SELECT sql FROM sqlite_schema WHERE name = 'jobs'")[0]?.["sql"]);
    const states = (sql: string): string[] => [...sql.matchAll(/'([A-Z_]+)'/g)].map(([, state]) => state ?? "");
    expect(states(table)).toEqual([...JOB_STATES]);
    const indexes = rows(path, "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%''%'");
    expect(Object.fromEntries(indexes.map(({ name, sql }) => [name, states(String(sql))]))).toEqual({ jobs_waiting: ["IN_QUEUE"], jobs_running: ["IN_PROGRESS"] });
  });
});

/** Commits in a write-ahead log after a number of bytes: frames whose header holds the size of the database. */
function commitsAfter(wal: Buffer, from: number): number {
  const frame = 24 + wal.readUInt32BE(8);
  let commits = 0;
  for (let at = Math.max(32, from); at + 24 <= wal.length; at += frame) if (wal.readUInt32BE(at + 4) > 0) commits += 1;
  return commits;
}
