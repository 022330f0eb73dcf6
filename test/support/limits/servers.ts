/** Servers that admit requests together, over one PostgreSQL of the test file that imports this. */
import { afterAll, afterEach, beforeAll } from "vitest";
import type { ManualClock } from "../manual-clock.ts";
import { type PostgresServer, startPostgres } from "../postgres-server.ts";
import { type Clock, systemClock } from "../../../src/clock.ts";
import { eventBus } from "../../../src/events.ts";
import { type Connection, openConnection } from "../../../src/store/postgres/connection/connection.ts";
import { addressOf } from "../../../src/store/postgres/connection/database.ts";
import { openLimits } from "../../../src/store/postgres/limits.ts";
import { timeoutRunner } from "../../../src/store/postgres/connection/timeouts.ts";
import { prepareSchema } from "../../../src/store/postgres/schema.ts";
import type { LimitStore } from "../../../src/store/contract/limits.ts";
import type { Admission, AdmissionRequest } from "../../../src/engine/limits/admission.ts";
import { sharedAdmission } from "../../../src/engine/limits/shared-admission.ts";

export let postgres: PostgresServer;
export let url: string;
export let connections: Connection[] = [];
let serversMade = 0;

beforeAll(async () => {
	postgres = await startPostgres();
	({ url } = await postgres.createDatabase());
	await prepareSchema({ url });
});

afterEach(async () => {
	for (const connection of connections) await connection.close();
	connections = [];
});

afterAll(() => postgres.remove());

/** The manual clock, but real time for short pauses, in which servers exchange what they counted. */
function halfManual(clock: ManualClock): Clock {
	return {
		now: () => clock.now(),
		wall: () => clock.wall(),
		sleep: (ms, signal) => (ms < 100 ? systemClock : clock).sleep(ms, signal),
	};
}

export type Server = ReturnType<typeof sharedAdmission> & {
	/** Calls of the store so far. */
	asked(): number;
	faults: string[];
	/** Resolves when no call of the store is in progress. */
	quiet(): Promise<void>;
};

/** A server with a connection of its own. */
export function server(given: Clock | ManualClock): Server {
	const clock = "advance" in given ? halfManual(given) : given;
	const connection = openConnection({ ...addressOf(url), clock: systemClock });
	connections.push(connection);
	const store = openLimits({
		run: timeoutRunner({ connection, name: "test", clock: systemClock, silentMs: 2000 }),
	});
	let asked = 0;
	let under = 0;
	const events = eventBus();
	const faults: string[] = [];
	events.on("fault", ({ where, error }) => faults.push(`${where}: ${(error as Error).message}`));
	const limits: LimitStore = {
		async take(q) {
			asked += 1;
			under += 1;
			try {
				return await store.take(q);
			} finally {
				under -= 1;
			}
		},
		forget: (q) => store.forget(q),
	};
	serversMade += 1;
	const together = sharedAdmission({
		limits,
		server: `server-${serversMade}`,
		clock,
		now: () => clock.now() as number,
		events,
	});
	return Object.assign(together, {
		faults,
		asked: () => asked,
		async quiet() {
			for (let still = 0; still < 3; still = under === 0 ? still + 1 : 0)
				await new Promise((resolve) => setImmediate(resolve));
		},
	});
}

let endpoints = 0;

/** A request to an endpoint of its own. */
export function to(
	limits: AdmissionRequest["endpoint"]["limits"],
	operation: AdmissionRequest["operation"] = "run",
): AdmissionRequest {
	endpoints += 1;
	return { endpoint: { id: `endpoint-${endpoints}`, limits }, operation };
}

/** What an answer contains, its release only as whether there is one. */
export const viewOf = (answer: Admission | undefined) =>
	answer && {
		quota: answer.quota,
		refusal: answer.refusal?.code,
		retryAfter: answer.refusal?.retryAfter,
		held: answer.release !== undefined,
	};
