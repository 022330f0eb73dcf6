/**
 * A server's connections to PostgreSQL: one for job transactions (`batch.ts`), one for slow work,
 * several for reads; so a slow list or purge delays no submission.
 */
import type { Client, ClientConfig } from "pg";
import type { Clock } from "../../../clock.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";
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

/**
 * Each writing connection has its own slot of `queue_counts`. First key of the slots' advisory
 * locks, and the number of slots.
 */
const SLOT_LOCKS = 0x534c_0004;
const SLOTS = 128;

/** Takes the lowest free slot, held until the connection ends. */
async function slotOf(client: Client): Promise<number> {
	const { rows } = await client.query<{ slot: number }>(
		`SELECT slot FROM generate_series(0, ${SLOTS - 1}) AS slot
			WHERE pg_try_advisory_lock(${SLOT_LOCKS}, slot) LIMIT 1`,
	);
	return rows[0]?.slot ?? SLOTS;
}

export type Database = ReturnType<typeof openDatabase>;

/** Driver settings of an address, and a name without secrets for messages. */
export function addressOf(url: string): { config: ClientConfig; name: string } {
	const { host, pathname } = new URL(url);
	return {
		config: { connectionString: url, application_name: "sluice" },
		name: `${host || "localhost"}${pathname}`,
	};
}

/** Connects when first needed, or by `open`. */
export function openDatabase({ url, clock }: DatabaseOptions) {
	const { config, name } = addressOf(url);
	const reach = openConnectionHealth(clock);
	const slots = { hot: 0, slow: 0 };
	const another = (more: Pick<ConnectionOptions, "onConnect"> = {}): Connection =>
		openConnection({ config, name, clock, reach, ...more });
	const make = (use: keyof typeof slots): Connection =>
		another({ onConnect: async (client) => void (slots[use] = await slotOf(client)) });
	const hot = make("hot");
	const slow = make("slow");
	const readers = Array.from({ length: READERS }, () => another());
	/** The last slow transaction; they run one at a time. */
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
		/** Connection for job transactions. */
		hot,
		/** Count slots of the two writing connections. */
		get hotSlot(): number {
			return slots.hot;
		},
		get slowSlot(): number {
			return slots.slow;
		},

		/** Reads only: retried when the connection is lost. */
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

		/** A {@link transaction} that may be slow; they run one at a time. */
		write<T>(work: Work<T>): Promise<T> {
			const mine = last.then(() => guarded(() => transaction({ connection: slow, clock }, work)));
			last = mine.catch(() => {});
			return mine;
		},

		/** Another connection that shares the connection health. */
		another,

		/** Opens all connections. Throws `StoreUnavailable` when the database is unreachable. */
		async open(): Promise<void> {
			await Promise.all([hot, slow, ...readers].map((each) => each.open()));
		},

		/** Drops all connections: the database does not answer. */
		silent: reach.silent,

		/** Connections that have owed an answer for longer than `ms`. */
		waiting: reach.waiting,

		async close(): Promise<void> {
			await last;
			await Promise.all([hot, slow, ...readers].map((each) => each.close()));
		},
	};
}
