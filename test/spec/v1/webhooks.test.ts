/** `/v1/webhooks`: deliveries, and sending one again (D21, D39). */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker, submitted } from "../hand-worker.ts";
import { keyWith, MOMENT, operator, type Operator } from "../operator.ts";

let service: TestService;
let receiver: Server;
let hook: string;
let received: string[];
let admin: Operator;
let keys: Record<"read" | "write" | "one" | "two", Operator>;
beforeAll(async () => {
	received = [];
	receiver = createServer((req, res) => {
		received.push(String(req.headers["webhook-id"]));
		const body = req.url?.startsWith("/answers") ? "internal page" : "";
		req.resume().on("end", () => res.writeHead(req.url?.startsWith("/held") ? 500 : 200).end(body));
	});
	await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
	hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
	service = await startService({
		endpoints: { a: {}, b: {}, c: {} },
		settings: { webhooks: { allowPrivateNetworks: true } },
	});
	admin = operator(service);
	const key = async (...q: [string[], string[]?]): Promise<Operator> =>
		operator(service, (await keyWith(service, ...q)).key);
	keys = {
		read: await key(["read"]),
		write: await key(["write"]),
		one: await key(["write"], ["a"]),
		two: await key(["write"], ["a", "b"]),
	};
});
afterAll(async () => {
	await service?.end();
	receiver?.close();
});

/** A job that is cancelled, and its delivery once it is over. */
async function delivered(endpoint: string, path = "/ok?token=secret"): Promise<{ job: string; id: string }> {
	const job = await submitted(service, endpoint, { input: {}, webhook: hook + path });
	const over = service.next("webhook.delivered", (facts) => facts.id === job);
	await call(service.url, `/v2/${endpoint}/cancel/${job}`, { method: "POST" });
	await over;
	const { deliveries } = await admin.seen(`/webhooks?job=${job}`);
	return { job, id: deliveries[0].id };
}

describe("GET /v1/webhooks", () => {
	it("D21, D39: returns each delivery with its tries, the last made first, by endpoint, job and state", async () => {
		const [a, b] = [await delivered("a"), await delivered("b")];
		const { deliveries, next } = await admin.seen("/webhooks");
		expect(next).toBeNull();
		expect(deliveries.map(({ id }: { id: string }) => id)).toEqual([b.id, a.id]);
		expect(deliveries[1]).toEqual({
			id: a.id,
			endpoint: "a",
			job: a.job,
			state: "delivered",
			url: `${hook}/ok?token=secret`,
			createdAt: MOMENT,
			tries: [{ at: MOMENT, tookMs: expect.any(Number), status: 200 }],
		});
		const ids = async (query: string): Promise<string[]> =>
			(await admin.seen(`/webhooks?${query}`)).deliveries.map(({ id }: { id: string }) => id);
		expect(await ids("endpoint=a")).toEqual([a.id]);
		expect(await ids(`job=${b.job}`)).toEqual([b.id]);
		expect(await ids("state=pending")).toEqual([]);
		expect(await ids(`state=delivered&endpoint=b&job=${b.job}`)).toEqual([b.id]);
		expect(await ids("endpoint=nowhere")).toEqual([]);
		const page = await admin.seen("/webhooks?limit=1");
		expect(page.deliveries).toHaveLength(1);
		expect(await ids(`limit=1&cursor=${encodeURIComponent(page.next)}`)).toEqual([a.id]);
	});

	it.each(["state=sent", "limit=0", "cursor=x", "endpoint=", "job="])(
		"D2: ?%s is 400 and names the parameter",
		async (query) => {
			expectError(await admin.get(`/webhooks?${query}`), 400, "bad_query", [query.split("=")[0]!]);
		},
	);

	it("D21: a key that may only read sees scheme and host of the URL", async () => {
		const { id } = await delivered("a");
		const urlFor = async (who: Operator): Promise<string> =>
			(await who.seen("/webhooks?endpoint=a")).deliveries.find((each: { id: string }) => each.id === id).url;
		expect(await urlFor(keys.read)).toBe(`${hook}/…`);
		expect((await keys.read.get("/webhooks")).text).not.toContain("secret");
		expect(await urlFor(keys.write)).toBe(`${hook}/ok?token=secret`);
	});

	it("D30: a key with a list of endpoints sees theirs only: its one, or the one it asks for", async () => {
		await delivered("a");
		await delivered("b");
		const endpoints = async (who: Operator, query = ""): Promise<Set<string>> =>
			new Set((await who.seen(`/webhooks${query}`)).deliveries.map(({ endpoint }: { endpoint: string }) => endpoint));
		expect(await endpoints(keys.one)).toEqual(new Set(["a"]));
		expect(await endpoints(keys.two, "?endpoint=b")).toEqual(new Set(["b"]));
		expect(expectError(await keys.two.get("/webhooks"), 400, "bad_query", ["endpoint"]).error).toContain("one of a, b");
		expectError(await keys.one.get("/webhooks?endpoint=b"), 401, "unauthorized");
	});
});

describe("GET /v1/webhooks/{delivery}", () => {
	it("D21: returns the delivery with the body of its attempts; the answer only to an admin key", async () => {
		const { id, job } = await delivered("a", "/answers");
		const seen = await admin.seen(`/webhooks/${id}`);
		expect(JSON.parse(seen.body)).toMatchObject({ id: job, status: "CANCELLED" });
		expect(seen.bodySize).toBe(seen.body.length);
		expect(seen.tries).toEqual([expect.objectContaining({ status: 200, answer: "internal page" })]);
		const read = await keys.read.seen(`/webhooks/${id}`);
		expect([read.url, read.tries[0].answer]).toEqual([`${hook}/…`, undefined]);
	});

	it("D21: of a long body it returns the beginning", async () => {
		const job = await submitted(service, "a", { input: {}, webhook: `${hook}/ok` });
		const worker = await handWorker(service, "a");
		await worker.takeThis(job);
		const over = service.next("webhook.delivered", (facts) => facts.id === job);
		await worker.done(job, { output: "é".repeat(200_000) });
		await over;
		const { deliveries } = await admin.seen(`/webhooks?job=${job}`);
		const { body, bodySize } = await admin.seen(`/webhooks/${deliveries[0].id}`);
		expect(body).toHaveLength(16_384);
		expect(bodySize).toBeGreaterThan(200_000);
		expect(body).toContain("éé");
	});

	it("D30: refuses keys for other endpoints, and ids that it does not know", async () => {
		const { id } = await delivered("c");
		expectError(await keys.one.get(`/webhooks/${id}`), 401, "unauthorized");
		expectError(await admin.get("/webhooks/msg_none_0"), 404, "delivery_not_found");
	});
});

describe("POST /v1/webhooks/{delivery}/redeliver", () => {
	it("D21: sends it again under its id", async () => {
		const { id } = await delivered("a");
		const again = service.next("webhook.delivered", (facts) => facts.delivery === id);
		const { status, json } = await keys.write.post(`/webhooks/${id}/redeliver`);
		expect(status).toBe(200);
		expect(json).toMatchObject({ id, endpoint: "a" });
		await again;
		expect(received.filter((each) => each === id)).toHaveLength(2);
		expect(
			(await admin.seen("/webhooks?endpoint=a")).deliveries.find((each: { id: string }) => each.id === id),
		).toMatchObject({ state: "delivered", tries: [{ status: 200 }, { status: 200 }] });
	});

	it("D30: a key for other endpoints, and one that only reads, may not", async () => {
		const { id } = await delivered("b");
		expectError(await keys.one.post(`/webhooks/${id}/redeliver`), 401, "unauthorized");
		expectError(await keys.one.get(`/webhooks/${id}`), 401, "unauthorized");
		expect((await keys.two.get(`/webhooks/${id}`)).status).toBe(200);
		expectError(await keys.read.post(`/webhooks/${id}/redeliver`), 401, "unauthorized");
		expect(received.filter((each) => each === id)).toHaveLength(1);
		const again = service.next("webhook.delivered", (facts) => facts.delivery === id);
		expect((await keys.two.post(`/webhooks/${id}/redeliver`, {})).status).toBe(200);
		await again;
	});

	it("D21: one that waits for its next try is 409 and says when that is due, an unknown one 404", async () => {
		const job = await submitted(service, "c", { input: {}, webhook: `${hook}/held` });
		const tried = new Promise<void>((resolve) =>
			receiver.on("request", (req, res) => void (req.url === "/held" && res.on("finish", resolve))),
		);
		await call(service.url, `/v2/c/cancel/${job}`, { method: "POST" });
		await tried;
		const [delivery] = (await admin.seen(`/webhooks?job=${job}`)).deliveries;
		expect(delivery).toMatchObject({ state: "pending", dueAt: MOMENT });
		expectError(await admin.post(`/webhooks/${delivery.id}/redeliver`), 409, "delivery_pending");
		expectError(await admin.post("/webhooks/none/redeliver"), 404, "delivery_not_found");
	});
});

it("D21: shows what a receiver answered to admin keys only", async () => {
	const { job } = await delivered("a", "/answers");
	const path = `/webhooks?job=${job}`;
	expect((await admin.seen(path)).deliveries[0].tries).toMatchObject([{ status: 200, answer: "internal page" }]);
	for (const key of [keys.write, keys.read]) expect(JSON.stringify(await key.seen(path))).not.toContain("internal");
});
