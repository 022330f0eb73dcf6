/**
 * The PostgreSQL that all test files of a run share: a real server, and a database of its own for
 * each that asks.
 */
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { databasesAt, type PostgresDatabases } from "./postgres-databases.ts";
import type { PostgresAnswer } from "./postgres-run.ts";

let shared: Promise<PostgresDatabases> | undefined;

/**
 * Starts it (about 1 s) when no file of the run has done so. A test that stops or restarts a
 * server takes one of its own: `startPostgres`.
 */
export function postgres(): Promise<PostgresDatabases> {
	return (shared ??= ask());
}

async function ask(): Promise<PostgresDatabases> {
	const answer = JSON.parse(await text(connect(inject("postgresDoor"), "127.0.0.1"))) as PostgresAnswer;
	if ("error" in answer) throw new Error(answer.error);
	return databasesAt(answer);
}
