/**
 * Runs a transaction on a unit of work: changes are written at its end, signals are sent after its
 * commit.
 */
import type { Signal } from "../../contract/store.ts";
import { openUnitOfWork, type ServerMemory, type UnitOfWork } from "./unit-of-work.ts";
import type { Runner } from "../connection/statement.ts";
import type { Work } from "../connection/transaction.ts";

/** Where signals go: to this server's listeners, and to other servers. */
export interface Hints {
	own(signals: readonly Signal[]): void;
	others(signals: readonly Signal[]): void;
}

/** `transact`: like `transaction`; `slot`: count slot of its connection. */
interface PartsOptions<T> {
	transact: (work: Work<T>) => Promise<T>;
	slot: () => number;
	server: ServerMemory;
	hints: Hints;
}

/** Runs `work`, possibly several times, each time with a new unit. Throws as `transact` does. */
export async function runUnitOfWork<T>(
	{ transact, slot, server, hints }: PartsOptions<T>,
	work: (parts: UnitOfWork, runner: Runner) => Promise<T>,
): Promise<T> {
	let parts: UnitOfWork | undefined;
	try {
		const result = await transact(async (runner, ending) => {
			parts?.undo();
			parts = openUnitOfWork({ run: runner.run, server, slot: slot() });
			const done = await work(parts, runner);
			ending.writes(parts.flush());
			return done;
		});
		if (parts) {
			hints.own(parts.signals.own);
			hints.others(parts.signals.others);
		}
		return result;
	} catch (error) {
		parts?.undo();
		throw error;
	}
}
