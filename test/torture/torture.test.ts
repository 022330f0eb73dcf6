/** A short run of `npm run torture`: kill -9 of a server with SQLite under load (D17). */
import { expect, it } from "vitest";
import { sqliteSite } from "./site.ts";
import { ENDPOINTS, torture } from "./torture.ts";

it("D17: what clients and workers saw breaks no rule while the server is killed", {
	timeout: 300_000,
}, async () => {
	const site = await sqliteSite(ENDPOINTS);
	try {
		const { violations, acknowledged, closed, seconds, faults } = await torture({
			site,
			seed: 1,
			ms: 8000,
			scale: 0.2,
			pauses: [500, 2500],
		});
		process.stdout.write(
			`${acknowledged} jobs in ${seconds} s, ${JSON.stringify(faults)}, ${closed} closed\n`,
		);
		expect(violations).toEqual([]);
		expect(closed).toBeGreaterThanOrEqual(acknowledged);
		expect(Object.keys(faults)).toEqual(["kill -9 of the server"]);
	} finally {
		await site.end();
	}
});
