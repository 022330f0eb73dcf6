/**
 * Short runs of `npm run torture`: kill -9 of a server with SQLite, failovers of PostgreSQL to a
 * synchronous standby, both under load (D17, D57, D59).
 */
import { expect, it } from "vitest";
import { ENDPOINTS, QUEUE_SLACK } from "./endpoints.ts";
import { postgresSite, sqliteSite } from "./site.ts";
import { torture } from "./torture.ts";

/** Operations on objects that each run has, as the summary names them. */
const OBJECTS = ["s3 put, ok", "s3 delete, ok", "s3 read", "s3 list", "upload part, ok", "upload complete, ok"];

it("D17, D57, D59: what clients and workers saw breaks no rule while the server is killed", {
	timeout: 300_000,
}, async () => {
	const site = await sqliteSite(ENDPOINTS);
	try {
		const { violations, acknowledged, closed, seconds, faults, batches, operationsByKind } = await torture({
			site,
			operators: 2,
			files: 2,
			objects: 4,
			batches: 4,
			responses: 4,
			seed: 1,
			ms: 8000,
			scale: 0.2,
			pauses: [500, 2500],
		});
		process.stdout.write(`${acknowledged} jobs in ${seconds} s, ${JSON.stringify(faults)}, ${closed} closed\n`);
		process.stdout.write(`batches: ${JSON.stringify(batches)}\n`);
		for (const each of violations) process.stdout.write(`${JSON.stringify(each)}\n`);
		expect(violations).toEqual([]);
		expect(closed).toBeGreaterThanOrEqual(acknowledged);
		for (const kind of OBJECTS) expect(operationsByKind[kind], kind).toBeGreaterThan(0);
		expect(Object.values(batches).reduce((a, b) => a + b, 0)).toBeGreaterThanOrEqual(4);
		expect(Object.keys(faults)).toEqual(["kill -9 of the server"]);
	} finally {
		await site.end();
	}
});

it("D17, D57, D59: what clients and workers saw breaks no rule while a synchronous standby is promoted", {
	timeout: 300_000,
}, async () => {
	const site = await postgresSite(ENDPOINTS, 2, { failovers: 1 });
	try {
		const { violations, acknowledged, closed, seconds, faults, batches, operationsByKind } = await torture({
			site,
			operators: 2,
			files: 2,
			objects: 4,
			batches: 4,
			responses: 4,
			seed: 2,
			ms: 4000,
			scale: 0.2,
			names: ["bulk", "stream", "queue"],
			pauses: [500, 1000],
			shared: { queueSlack: QUEUE_SLACK },
		});
		process.stdout.write(`${acknowledged} jobs in ${seconds} s, ${JSON.stringify(faults)}, ${closed} closed\n`);
		process.stdout.write(`batches: ${JSON.stringify(batches)}\n`);
		for (const each of violations) process.stdout.write(`${JSON.stringify(each)}\n`);
		expect(violations).toEqual([]);
		expect(closed).toBeGreaterThanOrEqual(acknowledged);
		for (const kind of OBJECTS) expect(operationsByKind[kind], kind).toBeGreaterThan(0);
		expect(Object.values(batches).reduce((a, b) => a + b, 0)).toBeGreaterThanOrEqual(4);
		expect(Object.keys(faults).every((what) => what.startsWith("failover"))).toBe(true);
		// One of them under load, and one after it.
		expect(Object.values(faults).reduce((a, b) => a + b)).toBeGreaterThan(1);
	} finally {
		await site.end();
	}
});
