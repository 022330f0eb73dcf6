/** One transaction on a connection: all of it or nothing, run again when another one was in its way or its connection was lost. */
import type { Clock } from "../../clock.ts";
import type { Connection } from "./connection.ts";
import { isContended, losesConnection } from "./faults.ts";
import type { Runner } from "./statement.ts";
import { statement } from "./statement.ts";

/** Times that a transaction is run before its contention is told. */
const TRIES = 5;

/** A caller is told within 2 s that the database is away: after so long nothing is tried again, ms. */
const PATIENCE_MS = 1900;

/** Pause between two questions after a transaction whose end is still open, ms. */
const PAUSE_MS = 50;

const BEGIN = statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const COMMIT = statement("COMMIT");
const ROLLBACK = statement("ROLLBACK");
const NAME = statement("SELECT pg_current_xact_id_if_assigned()::text");
const STATUS = statement("SELECT pg_xact_status($1::text::xid8)");

/**
 * Runs `work` in a transaction of its own. `work` may be run several times, and must await all that it asks. When the connection breaks
 * while the end is under way, the database is asked what became of it: the answer is never a guess.
 */
export async function transaction<T>({ connection, clock }: { connection: Pick<Connection, "session">; clock: Clock }, work: (run: Runner) => Promise<T>): Promise<T> {
  const until = clock.now() + PATIENCE_MS;
  const left = (): number => until - clock.now();

  /** Whether a transaction whose end got no answer was committed. */
  async function committed(name: string): Promise<boolean> {
    for (;;) {
      const session = await connection.session(left());
      const status = (await session.run(STATUS, [name])).rows[0]?.[0];
      if (status === "committed") return true;
      if (status !== "in progress") return false;
      await clock.sleep(PAUSE_MS);
    }
  }

  for (let tried = 1; ; tried += 1) {
    const session = await connection.session(left());
    let ending: string | undefined;
    let result: { value: T } | undefined;
    try {
      // Not awaited alone: it leaves with the first statement of the work.
      const begun = session.run(BEGIN);
      begun.catch(() => {});
      result = { value: await work(session) };
      const named = session.run(NAME).then(({ rows }) => (ending = (rows[0]?.[0] as string | null) ?? undefined));
      const [, , end] = await Promise.all([begun, named, session.run(COMMIT)]);
      if (end.command === "ROLLBACK") throw new Error("The transaction was undone by an earlier failure in it.");
      return result.value;
    } catch (error) {
      const lost = losesConnection(error);
      if (!lost) await session.run(ROLLBACK).catch(() => {});
      if (lost && result && ending !== undefined && (await ends(error, () => committed(ending!)))) return result.value;
      const again = (lost || isContended(error)) && tried < TRIES && left() > 0;
      if (!again) throw error;
    }
  }
}

/** The answer of `ask`; when it cannot be had, the first fault is what the caller is told. */
async function ends(first: unknown, ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch {
    throw first;
  }
}
