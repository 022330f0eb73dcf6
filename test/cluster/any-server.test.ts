/** A client's requests may reach any server (D7, D8, D30, D39), and so may an operator's. */
import { describe, expect, it } from "vitest";
import { idsOf, statusOf, submit } from "../support/sdk-worker-bench.ts";
import type { TestServer } from "../support/servers.ts";
import { call, KEY } from "../support/service.ts";
import { browser } from "../spec/console/browser.ts";
import { untilFits, within } from "../support/until.ts";
import { a, b, fresh, useTwoServers, worker } from "./two-servers.ts";

useTwoServers();

describe("clients", () => {
	it("an endpoint made at one server is known at the other with the next call", async () => {
		const ep = await fresh();
		const id = await submit(b.url, { input: {} }, ep);
		expect(await statusOf(a.url, id, ep)).toMatchObject({ status: "IN_QUEUE" });
	});

	it("D8: a wait at one server ends with the result that came to the other", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const done = call(a.url, `/v2/${ep}/runsync`, { body: { input: { n: 1 } } });
		const [id] = idsOf(await w.at(b).take());
		await w.at(b).done(id!, { output: "done" });
		expect((await done).json).toMatchObject({ id, status: "COMPLETED", output: "done" });
	});

	it("D7: a stream read at one server gets the chunks posted to the other", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		expect(idsOf(await w.at(a).take())).toEqual([id]);
		const read = call(b.url, `/v2/${ep}/stream/${id}?wait=20000`);
		await w.at(a).chunk(id, { output: "x" });
		expect((await read).json.map(({ output }: { output: string }) => output)).toEqual(["x"]);
	});

	it("D7: equal chunks of one worker to different servers are all kept", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		for (const server of [a, b, a, b, b]) await w.at(server).chunk(id, { output: "same" });
		expect((await call(b.url, `/v2/${ep}/stream/${id}`)).json).toHaveLength(5);
	});

	it("D30: a key revoked at one server is refused at the other at once", async () => {
		const { json } = await call(a.url, "/v1/keys", { body: { name: "k", scopes: ["read"] } });
		expect((await call(b.url, "/v1/endpoints", { key: json.key })).status).toBe(200);
		await call(a.url, `/v1/keys/${json.id}`, { method: "DELETE" });
		await untilFits(
			() => call(b.url, "/v1/endpoints", { key: json.key }),
			({ status }) => status === 401,
		);
	});

	it("D31: a session that begins at one server is taken by the other, until it is ended at one", async () => {
		for (const byAdmin of [false, true]) {
			const [atA, atB] = [browser(a), browser(b)];
			await atA.signIn();
			[atB.cookie, atB.pageToken] = [atA.cookie, atA.pageToken];
			expect((await atB.send("/v1/keys")).status).toBe(200);
			const [{ id }] = (await call(b.url, "/v1/sessions")).json.sessions;
			if (byAdmin) await call(a.url, `/v1/sessions/${id}`, { method: "DELETE" });
			else expect((await atA.send("/console/session", { method: "DELETE" })).status).toBe(200);
			expect((await atA.send("/v1/keys")).status).toBe(401);
			const refused = untilFits(
				() => atB.send("/v1/keys"),
				({ status }) => status === 401,
			);
			await within("the other server's refusal", refused, 2000);
			expect((await call(a.url, "/v1/sessions")).json.sessions).toEqual([]);
		}
	});

	it("D29: an endpoint paused at one server hands out nothing at the other until it is resumed", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		await call(a.url, `/v1/endpoints/${ep}/pause`, { method: "POST" });
		await untilFits(
			() => call(b.url, `/v1/endpoints/${ep}`),
			({ json }) => json.paused === true,
		);
		const id = await submit(b.url, { input: {} }, ep);
		const taken = w.at(b).take();
		expect(await statusOf(a.url, id, ep)).toMatchObject({ status: "IN_QUEUE" });
		await call(a.url, `/v1/endpoints/${ep}/resume`, { method: "POST" });
		expect(idsOf(await taken)).toEqual([id]);
	});

	it("D27: changes at both servers build on each other", async () => {
		const ep = await fresh();
		await call(a.url, `/v1/endpoints/${ep}`, { method: "PATCH", body: { name: "N" } });
		const { json } = await call(b.url, `/v1/endpoints/${ep}`, {
			method: "PATCH",
			body: { workersMax: 7 },
		});
		expect(json).toMatchObject({ name: "N", workersMax: 7 });
	});

	it("D39: an endpoint deleted at one server is unknown at the other, and its polls end there", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const poll = w.at(b).take();
		await untilFits(
			() => call(b.url, `/v2/${ep}/health`),
			({ json }) => json.workers.idle === 1,
		);
		expect((await call(a.url, `/v1/endpoints/${ep}`, { method: "DELETE" })).status).toBe(200);
		expect((await poll).status).toBe(204);
		await untilFits(
			() => call(b.url, `/v2/${ep}/health`),
			({ status }) => status === 404,
		);
	});
});

describe("operators", () => {
	it("see the servers and what each does for all, the longest running first, at any of them", async () => {
		for (const server of [a, b]) {
			const answer = await untilFits(
				() => call(server.url, "/v1/servers"),
				({ json }) => json.servers.length === 2,
			);
			expect(answer.json.servers.map(({ url, self }: { url: string; self: boolean }) => ({ url, self }))).toEqual(
				[a, b].map(({ url }) => ({ url, self: url === server.url })),
			);
			expect(
				answer.json.servers
					.flatMap(({ leads }: { leads: string[] }) => leads)
					.filter((name: string) => !name.startsWith("scale:"))
					.toSorted(),
			).toEqual(["deliveries", "removal", "sweep"]);
		}
	});

	it("D39: read the output of a worker at a server that did not launch it; 404 where no server has it", {
		timeout: 60_000,
	}, async () => {
		const ep = await fresh({
			launcher: {
				type: "process",
				command: [
					process.execPath,
					"-e",
					"console.log('hello from ' + process.env.RUNPOD_POD_ID); setInterval(() => {}, 1000)",
				],
			},
			workersMin: 1,
			workersMax: 1,
		});
		const { json } = await untilFits(
			() => call(a.url, `/v1/endpoints/${ep}/workers`),
			(answer) => answer.json.workers.length === 1,
		);
		const path = `/v1/endpoints/${ep}/workers/${json.workers[0].id}/logs`;
		const texts = async (server: TestServer): Promise<string> =>
			(await (await fetch(server.url + path, { headers: { authorization: KEY } })).text()).trim();
		for (const server of [a, b])
			expect(
				await untilFits(
					() => texts(server),
					(text) => text.includes("hello from"),
				),
			).toContain(`hello from ${json.workers[0].id}`);
		await call(a.url, `/v1/endpoints/${ep}`, {
			method: "PATCH",
			body: { workersMin: 0, workersMax: 0 },
		});
		await untilFits(
			() => call(b.url, `/v1/endpoints/${ep}/workers`),
			(answer) => answer.json.workers.length === 0,
		);
		for (const server of [a, b]) expect(await texts(server)).toContain("hello from");
		const none = await call(b.url, `/v1/endpoints/${ep}/workers/${ep}-0123456789ab/logs`);
		expect([none.status, none.json.code]).toEqual([404, "worker_not_found"]);
	});
});
