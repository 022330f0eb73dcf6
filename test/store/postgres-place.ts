/** A database with the schema of a store, and connections to it as one server has them. */
import type { TestContext } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { type Database, openDatabase } from "../../src/kernel/store/postgres/connection/database.ts";
import type { Operation, OpName } from "../../src/kernel/store/operations/operation.ts";
import { OPERATIONS, storeOf } from "../../src/kernel/store/operations/table.ts";
import { prepareSchema } from "../../src/kernel/store/postgres/schema.ts";
import { type TableContext, tableMethod } from "../../src/kernel/store/postgres/tables.ts";
import { openWebhooks } from "../../src/kernel/store/postgres/queries/webhooks.ts";
import type { Signal } from "../../src/kernel/store/contract/store.ts";
import type { WebhookStore } from "../../src/kernel/store/contract/webhooks.ts";
import { postgres } from "../support/postgres.ts";

/** What a test of one noun is given. */
export interface Place {
	url: string;
	database: Database;
	/** Connections of another server. */
	another(): Database;
	/** Signals sent to other servers, and to listeners of this one. */
	others: Signal[];
	own: Signal[];
	notifyOthers: (sent: Signal) => void;
	signal: (sent: Signal) => void;
}

/** Ends with the test. */
export async function place({ onTestFinished }: Pick<TestContext, "onTestFinished">): Promise<Place> {
	const { url } = await (await postgres()).createDatabase();
	await prepareSchema({ url });
	const another = (): Database => {
		const database = openDatabase({ url, clock: systemClock });
		onTestFinished(() => database.close());
		return database;
	};
	const others: Signal[] = [];
	const own: Signal[] = [];
	return {
		url,
		database: another(),
		another,
		others,
		own,
		notifyOthers: (sent) => void others.push(sent),
		signal: (sent) => void own.push(sent),
	};
}

/** The operations on small tables alone; any other rejects. */
export function tablesAt(context: TableContext): ReturnType<typeof storeOf> {
	return storeOf((name) => {
		const operation = OPERATIONS[name] as Operation<OpName>;
		return operation.work
			? tableMethod(operation, context)
			: () => Promise.reject(new Error(`${name} needs a whole store.`));
	});
}

/** All operations on webhook deliveries. */
export function webhooksAt(context: TableContext): WebhookStore {
	return { ...tablesAt(context).webhooks, ...openWebhooks(context) };
}
