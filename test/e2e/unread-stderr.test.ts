/** A service whose stderr is not read keeps a bounded part of its lines (D51). */
import { expect, it } from "vitest";
import { folder, spawnService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MIB = 1024 * 1024;
const REQUESTS = 8000;
const AT_ONCE = 20;

it("D51: lines beyond 1 MiB that wait for stderr are dropped and counted, and the service goes on", {
	timeout: 120_000,
}, async ({ onTestFinished }) => {
	const place = folder();
	const service = await spawnService({ in: place, endpoints: {}, args: ["--access-log", "all"] });
	onTestFinished(async () => {
		await service.end("SIGKILL");
		place.remove();
	});
	const { stderr } = service.child;
	stderr!.pause();
	let asked = 0;
	const ask = async (): Promise<void> => {
		// Each line has the id.
		const headers = { "x-request-id": "x".repeat(120) };
		while ((asked += 1) <= REQUESTS) await (await fetch(service.url, { headers })).text();
	};
	await Promise.all(Array.from({ length: AT_ONCE }, ask));
	stderr!.resume();
	const missing = await until(
		"the number of missing lines",
		() => / (\d+) lines of this log are missing/.exec(service.stderr())?.[1],
	);
	expect(service.stderr().length).toBeLessThan(3 * MIB);
	const written = service
		.stderr()
		.split("\n")
		.filter((line) => line.includes("requestId=xxx")).length;
	expect(written + Number(missing)).toBe(REQUESTS);
});
