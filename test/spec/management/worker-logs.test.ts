/** The output of a real worker as RunPod's management API streams it, read by npm's `eventsource` among others. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { call, folder, KEY, startService, type TestService } from "../../support/service.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";
import { operator } from "../operator.ts";

const place = folder();
/** Writes 300 lines, then 200 more each time that the next file of its row appears; ends at the file `end`. */
const SCRIPT = `
  const { existsSync } = require("node:fs"); let n = 0; let line = 0;
  const write = (count) => { for (let i = 0; i < count; i++) console.log("line " + line++ + " é"); };
  write(300);
  setInterval(() => {
    if (existsSync("more-" + n)) { n++; write(200); }
    if (existsSync("end")) { process.stdout.write("last"); process.exit(3); }
  }, 5);
`;

let service: TestService;
let path: string;
let files = 0;
const more = (): void => writeFileSync(join(place.path, `more-${files++}`), "");
const lines = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => `line ${from + n} é`);

beforeAll(async () => {
	service = await startService({
		in: place,
		endpoints: {
			ours: {
				launcher: { type: "process", command: [process.execPath, "-e", SCRIPT], cwd: place.path },
				workersMin: 1,
				workersMax: 1,
			},
			other: {},
		},
	});
	const { id } = await until(
		"a worker",
		async () => (await operator(service).seen("/endpoints/ours/workers")).workers[0],
	);
	path = `/v2/serverless/ours/workers/${id}/logs`;
	await until("its lines", async () => (await first("?tail=1", 1))[0]?.line === "line 299 é");
});
afterAll(async () => {
	await service.end();
	place.remove();
});

interface Frame {
	id: string;
	ts: string;
	source: string;
	line: string;
}

/** An open answer: what was sent so far, and how much of it there is to wait for. */
async function open(query = "", headers: Record<string, string> = {}) {
	const left = new AbortController();
	const answer = await fetch(service.url + path + query, {
		headers: { authorization: `Bearer ${KEY}`, ...headers },
		signal: left.signal,
	});
	const reader = answer.body!.getReader();
	const decoder = new TextDecoder();
	let text = "";
	return {
		answer,
		close: () => left.abort(),
		async until(isSo: (text: string) => boolean): Promise<string> {
			while (!isSo(text)) text += decoder.decode((await reader.read()).value, { stream: true });
			return text;
		},
	};
}

function framesIn(text: string): Frame[] {
	return [...text.matchAll(/^id: (.*)\ndata: (.*)\n\n/gm)].map(([, id = "", data = ""]) => ({
		id,
		...(JSON.parse(data) as Omit<Frame, "id">),
	}));
}

/** The first frames of an answer. */
async function first(query: string, count: number, headers?: Record<string, string>): Promise<Frame[]> {
	const stream = await open(query, headers);
	const frames = framesIn(await stream.until((text) => framesIn(text).length >= count));
	stream.close();
	return frames;
}

describe("worker logs of the management API", () => {
	it("D49: the last 100 lines, each an event with its time and position, then what is written", async () => {
		const stream = await open();
		expect(stream.answer.status).toBe(200);
		expect(Object.fromEntries(stream.answer.headers)).toMatchObject({
			"content-type": "text/event-stream",
			"cache-control": expect.stringContaining("no-cache"),
			"x-accel-buffering": "no",
			"x-request-id": expect.any(String),
		});
		const text = await stream.until((each) => framesIn(each).length >= 100);
		const frames = framesIn(text);
		expect(frames.map(({ line }) => line)).toEqual(lines(200, 300));
		expect(frames[0]).toEqual({
			id: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\/\d{12}$/),
			ts: frames[0]!.id.split("/")[0],
			source: "container",
			line: "line 200 é",
		});
		more();
		expect(framesIn(await stream.until((each) => framesIn(each).length >= 300)).at(-1)!.line).toBe("line 499 é");
		stream.close();
	});

	it("D49: headers arrive before the first comment, after 15 s, also where no line is sent", async () => {
		for (const query of ["?tail=0", "?source=system", "?since=2100-01-01T00:00:00Z"]) {
			const began = performance.now();
			const stream = await open(query);
			expect([stream.answer.status, performance.now() - began < 15_000]).toEqual([200, true]);
			stream.close();
		}
	});

	it("D49: since, tail and Last-Event-ID each replace the one before", async () => {
		const all = await first("?tail=5000", 500);
		expect(all).toHaveLength(500);
		expect((await first("?tail=2", 2)).map(({ line }) => line)).toEqual(lines(498, 500));
		const times = [...new Set(all.map(({ ts }) => ts))];
		expect(times.length).toBeGreaterThan(1);
		const later = all.filter(({ ts }) => ts >= times[1]!);
		expect(await first(`?tail=1&since=${times[1]}`, later.length)).toEqual(later);
		const resumed = { "last-event-id": all[9]!.id };
		expect(await first(`?tail=1&since=${times[1]}`, 490, resumed)).toEqual(all.slice(10));
		expect(await first("?tail=1", later.length, { "last-event-id": times[0]! })).toEqual(later);
	});

	it.each([
		["?tail=-1", /^\$\.tail must be a whole number from 0 to 5000/],
		["?tail=5001", /^\$\.tail must be/],
		["?tail=1&tail=2", /^\$\.tail must be given once\.$/],
		["?source=all", /^\$\.source must be one of container, system/],
		["?since=yesterday", /^\$\.since must be a date and time/],
		["?since=1700000000000", /^\$\.since must be/],
	])("D49: %s is 422", async (query, says) => {
		const { status, json } = await call(service.url, path + query);
		expect([status, json.errors]).toEqual([422, [expect.stringMatching(says)]]);
	});

	it("D49: a Last-Event-ID of another stream is 422, a worker of another endpoint 404", async () => {
		const headers = { "last-event-id": "12 o'clock" };
		const { status, json } = await call(service.url, path, { headers });
		expect([status, json.errors]).toEqual([422, [expect.stringMatching(/^\$\.Last-Event-ID must be the id/)]]);
		for (const wrong of [path.replace("/ours/", "/other/"), path.replace(/ours-\w+/, "ours-ffffffffffff")])
			expect((await call(service.url, wrong)).status).toBe(404);
	});
});

describe("npm's eventsource", () => {
	let proxy: TcpProxy;
	let source: EventSource;
	afterEach(() => {
		source.close();
		proxy.close();
	});

	/** Asks again after 10 ms, not 3 s. */
	async function soon(input: string | URL, init: object): Promise<Response> {
		const headers = { ...(init as { headers: object }).headers, authorization: `Bearer ${KEY}` };
		const answer = await fetch(input, { ...init, headers });
		const body = async function* () {
			yield new TextEncoder().encode("retry: 10\n\n");
			yield* answer.body!;
		};
		const { status } = answer;
		return new Response(ReadableStream.from(body()), { status, headers: answer.headers });
	}

	it("D49: a connection that is cut over and over: no line is there twice, none is missing", async () => {
		proxy = await tcpProxy(Number(new URL(service.url).port));
		const seen: string[] = [];
		source = new EventSource(proxy.through(`${service.url}${path}?tail=500`), { fetch: soon as never });
		source.addEventListener("message", ({ data }) => seen.push((JSON.parse(data) as Frame).line));
		await until("the lines so far", () => seen.length === 500);
		// Within an event, and within the characters of one.
		for (const bytes of [20_011, 7003, 12_345, 1, 9999]) {
			const cut = proxy.cutAfter(bytes);
			more();
			await cut;
		}
		await until("all lines", () => seen.length >= 1500);
		expect(seen).toEqual(lines(0, 1500));
		expect(proxy.accepted).toBeGreaterThan(5);
	}, 60_000);

	it("D49: the last line of a worker that ends, and an open connection after it", async () => {
		proxy = await tcpProxy(Number(new URL(service.url).port));
		const seen: string[] = [];
		source = new EventSource(proxy.through(`${service.url}${path}?tail=1`), { fetch: soon as never });
		source.addEventListener("message", ({ data }) => seen.push((JSON.parse(data) as Frame).line));
		await until("a line", () => seen.length === 1);
		writeFileSync(join(place.path, "end"), "");
		await until("its last line", () => seen.at(-1) === "last");
		expect([proxy.open, proxy.accepted, source.readyState]).toEqual([1, 1, EventSource.OPEN]);
	});
});
