/** `/v1/logs`: the log of the service, for administrators (D51). */
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KEY, startService, type TestService } from "../../support/service.ts";
import { request } from "../../support/transport.ts";
import { keyWith, operator } from "../operator.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} }, settings: { log: { level: "info,starts=error" } } });
});
afterAll(() => service.end());

async function follow(query: string, headers: Record<string, string> = {}) {
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		request(`${service.url}/v1/logs${query}`, { headers: { authorization: KEY, ...headers } }, resolve)
			.on("error", reject)
			.end();
	});
	const lines = createInterface({ input: response })[Symbol.asyncIterator]();
	return {
		response,
		async next(): Promise<string> {
			for (;;) {
				const { value, done } = await lines.next();
				if (done) throw new Error("It ended.");
				if (value !== "") return value;
			}
		},
	};
}

const textOf = (line: string): string => (JSON.parse(line) as { text: string }).text.replace(/^\S+ /, "");
const say = (endpoint: string): void => service.events.emit("endpoint.paused", { endpoint });

it("D51: the last lines, then new ones, as they are written", async () => {
	for (const name of ["a", "b", "c"]) say(name);
	service.events.emit("starts.resumed", { endpoint: "hidden by its level" });
	const last = await follow("?tail=2");
	expect([textOf(await last.next()), textOf(await last.next())]).toEqual(["b: paused", "c: paused"]);
	await expect(last.next()).rejects.toThrow("It ended.");
	const live = await follow("?tail=1&follow=true");
	expect(textOf(await live.next())).toBe("c: paused");
	say("d");
	say("e");
	expect([textOf(await live.next()), textOf(await live.next())]).toEqual(["d: paused", "e: paused"]);
	live.response.destroy();
});

it("D51: as events that Last-Event-ID resumes, none twice and none missing", async () => {
	const events = { accept: "text/event-stream" };
	say("first");
	const cut = await follow("?tail=1&follow=true", events);
	expect(cut.response.headers["content-type"]).toBe("text/event-stream");
	const id = (await cut.next()).replace("id: ", "");
	cut.response.destroy();
	say("meanwhile");
	const again = await follow("?follow=true", { ...events, "last-event-id": id });
	await again.next();
	expect(textOf((await again.next()).replace("data: ", ""))).toBe("meanwhile: paused");
	again.response.destroy();
	// The numbers of an earlier run of the service.
	const restarted = await follow("?tail=1", { ...events, "last-event-id": "999999" });
	await restarted.next();
	expect(textOf((await restarted.next()).replace("data: ", ""))).toBe("meanwhile: paused");
});

it("D51: lines by text, level, endpoint, id and time, in those that follow too", async () => {
	const id = "0197c2f0-aaaa-7bcd-ad08-6ce6e2fa40c4";
	say("alpha");
	service.events.emit("job.returned", { endpoint: "beta", id, worker: "w", why: "lost" });
	say("beta");
	const lines = async (query: string): Promise<Record<string, string>[]> => {
		const response = await fetch(`${service.url}/v1/logs?${query}`, { headers: { authorization: KEY } });
		expect(response.status).toBe(200);
		const texts = (await response.text()).split("\n").filter((line) => line !== "");
		return texts.map((line) => JSON.parse(line) as Record<string, string>);
	};
	const paused = { text: expect.stringContaining("alpha: paused") as string, level: "info", endpoint: "alpha" };
	expect(await lines("search=ALPHA: p")).toMatchObject([paused]);
	const lost = { level: "warn", endpoint: "beta", job: id };
	expect(await lines("level=warn&endpoint=beta")).toMatchObject([lost]);
	expect(await lines(`job=${id}`)).toMatchObject([lost]);
	expect(await lines("endpoint=beta&tail=1")).toMatchObject([{ level: "info" }]);
	const [{ time = "" } = {}] = await lines(`job=${id}`);
	expect(await lines(`job=${id}&since=${time}&until=${time}`)).toHaveLength(1);
	expect(await lines(`job=${id}&since=${Date.parse(time) + 1}`)).toEqual([]);
	expect(await lines(`job=${id}&until=${Date.parse(time) - 1}`)).toEqual([]);
	const live = await follow("?follow=true&tail=0&endpoint=beta");
	say("alpha");
	say("beta");
	expect(textOf(await live.next())).toBe("beta: paused");
	live.response.destroy();
});

it("D51: at most 1,000 lines are kept", async () => {
	for (let n = 0; n < 1100; n += 1) say(`n${n}`);
	const all = await follow("?tail=10000");
	const texts: string[] = [];
	for (let n = 0; n < 1000; n += 1) texts.push(textOf(await all.next()));
	await expect(all.next()).rejects.toThrow("It ended.");
	expect([texts[0], texts.at(-1)]).toEqual(["n100: paused", "n1099: paused"]);
});

it("D51: only for administrators", async () => {
	for (const scope of ["read", "write"]) {
		const { key } = await keyWith(service, [scope]);
		expect((await operator(service, key).get("/logs")).status).toBe(401);
	}
});
