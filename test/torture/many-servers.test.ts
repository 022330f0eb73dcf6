/**
 * A short run of `npm run torture -- --store postgres --partitions --stops --no-kills`: two servers
 * that are cut off from the database and stopped, with workers that are stopped (D16, D17, D28, D57, D59).
 */
import { expect, it } from "vitest";
import { ENDPOINTS, QUEUE_SLACK } from "./endpoints.ts";
import { postgresSite } from "./site.ts";
import { torture } from "./torture.ts";

it("D16, D17, D28, D57, D59: what clients and workers saw breaks no rule through partitions and stops", {
	timeout: 300_000,
}, async () => {
	const lengths = [1500, 3000] as const;
	const site = await postgresSite(ENDPOINTS, 2, {
		kills: false,
		partitions: true,
		stops: true,
		partitionMs: lengths,
		stopMs: lengths,
	});
	try {
		const { violations, acknowledged, closed, seconds, faults, batches } = await torture({
			site,
			operators: 2,
			files: 2,
			objects: 3,
			batches: 3,
			responses: 3,
			seed: 3,
			ms: 7000,
			scale: 0.1,
			names: ["bulk", "stream", "purge"],
			pauses: [300, 800],
			workerStops: true,
			shared: { queueSlack: QUEUE_SLACK },
		});
		process.stdout.write(`${acknowledged} jobs in ${seconds} s, ${JSON.stringify(faults)}, ${closed} closed\n`);
		process.stdout.write(`batches: ${JSON.stringify(batches)}\n`);
		expect(violations).toEqual([]);
		expect(closed).toBeGreaterThanOrEqual(acknowledged);
		expect(Object.values(batches).reduce((a, b) => a + b, 0)).toBeGreaterThanOrEqual(3);
		const kinds = Object.keys(faults).map((what) => what.split(" ")[0]);
		expect(new Set(kinds)).toEqual(new Set(["partition", "SIGSTOP"]));
	} finally {
		await site.end();
	}
});
