/** Everything the operations of the database thread work on, built once after the schema is ready. */
import type { Signal } from "../store.ts";
import { openAttempts } from "./attempts.ts";
import { openChunkRows } from "./chunk-rows.ts";
import type { Database } from "./database.ts";
import { openDue, openHorizon } from "./due.ts";
import { openFence } from "./fence.ts";
import { openMoves } from "./moves.ts";
import { openQueues } from "./queues.ts";
import { openRecords } from "./records.ts";
import { openTexts } from "./texts.ts";

export type Parts = ReturnType<typeof openParts>;

export function openParts(db: Database) {
  let signals: Signal[] = [];
  let undo: (() => void)[] = [];

  const horizon = openHorizon();
  const queues = openQueues(db);
  const fence = openFence();
  const records = openRecords({ db, queues, noted: (dueAt) => horizon.note(dueAt) });
  const attempts = openAttempts({ db, ended: (worker) => fence.forget(worker) });
  const texts = openTexts(db);
  const chunks = openChunkRows({ db, onRollback: (restore) => undo.push(restore) });
  const moves = openMoves({ queues, records, attempts, texts, chunks, signal: (signal) => signals.push(signal) });
  const due = openDue({ db, records, moves, horizon });

  return {
    db, horizon, queues, fence, records, attempts, texts, chunks, moves, due,

    /** Runs `work` in one transaction. When it throws, the memory is as before as well, and the signals are dropped. */
    transaction<T>(work: () => T): T {
      const before = signals.length;
      undo = [];
      db.exec("BEGIN IMMEDIATE");
      try {
        due.begin();
        const result = work();
        records.flush();
        queues.flush();
        db.exec("COMMIT");
        return result;
      } catch (error) {
        if (db.inTransaction) db.exec("ROLLBACK");
        signals.length = before;
        for (const restore of undo.toReversed()) restore();
        horizon.set(Number.NEGATIVE_INFINITY);
        fence.reset();
        queues.reload();
        records.reload();
        throw error;
      }
    },

    /** The signals since the last call. */
    takeSignals(): Signal[] {
      if (signals.length === 0) return signals;
      const taken = signals;
      signals = [];
      return taken;
    },
  };
}
