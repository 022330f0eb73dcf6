/**
 * Section 6: the webhook at the end of a job (D21). The clock is turned by hand; receivers are real
 * servers on loopback.
 */
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writtenIn } from "../../../support/service-store.ts";
import { call, folder, startService } from "../../../support/service.ts";
import type { TestService } from "../../../support/service.ts";
import { hangUp, silence, webhookReceiver } from "../../../support/webhook-receiver.ts";
import type { Received, Reply } from "../../../support/webhook-receiver.ts";
import { atOnce, endWith, handWorker, submitted } from "../../hand-worker.ts";
import { ALLOW, SECRET, webhookSite } from "./site.ts";

const site = webhookSite();
const {
	hand,
	clock,
	submit,
	cancel,
	ended,
	deliveries,
	deliveryOf,
	over,
	arrived,
	delivered,
	failed,
} = site;

describe("what is sent", () => {
	const ends: Record<
		string,
		{ status: string; body?: object; end: (id: string) => Promise<unknown> }
	> = {
		"a result": {
			status: "COMPLETED",
			end: async (id) => {
				const worker = await handWorker(site.service, site.ep);
				await worker.takeThis(id);
				await hand.advance(1234);
				await worker.done(
					id,
					'{"output": {"a": 1.0, "b": 12345678901234567890, "a": "\\u00e9\u{1f600}"}}',
				);
			},
		},
		"a failure": {
			status: "FAILED",
			end: async (id) => {
				const worker = await handWorker(site.service, site.ep);
				await worker.takeThis(id);
				await worker.done(id, { error: 'it "broke"' });
			},
		},
		"cancelling a waiting job": { status: "CANCELLED", end: cancel },
		"cancelling a running job": {
			status: "CANCELLED",
			end: async (id) => {
				await (await handWorker(site.service, site.ep)).takeThis(id);
				await cancel(id);
			},
		},
		"the execution timeout": {
			status: "TIMED_OUT",
			body: { policy: { executionTimeout: 6000 } },
			end: async (id) => {
				await (await handWorker(site.service, site.ep)).takeThis(id);
				await hand.advance(6000);
			},
		},
		"the ttl": {
			status: "TIMED_OUT",
			body: { policy: { ttl: 10_000 } },
			end: () => hand.advance(10_000),
		},
		"three losses": {
			status: "FAILED",
			end: async (id) => {
				for (let loss = 0; loss < 3; loss += 1) {
					await (await handWorker(site.service, site.ep)).takeThis(id);
					await hand.advance(20_000);
				}
			},
		},
	};

	it.each(Object.entries(ends))(
		"spec 6, D21: %s brings the same JSON as /status, once",
		async (_name, { status, body, end }) => {
			const id = await submit(body);
			const done = delivered(id);
			await end(id);
			await atOnce(hand, done);
			const { text, json } = await call(site.service.url, `/v2/${site.ep}/status/${id}`);
			expect(json.status).toBe(status);
			const [request, ...others] = await arrived(1);
			expect(others).toEqual([]);
			expect(request!.body.toString()).toBe(text);
			expect(request).toMatchObject({
				method: "POST",
				headers: {
					"content-type": "application/json",
					"user-agent": expect.stringMatching(/^Sluice\/\d+\.\d+\.\d+$/),
				},
			});
			expect(await deliveryOf(id)).toMatchObject({
				endpoint: site.ep,
				job: id,
				state: "delivered",
				tries: [{ status: 200 }],
			});
		},
	);

	it("spec 6: a job without a webhook sends nothing; /runsync sends one too", async () => {
		const worker = await handWorker(site.service, site.ep);
		const quiet = await submitted(site.service, site.ep);
		await worker.takeThis(quiet);
		await worker.done(quiet, { output: 1 });
		expect(await deliveries(quiet)).toEqual([]);
		const queued = site.service.next("job.queued");
		const answer = call(site.service.url, `/v2/${site.ep}/runsync`, {
			body: { input: {}, webhook: site.hook },
		});
		const { id } = await queued;
		await worker.takeThis(id);
		await worker.done(id, { output: 2 });
		const [request] = await arrived(1);
		expect(request!.body.toString()).toBe((await answer).text);
		expect(site.count).toBe(1);
	});

	it("D11: purged jobs send none", async () => {
		const id = await submit();
		expect(
			(await call(site.service.url, `/v2/${site.ep}/purge-queue`, { method: "POST" })).json.removed,
		).toBe(1);
		await hand.advance(30_000);
		expect(await deliveries(id)).toEqual([]);
		expect(site.count).toBe(0);
	});

	it("D21: the body is kept as it was at the end, when the result has expired", async () => {
		site.reply((number) => (number === 0 ? 500 : 200));
		const id = await submit();
		const worker = await handWorker(site.service, site.ep);
		await worker.takeThis(id);
		const again = failed(id);
		await worker.done(id, { output: "kept" });
		const { text } = await call(site.service.url, `/v2/${site.ep}/status/${id}?ttl=0`);
		expect((await call(site.service.url, `/v2/${site.ep}/status/${id}`)).status).toBe(404);
		await atOnce(hand, again);
		await hand.advance(10_000);
		const requests = await arrived(2);
		expect(requests.map(({ body }) => body.toString())).toEqual([text, text]);
	});
});

describe("failed tries", () => {
	const bad: [string, Reply, string | number][] = [
		["201", 201, 201],
		["202", 202, 202],
		["204", 204, 204],
		["400", 400, 400],
		["500", 500, 500],
		["a redirect", (response) => response.writeHead(301, { location: "/redirected" }).end(), 301],
		["a closed connection", hangUp, "the connection was closed without an answer"],
		["no answer for 10 s", silence, "there was no answer within 10 s"],
	];

	it.each(bad)(
		"spec 6, D21: %s is tried 2 more times, each 10 s after the last one failed, and has then failed",
		async (_name, reply, outcome) => {
			site.reply(() => reply);
			const id = await submit();
			for (let number = 0; number < 3; number += 1) {
				const fault = failed(id);
				if (number === 0) await cancel(id);
				else {
					await hand.advance(9999);
					expect(site.count).toBe(number);
					await hand.advance(1);
				}
				await arrived(number + 1);
				if (reply === silence) await hand.advance(10_000);
				expect(await atOnce(hand, fault)).toMatchObject({
					retryMs: number < 2 ? 10_000 : undefined,
				});
				const row = await deliveryOf(id);
				expect(row).toMatchObject(
					number < 2
						? { state: "pending", dueAt: clock.now() + 10_000, used: number + 1 }
						: { state: "failed", used: 3 },
				);
				expect(row.tries).toHaveLength(number + 1);
				expect(row.tries.at(-1)).toMatchObject(
					typeof outcome === "number" ? { status: outcome } : { error: outcome },
				);
			}
			await hand.advance(60_000);
			const requests = await arrived(3);
			expect(site.count).toBe(3);
			expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
			expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
			const [first, second, third] = requests.map(({ headers }) =>
				Number(headers["webhook-timestamp"]),
			);
			const apart = reply === silence ? 20 : 10;
			expect([second! - first!, third! - second!]).toEqual([apart, apart]);
			expect(site.receiver.received.filter((each) => each.path === "/redirected")).toEqual([]);
		},
	);

	it("spec 6: a receiver that is down gets it when it is back", async () => {
		const gone = await webhookReceiver();
		await gone.end();
		const id = await submit({ webhook: `${gone.url}/late` });
		const fault = failed(id);
		await cancel(id);
		expect(await atOnce(hand, fault)).toMatchObject({ reason: "the connection was refused" });
		const back = await webhookReceiver({ port: gone.port });
		const done = delivered(id);
		await hand.advance(10_000);
		await atOnce(hand, done);
		expect(back.received).toHaveLength(1);
		expect((await deliveryOf(id)).tries).toMatchObject([
			{ error: "the connection was refused" },
			{ status: 200 },
		]);
		await back.end();
	});

	it("D21: one that has failed or was delivered is sent anew on demand, with a new round of tries; not while it is under way", async () => {
		site.reply((number) => (number < 4 ? 500 : 200));
		const id = await submit();
		const first = failed(id);
		await cancel(id);
		await atOnce(hand, first);
		const delivery = await deliveryOf(id);
		await expect(site.service.engine.webhooks.redeliver(delivery.id)).rejects.toMatchObject({
			code: "delivery_pending",
		});
		await expect(site.service.engine.webhooks.get("msg_none")).rejects.toMatchObject({
			code: "delivery_not_found",
		});
		await expect(site.service.engine.webhooks.redeliver("msg_none")).rejects.toMatchObject({
			code: "delivery_not_found",
		});
		expect(await over(id)).toMatchObject({ state: "failed", used: 3 });

		const fault = failed(id);
		await site.service.engine.webhooks.redeliver(delivery.id);
		expect(await atOnce(hand, fault)).toMatchObject({ retryMs: 10_000 });
		const done = delivered(id);
		await hand.advance(10_000);
		await atOnce(hand, done);
		expect(await deliveryOf(id)).toMatchObject({
			state: "delivered",
			used: 2,
			tries: [{}, {}, {}, {}, { status: 200 }],
		});

		const anew = delivered(id);
		await site.service.engine.webhooks.redeliver(delivery.id);
		await atOnce(hand, anew);
		expect(new Set((await arrived(6)).map(({ headers }) => headers["webhook-id"]))).toEqual(
			new Set([delivery.id]),
		);
	});
});

describe("/retry", () => {
	it("D21, D37: each end of the job has its own webhook; that of an earlier end goes on with its body", async () => {
		site.reply((number) => (number === 0 ? 500 : 200));
		const worker = await handWorker(site.service, site.ep);
		const id = await submit();
		await worker.takeThis(id);
		const fault = failed(id);
		await worker.done(id, { error: "first" });
		await atOnce(hand, fault);
		expect(
			(await call(site.service.url, `/v2/${site.ep}/retry/${id}`, { method: "POST" })).status,
		).toBe(200);
		await worker.takeThis(id);
		const second = delivered(id);
		await worker.done(id, { output: "second" });
		await atOnce(hand, second);
		const last = delivered(id);
		await hand.advance(10_000);
		await atOnce(hand, last);
		const [early, end, late] = await arrived(3);
		expect(early!.headers["webhook-id"]).toBe(late!.headers["webhook-id"]);
		expect(end!.headers["webhook-id"]).not.toBe(early!.headers["webhook-id"]);
		expect(late!.body).toEqual(early!.body);
		expect([early, end].map((request) => JSON.parse(request!.body.toString()))).toMatchObject([
			{ id, status: "FAILED", error: "first" },
			{ id, status: "COMPLETED", output: "second" },
		]);
		expect((await deliveries(id)).map(({ state }) => state)).toEqual(["delivered", "delivered"]);
	});
});

describe("the signature", () => {
	it("D21: is verified by the official library; another body, time or secret is not", async () => {
		await ended();
		const [request] = await arrived(1);
		// The clock of the test runs ahead of the library's, which takes 5 minutes of difference.
		const skewed = Number(request!.headers["webhook-timestamp"]) * 1000 - Date.now();
		expect(skewed).toBeGreaterThan(0);
		const realNow = Date.now;
		Date.now = () => realNow() + skewed;
		try {
			const headers = request!.headers as Record<string, string>;
			const text = request!.body.toString();
			const receiving = new Webhook(SECRET);
			expect(receiving.verify(text, headers)).toEqual(JSON.parse(text));
			expect(() => receiving.verify(text.replace("CANCELLED", "COMPLETED"), headers)).toThrow();
			expect(() =>
				receiving.verify(text, {
					...headers,
					"webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1),
				}),
			).toThrow();
			expect(() =>
				new Webhook(`whsec_${Buffer.alloc(32, 6).toString("base64")}`).verify(text, headers),
			).toThrow();
		} finally {
			Date.now = realNow;
		}
	});

	const signedWith = (secret: string, { headers, body }: Received): boolean =>
		headers["webhook-signature"] ===
		new Webhook(secret).sign(
			String(headers["webhook-id"]),
			new Date(Number(headers["webhook-timestamp"]) * 1000),
			body.toString(),
		);

	it("D21: the secret can be renewed, and outlives a restart; an endpoint without one is given one", async () => {
		const place = folder();
		const start = (): Promise<TestService> =>
			startService({
				endpoints: { [site.ep]: { limits: "off" } },
				settings: ALLOW,
				clock,
				in: place,
			});
		let own = await start();
		await ended({}, own);
		const [first] = await arrived(1);
		expect(first!.headers["webhook-signature"]).toMatch(/^v1,[\w+/]{43}=$/);
		const made = await own.engine.webhooks.renewSecret(site.ep);
		expect(made).toMatch(/^whsec_[\w+/]{43}=$/);
		expect(signedWith(made, first!)).toBe(false);
		await ended({}, own);
		expect(signedWith(made, (await arrived(2))[1]!)).toBe(true);
		await endWith(own, hand);
		own = await start();
		await ended({}, own);
		expect(signedWith(made, (await arrived(3))[2]!)).toBe(true);
		await expect(own.engine.webhooks.renewSecret("none")).rejects.toMatchObject({
			code: "endpoint_not_found",
		});
		await endWith(own, hand);
		place.remove();
	});

	it("D21: secrets lie nowhere in clear: not in the store, not in what the engine knows of an endpoint", async () => {
		const made = await site.service.engine.webhooks.renewSecret(site.ep);
		const kept = Buffer.concat(await writtenIn(site.service.folder.path));
		for (const secret of [SECRET, made])
			for (const form of [secret, secret.slice("whsec_".length)])
				expect(kept.includes(form)).toBe(false);
		expect(kept.includes(site.ep)).toBe(true);
		expect(JSON.stringify([...site.service.engine.endpoints.all()])).not.toContain("whsec_");
	});
});

describe("refused targets", () => {
	let strict: TestService;
	beforeAll(async () => {
		strict = await startService({ endpoints: site.endpoints, clock });
	});
	afterAll(() => endWith(strict, hand));

	it.each([
		["loopback", () => site.hook, "a loopback address"],
		[
			"a name of this machine",
			() => `http://localhost:${site.receiver.port}${site.path}`,
			"localhost is this machine",
		],
		[
			"another spelling of loopback",
			() => `http://0x7f.1:${site.receiver.port}${site.path}`,
			"a loopback address",
		],
		[
			"IPv6 around loopback",
			() => `http://[::ffff:127.0.0.1]:${site.receiver.port}${site.path}`,
			"a loopback address",
		],
		["cloud metadata", () => "http://169.254.169.254/latest/meta-data", "a link-local address"],
		["a private network", () => "https://10.1.2.3/", "a private address"],
		[
			"a user name",
			() => `http://me:word@127.0.0.1:${site.receiver.port}${site.path}`,
			"user name or password",
		],
	])(
		"D21: %s is taken at submission, refused at delivery, recorded with the reason and not tried again",
		async (_name, url, reason) => {
			const id = await submit({ webhook: url() }, strict);
			const fault = failed(id, strict);
			await cancel(id, strict);
			expect(await atOnce(hand, fault)).toMatchObject({
				reason: expect.stringContaining(reason),
				retryMs: undefined,
			});
			await hand.advance(60_000);
			expect(await deliveryOf(id, strict)).toMatchObject({
				state: "failed",
				tries: [{ error: expect.stringContaining(reason) }],
			});
			expect((await deliveryOf(id, strict)).tries).toHaveLength(1);
			expect(site.count).toBe(0);
		},
	);

	it("D21: the job itself is untouched by what becomes of its webhook", async () => {
		const id = await ended({}, strict);
		expect((await call(strict.url, `/v2/${site.ep}/status/${id}`)).json).toMatchObject({
			status: "CANCELLED",
		});
	});
});
