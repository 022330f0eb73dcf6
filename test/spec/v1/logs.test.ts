/**
 * `/v1/.../logs`: what launched workers write, with real processes (D34, D39, protocol B.9).
 */
import { existsSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, folder, KEY, startService, type TestService } from "../../support/service.ts";
import { request } from "../../support/transport.ts";
import { keyWith, operator } from "../operator.ts";
import { until } from "../../support/until.ts";

const place = folder();
const SDK = ["a", "b"].map((job) =>
	JSON.stringify({ requestId: job, message: `run of ${job}\nsecond line`, level: "INFO" }),
);
/**
 * Writes its lines, then one more each time that the next file of its row appears; ends at the file
 * `end`.
 */
const SCRIPT = `
  const { existsSync } = require("node:fs"); let n = 0;
  for (let i = 1; i <= 150; i++) console.log("line " + i);
  console.error("to stderr"); console.log(${JSON.stringify(SDK[0])}); console.log(${JSON.stringify(SDK[1])});
  console.log('{"requestId": "a"}');
  setInterval(() => {
    if (existsSync("more-" + n)) console.log("more " + n++);
    if (existsSync("end")) { process.stdout.write("without an end of line"); process.exit(3); }
  }, 5);
`;
let service: TestService;
let worker: string;
let path: string;

interface Entry {
	text: string;
	position: number;
	job?: string;
	level?: string;
}

beforeAll(async () => {
	service = await startService({
		in: place,
		endpoints: {
			ours: {
				launcher: { type: "process", command: [process.execPath, "-e", SCRIPT], cwd: place.path },
				workersMin: 1,
				workersMax: 1,
			},
			our: {},
			theirs: {},
		},
	});
	worker = await until(
		"a worker",
		async () => (await operator(service).seen("/endpoints/ours/workers")).workers[0]?.id,
	);
	path = `/v1/endpoints/ours/workers/${worker}`;
	await until("the worker's first lines", async () =>
		(await read("logs")).some(({ text }) => text === '{"requestId": "a"}'),
	);
});
afterAll(async () => {
	await service.end();
	place.remove();
});

/** The lines of a whole answer. */
async function read(rest: string): Promise<Entry[]> {
	const response = await fetch(`${service.url}${path}/${rest}`, {
		headers: { authorization: KEY },
	});
	expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
	return (await response.text())
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Entry);
}

/** An answer as it comes: its lines one by one. */
async function follow(
	rest: string,
	headers: Record<string, string> = {},
): Promise<{ next(): Promise<string | undefined>; close(): void; response: IncomingMessage }> {
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		request(`${service.url}${path}/${rest}`, { headers: { authorization: KEY, ...headers } }, resolve)
			.on("error", reject)
			.end();
	});
	const lines = createInterface({ input: response })[Symbol.asyncIterator]();
	return {
		next: async () => (await lines.next()).value as string | undefined,
		close: () => response.destroy(),
		response,
	};
}

const more = (n: number): void => writeFileSync(join(place.path, `more-${n}`), "");

describe("logs of a worker that runs", () => {
	it("the last lines, both streams in order, those of the SDK taken apart", async () => {
		const all = await read("logs?tail=10000");
		expect(all.map(({ text }) => text)).toEqual([
			...Array.from({ length: 150 }, (_, n) => `line ${n + 1}`),
			"to stderr",
			"run of a\nsecond line",
			"run of b\nsecond line",
			'{"requestId": "a"}',
		]);
		expect(all.at(-3)).toEqual({
			text: "run of a\nsecond line",
			time: expect.stringMatching(/Z$/),
			job: "a",
			level: "INFO",
			position: expect.any(Number),
		});
		expect(await read("logs"), "100 by default").toEqual(all.slice(-100));
		expect(await read("logs?tail=2")).toEqual(all.slice(-2));
		expect(await read("logs?tail=0")).toEqual([]);
	});

	it("of one job", async () => {
		expect((await read("logs?job=b")).map(({ text }) => text)).toEqual(["run of b\nsecond line"]);
		expect(await read("logs?job=c")).toEqual([]);
	});

	it("as server-sent events that Last-Event-ID resumes", async () => {
		const first = await follow("logs?tail=1&follow=true", { accept: "text/event-stream" });
		expect(first.response.headers["content-type"]).toBe("text/event-stream");
		const id = await first.next();
		expect(id).toMatch(/^id: \d+$/);
		expect(await first.next()).toMatch(/^data: \{"text":"\{\\"requestId/);
		more(0);
		expect([await first.next(), await first.next()]).toEqual(["", expect.stringMatching(/^id: \d+$/)]);
		expect(await first.next()).toMatch(/^data: \{"text":"more 0","position":\d+,"time":"\S+Z"\}$/);
		first.close();
		more(1);
		const second = await follow("logs?follow=true", {
			accept: "text/event-stream",
			"last-event-id": id!.slice(4),
		});
		const seen: string[] = [];
		while (seen.length < 2) {
			const line = await second.next();
			if (line?.startsWith("data: ")) seen.push((JSON.parse(line.slice(6)) as Entry).text);
		}
		expect(seen).toEqual(["more 0", "more 1"]);
		second.close();
	});

	it("D30: for admin keys only, and for workers of the endpoint only", async () => {
		for (const { key } of [await keyWith(service, ["read"]), await keyWith(service, ["read", "write"])])
			expect((await call(service.url, `${path}/logs`, { key })).status).toBe(401);
		for (const other of [
			`theirs/workers/${worker}`,
			`our/workers/${worker}`,
			"ours/workers/ours-0123456789ab",
			`ours/workers/${encodeURIComponent("../ours")}`,
		]) {
			const { status, json } = await call(service.url, `/v1/endpoints/${other}/logs`);
			expect([status, json.code]).toEqual([404, "worker_not_found"]);
		}
	});

	it("D30: end for a key that is revoked meanwhile, before the next line", async () => {
		const { id, key } = await keyWith(service, ["admin"]);
		const lines = await follow("logs?tail=0&follow=true", { authorization: key });
		await operator(service).remove(`/keys/${id}`);
		more(2);
		expect(await lines.next()).toBeUndefined();
		expect((await read("logs?tail=1")).map(({ text }) => text)).toEqual(["more 2"]);
	});

	it("bounds", async () => {
		for (const bad of ["tail=-1", "tail=10001", "tail=x", "follow=maybe", "job="])
			expect((await call(service.url, `${path}/logs?${bad}`)).json.code, bad).toBe("bad_query");
	});
});

describe("logs of a worker that has ended", () => {
	it("are sent to their last line, to those who follow and to those who come later", async () => {
		const ended = service.next("worker.exited", ({ worker: id }) => id === worker);
		const [lines, events] = [
			await follow("logs?tail=0&follow=true"),
			await follow("logs?tail=0&follow=true", { accept: "text/event-stream" }),
		];
		writeFileSync(join(place.path, "end"), "");
		const last = JSON.parse((await lines.next())!) as Entry;
		expect(last.text).toBe("without an end of line");
		expect(await lines.next(), "the answer ends with the worker").toBeUndefined();
		const followed: (string | undefined)[] = [];
		while (followed.at(-1) !== "event: end") followed.push(await events.next());
		expect(followed.filter((line) => line?.startsWith("data:"))).toHaveLength(1);
		expect(await ended).toMatchObject({ code: 3 });
		expect(await read("logs?tail=1&follow=true")).toEqual([last]);
		expect(existsSync(join(service.folder.path, "logs", "process", `worker-${worker}.log`))).toBe(true);
	});
});
