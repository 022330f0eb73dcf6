/** What shares a transaction: a batch, and those that arrive while it is worked on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { OP_NAMES } from "../operations.ts";
import type { OpName } from "../operations.ts";
import { openBatches } from "./batch.ts";
import { openDatabase } from "./database.ts";
import type { Database } from "./database.ts";
import type { Reply } from "./messages.ts";
import { openParts } from "./parts.ts";
import { prepareSchema } from "./schema.ts";
import { CODECS } from "./wire.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

const folder = mkdtempSync(join(tmpdir(), "sluice-batch-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

/** Answers the first batch and those that are there after it; `commits` counts. */
async function site(): Promise<{ answer(...batches: unknown[][]): Reply; left(): number; commits(): number; end(): void }> {
  const file = openDatabase({ path: join(folder, `${(files += 1)}.db`) });
  await prepareSchema(file);
  let commits = 0;
  const db: Database = {
    ...file,
    get inTransaction() {
      return file.inTransaction;
    },
    prepare(sql) {
      const statement = file.prepare(sql);
      if (sql !== "COMMIT") return statement;
      return { get: (...values) => statement.get(...values), all: (...values) => statement.all(...values), iterate: (...values) => statement.iterate(...values), run: (...values) => ((commits += 1), statement.run(...values)) };
    },
  };
  const batch = openBatches(openParts(db));
  commits = 0;
  let waiting: unknown[][] = [];
  return {
    answer(first, ...others) {
      waiting = others;
      return batch(first!, () => waiting.shift());
    },
    left: () => waiting.length,
    commits: () => commits,
    end: () => file.close(),
  };
}

const op = (name: OpName, q: object): unknown[] => {
  const number = OP_NAMES.indexOf(name);
  return [number, CODECS[number]?.pack({ endpoint: "e", now: NOW, ...q })];
};
const insert = (id: string): unknown[] =>
  op("jobs.insert", { submission: { id, endpoint: "e", operation: "run", lowPriority: false, ttlMs: MINUTE, executionTimeoutMs: MINUTE, leaseMs: 20_000, retainMs: MINUTE, recordMs: MINUTE }, input: "{}" });
const claim = (limit: number): unknown[] => op("jobs.claim", { worker: "w", limit, maxBytes: 1e6 });
const get = (id: string): unknown[] => op("jobs.get", { id });

/** The ids that the answer to a claim holds. */
function claimed(packed: unknown): string[] {
  const number = OP_NAMES.indexOf("jobs.claim");
  const { jobs } = CODECS[number]!.unpackAnswer(packed, {}) as { jobs: { job: { id: string } }[] };
  return jobs.map(({ job }) => job.id);
}

it("D17: what arrives while a batch is worked on shares its commit, and claims run after all of it", async ({ onTestFinished }) => {
  const s = await site();
  onTestFinished(s.end);
  const reply = s.answer([...insert("a"), ...claim(9)], insert("b"), [...get("b"), ...insert("c")]);
  expect(reply).toMatchObject({ batches: 3, failures: [] });
  expect(s.commits()).toBe(1);
  expect(claimed(reply.answers[1])).toEqual(["a", "b", "c"]);
  expect(reply.answers[3]).toMatchObject([expect.arrayContaining(["b"]), undefined, undefined]);
});

it("a batch that only reads makes no commit, before others or by itself", async ({ onTestFinished }) => {
  const s = await site();
  onTestFinished(s.end);
  expect(s.answer(get("a"), get("b"))).toMatchObject({ batches: 2, answers: [undefined, undefined] });
  expect(s.commits()).toBe(0);
  expect(s.answer(get("a"), insert("a"), get("a"))).toMatchObject({ batches: 3, failures: [] });
  expect(s.commits()).toBe(1);
});

it("an operation that fails hurts no other, whichever batch it came in", async ({ onTestFinished }) => {
  for (const at of [0, 1, 2]) {
    const s = await site();
    onTestFinished(s.end);
    s.answer(insert("taken"));
    const batches = [insert("a"), insert("b"), [...claim(9), ...insert("c")]];
    // Its id is used: the statement that inserts it fails, and with it the transaction.
    batches[at] = [...batches[at]!, ...insert("taken")];
    const { answers, failures } = s.answer(...batches);
    const place = [1, 2, 4][at]!;
    expect(failures).toEqual([{ index: place, why: undefined, message: expect.stringContaining("UNIQUE") }]);
    expect(answers[place]).toBeUndefined();
    expect(claimed(answers[at === 2 ? 2 : 3])).toEqual(["taken", "a", "b", "c"]);
    const [, , found] = s.answer([...get("a"), ...get("b"), ...get("c")]).answers as [unknown, unknown, [unknown[]]];
    expect(found[0]).toContain("IN_PROGRESS");
  }
});

it("a transaction ends: what comes without end waits for the next one", async ({ onTestFinished }) => {
  const s = await site();
  onTestFinished(s.end);
  const batches = Array.from({ length: 400 }, (_, n) => insert(`job-${n}`));
  expect(s.answer(...batches).batches).toBe(256);
  expect(s.left()).toBe(400 - 256);
});

it("a transaction of more new jobs than are kept in memory finds and claims each of them", async ({ onTestFinished }) => {
  const s = await site();
  onTestFinished(s.end);
  const ids = Array.from({ length: 3000 }, (_, n) => `job-${n}`);
  const { answers, failures } = s.answer([...ids.flatMap(insert), ...ids.flatMap(get), ...claim(5000)]);
  expect(failures).toEqual([]);
  expect(answers.slice(ids.length, 2 * ids.length).map((found) => (found as [unknown[]] | undefined)?.[0][0])).toEqual(ids);
  expect(claimed(answers.at(-1))).toEqual(ids);
  expect(s.commits()).toBe(1);
});
