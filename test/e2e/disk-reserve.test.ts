/** A service on a disk with less free space than its reserve. */
import { expect, it, onTestFinished } from "vitest";
import { call, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

it("D41: with less than the reserve free, /run and /runsync are 503; what was accepted goes on", async () => {
	const service = await startService({
		endpoints: { e: {} },
		settings: { budgets: { reservedDisk: 2 ** 50 } },
	});
	onTestFinished(service.end);
	const run = () => call(service.url, "/v2/e/run", { body: { input: {} } });
	const accepted: string[] = [];
	// The disk is checked once the service has started.
	await until("the first check", async () => {
		const { status, json } = await run();
		if (status === 200) accepted.push(json.id);
		return status === 503;
	});
	const sync = await call(service.url, "/v2/e/runsync", { body: { input: {} } });
	expect(sync).toMatchObject({
		status: 503,
		json: {
			code: "store_unavailable",
			error: expect.stringContaining("1073741824 MiB are reserved for results"),
		},
	});
	for (const id of accepted)
		expect(await call(service.url, `/v2/e/cancel/${id}`, { method: "POST" })).toMatchObject({
			status: 200,
		});
	expect(await call(service.url, "/v2/e/health")).toMatchObject({ status: 200 });
	expect(await call(service.url, "/readyz")).toMatchObject({ status: 200 });
});
