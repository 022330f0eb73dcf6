/**
 * A server's connections: one for job transactions (`batch.ts`), one for slow work, several for reads. A slow list or
 * purge delays no submission.
 */
import type { Client, ClientConfig } from "pg";
import type { Clock } from "../../../system/clock.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { faultOf, losesConnection } from "./errors.ts";
import { openConnectionHealth } from "./connection-health.ts";
import type { Answer, Parameter, Runner, Statement } from "./statement.ts";
import { transaction, type Work } from "./transaction.ts";

const READERS = 3;

export interface DatabaseOptions {
	/** `postgres://user:password@host:port/database?sslmode=…` */
	url: string;
	clock: Clock;
}

/** Each writing connection has its own slot of `queue_counts`, held by an advisory lock. */
const SLOT_LOCKS = 0x534c_0004;
const SLOTS = 128;

async function slotOf(client: Client): Promise<number> {
	const { rows } = await client.query<{ slot: number }>(
		`SELECT slot FROM generate_series(0, ${SLOTS - 1}) AS slot
			WHERE pg_try_advisory_lock(${SLOT_LOCKS}, slot) LIMIT 1`,
	);
	return rows[0]?.slot ?? SLOTS;
}

export type Database = ReturnType<typeof openDatabase>;

/** Returns the driver's configuration for an address. `name`: the database as messages name it, without secrets. */
export function addressOf(url: string): { config: ClientConfig; name: string } {
	const { host, pathname } = new URL(url);
	return {
		config: { connectionString: url, application_name: "sluice" },
		name: `${host || "localhost"}${pathname}`,
	};
}

export function openDatabase({ url, clock }: DatabaseOptions) {
	const { config, name } = addressOf(url);
	const reach = openConnectionHealth(clock);
	const slots = { hot: 0, slow: 0 };
	const another = (more: Pick<ConnectionOptions, "onConnect"> = {}): Connection =>
		new Connection({ config, name, clock, reach, ...more });
	const make = (use: keyof typeof slots): Connection =>
		another({ onConnect: async (client) => void (slots[use] = await slotOf(client)) });
	const hot = make("hot");
	const slow = make("slow");
	const readers = Array.from({ length: READERS }, () => another());
	/** Slow transactions run one at a time. */
	let last: Promise<unknown> = Promise.resolve();

	function leastBusy(): Connection {
		return readers.reduce((least, each) => (each.pending < least.pending ? each : least));
	}

	async function guarded<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			throw faultOf(error, name);
		}
	}

	return {
		name,
		hot,
		get hotSlot(): number {
			return slots.hot;
		},
		get slowSlot(): number {
			return slots.slow;
		},

		/** Runs reads, again if the connection is lost. */
		read: {
			run: (asked: Statement, values?: readonly Parameter[]): Promise<Answer> =>
				guarded(async () => {
					try {
						return await leastBusy().run(asked, values);
					} catch (error) {
						if (!losesConnection(error)) throw error;
						return await leastBusy().run(asked, values);
					}
				}),
		} satisfies Runner,

		write<T>(work: Work<T>): Promise<T> {
			const mine = last.then(() => guarded(() => transaction({ connection: slow, clock }, work)));
			last = mine.catch(() => {});
			return mine;
		},

		another,

		/** Opens the connections. Throws `StoreUnavailable` when the database is unreachable. */
		async open(): Promise<void> {
			await Promise.all([hot, slow, ...readers].map((each) => each.open()));
		},

		/** Returns the number of statements without an answer. */
		pending: () => ({
			jobs: hot.pending,
			slow: slow.pending,
			reads: readers.reduce((sum, each) => sum + each.pending, 0),
		}),

		silent: reach.silent,

		waiting: reach.waiting,

		async close(): Promise<void> {
			await last;
			await Promise.all([hot, slow, ...readers].map((each) => each.close()));
		},
	};
}
