/** Runs a batch of operations in one transaction, and each alone when one of them fails, so that only the culprit does. */
import { unavailable } from "./database.ts";
import { openChunks } from "./chunks.ts";
import { openEndpoints } from "./endpoints.ts";
import { openJobs } from "./jobs.ts";
import { openKeys, openTokens } from "./keys.ts";
import { openMeta } from "./meta.ts";
import { openMetrics } from "./metrics.ts";
import { OP_NAMES, OPS } from "../operations.ts";
import type { Failure, Reply } from "./messages.ts";
import type { Group, GroupHandlers, Kind, OpName } from "../operations.ts";
import type { Parts } from "./parts.ts";
import { CODECS } from "./wire.ts";
import { openWebhooks } from "./webhooks.ts";
import { openWorkers } from "./workers.ts";

type Handler = (q: unknown) => unknown;

/** One operation of a batch, ready to run. */
interface Op {
  index: number;
  kind: Kind;
  run: () => unknown;
}

/** The handlers by number, from the files of each noun. */
function handlersOf(parts: Parts): Handler[] {
  const groups: { [G in Group]: GroupHandlers<G> } = {
    jobs: openJobs(parts),
    chunks: openChunks(parts),
    endpoints: openEndpoints(parts),
    workers: openWorkers(parts),
    tokens: openTokens(parts),
    keys: openKeys(parts),
    webhooks: openWebhooks(parts),
    metrics: openMetrics(parts),
  };
  const all: Record<string, Record<string, unknown>> = groups;
  const meta: Record<string, unknown> = openMeta(parts);
  return OP_NAMES.map((name: OpName) => {
    const [group = "", method] = name.split(".");
    return (method === undefined ? meta[name] : all[group]?.[method]) as Handler;
  });
}

/** Answers batches; `batch` is number and packed query of each operation in turn. */
export function openBatches(parts: Parts): (batch: readonly unknown[]) => Reply {
  const handlers = handlersOf(parts);
  const kinds = OP_NAMES.map((name) => OPS[name]);

  function failureOf(index: number, error: unknown): Failure {
    const fault = unavailable(error, parts.db.path);
    return { index, why: fault?.why, message: (fault ?? (error as Error)).message };
  }

  return (batch) => {
    const answers: unknown[] = [];
    const failures: Failure[] = [];
    const first: Op[] = [];
    const claims: Op[] = [];
    let writes = false;
    for (let at = 0; at < batch.length; at += 2) {
      const index = at / 2;
      const number = batch[at] as number;
      const codec = CODECS[number];
      const handler = handlers[number];
      const kind = kinds[number];
      if (!codec || !handler || !kind) throw new Error(`There is no store operation ${number}.`);
      const q = codec.unpack(batch[at + 1]);
      const op: Op = { index, kind, run: () => (answers[index] = codec.packAnswer(handler(q))) };
      answers.push(undefined);
      (kind === "claim" ? claims : first).push(op);
      if (kind === "write" || kind === "claim") writes = true;
      else if (kind === "fresh") writes ||= parts.horizon.reached((q as { now: number }).now);
    }
    const ops = claims.length > 0 ? [...first, ...claims] : first;

    function runAlone({ index, kind, run }: Op): void {
      try {
        if (kind === "write" || kind === "claim") parts.transaction(run);
        else run();
      } catch (error) {
        answers[index] = undefined;
        failures.push(failureOf(index, error));
      }
    }

    if (!writes) ops.forEach(runAlone);
    else {
      try {
        parts.transaction(() => {
          for (const op of ops) op.run();
        });
      } catch (error) {
        const [only] = ops;
        if (ops.length === 1 && only && only.kind !== "fresh") failures.push(failureOf(only.index, error));
        else ops.forEach(runAlone);
      }
    }
    return { answers, failures, signals: parts.takeSignals() };
  };
}
