/** What one no-op `/runsync` costs on PostgreSQL. */
import { it, onTestFinished } from "vitest";
import { storeDatabase } from "../support/postgres-stores.ts";
import { expectHeld } from "./held.ts";

it("a job passes only files of its budget, with every module off and at a start with nothing configured", {
	timeout: 180_000,
}, async () => {
	await expectHeld("postgres", async () => {
		const { url, giveBack } = await storeDatabase();
		onTestFinished(giveBack);
		return url;
	});
});
