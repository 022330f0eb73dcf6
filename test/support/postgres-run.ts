/**
 * Owns the one PostgreSQL of a test run, in vitest's main process: it starts when a test file first
 * asks for it, and goes with the run.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

declare module "vitest" {
	interface ProvidedContext {
		/**
		 * Port on 127.0.0.1: a client that connects gets how the run's PostgreSQL is reached, in JSON
		 * ({@link PostgresAnswer}).
		 */
		postgresDoor: number;
	}
}

/** What the door says. */
export type PostgresAnswer = PostgresServer["access"] | { error: string };

/** The global setup; what it returns is called at the end of the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	let server: Promise<PostgresServer> | undefined;
	const door = createServer((socket) => {
		server ??= startPostgres();
		const say = (answer: PostgresAnswer): unknown => socket.end(JSON.stringify(answer));
		socket.on("error", () => {});
		server.then(
			({ access }) => say(access),
			(error: Error) => say({ error: error.message }),
		);
	});
	await once(door.listen(0, "127.0.0.1"), "listening");
	project.provide("postgresDoor", (door.address() as AddressInfo).port);
	return async () => {
		door.close();
		await server?.then(
			(started) => started.remove(),
			() => {},
		);
	};
}
