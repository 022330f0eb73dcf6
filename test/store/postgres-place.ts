/** A database with the schema of a store, and connections to it as one server has them. */
import type { TestContext } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { openDatabase } from "../../src/store/postgres/connection/database.ts";
import type { Database } from "../../src/store/postgres/connection/database.ts";
import { prepareSchema } from "../../src/store/postgres/schema.ts";
import type { Signal } from "../../src/store/contract/store.ts";
import { postgres } from "../support/postgres.ts";

/** What a test of one noun is given. */
export interface Place {
	url: string;
	database: Database;
	/** Connections of another server. */
	another(): Database;
	/** What other servers were told, and what listeners of this one were. */
	others: Signal[];
	own: Signal[];
	tellOthers: (told: Signal) => void;
	signal: (told: Signal) => void;
}

/** Ends with the test. */
export async function place({
	onTestFinished,
}: Pick<TestContext, "onTestFinished">): Promise<Place> {
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
		tellOthers: (told) => void others.push(told),
		signal: (told) => void own.push(told),
	};
}
