/**
 * Limits over HTTP where several servers share a store: they hold for all of them together, but for
 * what the others admitted in the last second (spec 8, D24).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { rawConnection, requestText } from "../spec/raw-http.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { KEY, call } from "../support/service.ts";
import { until } from "../support/until.ts";

const endpoints = {
	burst: { limits: { status: { per10s: 100, concurrent: "off" } } },
	turns: { limits: { status: { per10s: "off", concurrent: 1 } } },
	held: { limits: { runsync: { concurrent: 2 } } },
	off: { limits: "off" },
};

let group: Servers;
let all: TestServer[];
beforeAll(async () => {
	group = await servers();
	all = [];
	for (let index = 0; index < 3; index += 1) all.push(await group.start({ endpoints }));
});
afterAll(() => group?.end());

const at = (index: number): TestServer => all[index % 3]!;

it("spec 8.1, D24: what one server admitted counts soon at all: the next is 429 everywhere", async () => {
	const ask = (index: number) => call(at(index).url, "/v2/burst/status/none");
	for (const index of [1, 2]) {
		let admitted = 0;
		const refused = await until("a refusal", async () => {
			// A slow machine may need longer than the 10 s after which they leave.
			while ((await Promise.all(Array.from({ length: 20 }, () => ask(0)))).every(({ status }) => status === 404));
			const answer = await ask(index);
			if (answer.status === 429) return answer;
			admitted += 1;
			return undefined;
		});
		expect([refused.json.code, refused.headers.get("ratelimit-remaining")]).toEqual(["rate_limited", "0"]);
		expect(refused.headers.get("retry-after")).toMatch(/^([1-9]|10)$/);
		// Alone it would have admitted all 100.
		expect(admitted).toBeLessThan(100);
	}
});

it("D24: a client that asks the servers one after the other is one request at a time", async () => {
	let refused = 0;
	for (let index = 0; index < 300; index += 1)
		if ((await call(at(index).url, "/v2/turns/status/none")).status !== 404) refused += 1;
	expect(refused).toBe(0);
});

it("D24: a waiting request holds its place at all servers until its client has the answer or hangs up", async () => {
	const text = requestText({
		method: "POST",
		path: "/v2/held/runsync?wait=60000",
		headers: { Authorization: KEY },
		body: '{"input":{}}',
	});
	const held = [];
	for (const server of all.slice(0, 2)) {
		const queued = server.next("job.queued");
		const connection = await rawConnection(server.url);
		connection.write(text);
		await queued;
		held.push(connection);
	}
	for (const { url } of all) {
		const refused = await until("a refusal", async () => {
			const answer = await call(url, "/v2/held/runsync", { text: "{}" });
			return answer.status === 429 ? answer : undefined;
		});
		expect([refused.json.code, refused.headers.get("retry-after")]).toEqual(["too_many_at_once", "1"]);
	}
	held[0]!.socket.destroy();
	for (let free = false; !free; ) free = (await call(all[2]!.url, "/v2/held/runsync", { text: "{}" })).status === 400;
	held[1]!.socket.destroy();
});

it("D35: with limits off nothing is asked, counted or reported", async () => {
	for (let index = 0; index < 30; index += 1) {
		const answer = await call(at(index).url, "/v2/off/status/none");
		expect([answer.status, answer.headers.get("ratelimit-limit")]).toEqual([404, null]);
	}
});
