/** Section 8 across starts: rates hold after a restart, also after one by SIGKILL (D24). */
import { cpSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith } from "../hand-worker.ts";

const endpoints = { ep: { limits: { status: { per10s: 30, concurrent: "off" } } } };

function temporary(): Folder {
	const place = folder();
	onTestFinished(() => place.remove());
	return place;
}

/** Sends 99 requests and returns how many were admitted. */
async function admitted({ url }: TestService): Promise<number> {
	const answers = await Promise.all(Array.from({ length: 99 }, () => call(url, "/v2/ep/status/none")));
	return answers.filter(({ status }) => status === 404).length;
}

it("D24: four starts within 10 s, each after SIGKILL, admit together what one does", async () => {
	const clock = manualClock();
	const started: TestService[] = [];
	let total = 0;
	let place = temporary();
	for (let start = 0; start < 4; start += 1) {
		const service = await startService({ endpoints, clock, in: place });
		total += await admitted(service);
		await clock.advance(1000);
		// What a killed service leaves, since it writes nothing at its end.
		const left = temporary();
		cpSync(place.path, left.path, { recursive: true });
		place = left;
		started.push(service);
	}
	expect(total).toBe(30);
	const service = await startService({ endpoints, clock, in: place });
	const { headers } = await call(service.url, "/v2/ep/status/none");
	expect(["remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`))).toEqual(["0", "6"]);
	await clock.advance(6000);
	expect(await admitted(service)).toBe(30);
	for (const each of [service, ...started]) await endWith(each, clock);
});
