/**
 * Section 6: the webhook at the end of a job (D21). The clock is turned by hand; receivers are real
 * servers on loopback.
 */
import { describe, expect, it } from "vitest";
import { advanceUntil } from "../../../support/manual-clock.ts";
import { call } from "../../../support/service.ts";
import { hangUp, type Reply, silence, webhookReceiver } from "../../../support/webhook-receiver.ts";
import { atOnce, handWorker, submitted } from "../../hand-worker.ts";
import { webhookSite } from "./site.ts";

const site = webhookSite();
const { hand, clock, submit, cancel, deliveries, deliveryOf, over, arrived, delivered, failed } = site;

describe("what is sent", () => {
	const ends: Record<string, { status: string; body?: object; end: (id: string) => Promise<unknown> }> = {
		"a result": {
			status: "COMPLETED",
			end: async (id) => {
				const worker = await handWorker(site.service, site.ep);
				await worker.takeThis(id);
				await hand.advance(1234);
				await worker.done(id, '{"output": {"a": 1.0, "b": 12345678901234567890, "a": "\\u00e9\u{1f600}"}}');
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
		"spec 6, D21: %s brings the same JSON as /status with input and webhook, once",
		async (_name, { status, body, end }) => {
			const id = await submit(body);
			const done = delivered(id);
			await end(id);
			await atOnce(hand, done);
			const { text, json } = await call(site.service.url, `/v2/${site.ep}/status/${id}`);
			expect(json.status).toBe(status);
			const [request, ...others] = await arrived(1);
			expect(others).toEqual([]);
			expect(request!.body.toString()).toBe(`${text.slice(0, -1)},"input":{},"webhook":"${site.hook}"}`);
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
		expect(request!.body.toString()).toBe(`${(await answer).text.slice(0, -1)},"input":{},"webhook":"${site.hook}"}`);
		expect(site.count).toBe(1);
	});

	it("D11: purged jobs send none", async () => {
		const id = await submit();
		expect((await call(site.service.url, `/v2/${site.ep}/purge-queue`, { method: "POST" })).json.removed).toBe(1);
		await hand.advance(30_000);
		expect(await deliveries(id)).toEqual([]);
		expect(site.count).toBe(0);
	});

	it("D5, D21: the input comes byte for byte; not where webhooks.input is false", async () => {
		const input = '{"order_id": 12345678901234567890, "a":1.0,  "a":"\\u00e9\u{1f600}"}';
		const ended = async (): Promise<string> => {
			const { json } = await call(site.service.url, `/v2/${site.ep}/run`, {
				text: `{"webhook": "${site.hook}?b=%20\\u0041", "input": ${input} }`,
			});
			const done = delivered(json.id);
			await cancel(json.id);
			await atOnce(hand, done);
			return json.id as string;
		};
		await ended();
		const path = `/v1/endpoints/${site.ep}`;
		await call(site.service.url, path, { method: "PATCH", body: { webhooks: { input: false } } });
		const id = await ended();
		const { text } = await call(site.service.url, `/v2/${site.ep}/status/${id}`);
		const webhook = `,"webhook":"${site.hook}?b=%20A"}`;
		const [whole, without] = (await atOnce(hand, site.receiver.arrived(2, `${site.path}?b=%20A`))).map(({ body }) =>
			body.toString(),
		);
		expect(whole!.slice(whole!.indexOf(',"input"'))).toBe(`,"input":${input}${webhook}`);
		expect(without).toBe(text.slice(0, -1) + webhook);
	});

	it("D9, D21: a job without retention sends its result, and not the input, which is erased at its end", async () => {
		await call(site.service.url, `/v1/endpoints/${site.ep}`, { method: "PATCH", body: { retention: { run: 0 } } });
		const worker = await handWorker(site.service, site.ep);
		const id = await submit();
		await worker.takeThis(id);
		const done = delivered(id);
		await worker.done(id, { output: 1 });
		await hand.advance(1000);
		await atOnce(hand, done);
		const [request] = await arrived(1);
		expect(JSON.parse(request!.body.toString())).toMatchObject({ id, output: 1, webhook: site.hook });
	});

	it("D9, D21: the body is kept as it was at the end, when the result has expired, without the input", async () => {
		site.reply((number) => (number === 0 ? 500 : 200));
		const id = await submit();
		const worker = await handWorker(site.service, site.ep);
		await worker.takeThis(id);
		const again = failed(id);
		await worker.done(id, { output: "kept" });
		await atOnce(hand, again);
		const { text } = await call(site.service.url, `/v2/${site.ep}/status/${id}?ttl=0`);
		expect((await call(site.service.url, `/v2/${site.ep}/status/${id}`)).status).toBe(404);
		await hand.advance(10_000);
		const requests = await arrived(2);
		const [head, webhook] = [text.slice(0, -1), `,"webhook":"${site.hook}"}`];
		expect(requests.map(({ body }) => body.toString())).toEqual([`${head},"input":{}${webhook}`, head + webhook]);
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
				expect(row.tries.at(-1)).toMatchObject(typeof outcome === "number" ? { status: outcome } : { error: outcome });
			}
			await hand.advance(60_000);
			const requests = await arrived(3);
			expect(site.count).toBe(3);
			expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
			expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
			const [first, second, third] = requests.map(({ headers }) => Number(headers["webhook-timestamp"]));
			const apart = reply === silence ? 20 : 10;
			expect([second! - first!, third! - second!]).toEqual([apart, apart]);
			expect(site.receiver.received.filter((each) => each.path === "/redirected")).toEqual([]);
		},
	);

	it("spec 6: a receiver that is down gets it when it is back", async () => {
		const closed = await webhookReceiver();
		await closed.end();
		const id = await submit({ webhook: `${closed.url}/late` });
		const fault = failed(id);
		await cancel(id);
		expect(await atOnce(hand, fault)).toMatchObject({ reason: "the connection was refused" });
		const back = await webhookReceiver({ port: closed.port });
		const done = delivered(id);
		await hand.advance(10_000);
		await atOnce(hand, done);
		expect(back.received).toHaveLength(1);
		expect((await deliveryOf(id)).tries).toMatchObject([{ error: "the connection was refused" }, { status: 200 }]);
		await back.end();
	});

	it("D21: one that failed or was delivered is sent again on demand, with new tries; not in flight", async () => {
		site.reply((number) => (number < 4 ? 500 : 200));
		const id = await submit();
		const first = failed(id);
		await cancel(id);
		await atOnce(hand, first);
		const delivery = await deliveryOf(id);
		const redeliver = async (each: string): Promise<{ code?: string }> =>
			(await call(site.service.url, `/v1/webhooks/${each}/redeliver`, { method: "POST" })).json;
		expect(await redeliver(delivery.id)).toMatchObject({ code: "delivery_pending" });
		expect(await redeliver("msg_none")).toMatchObject({ code: "delivery_not_found" });
		expect(await over(id)).toMatchObject({ state: "failed", used: 3 });

		const fault = failed(id);
		await redeliver(delivery.id);
		expect(await atOnce(hand, fault)).toMatchObject({ retryMs: 10_000 });
		const done = delivered(id);
		await hand.advance(10_000);
		await atOnce(hand, done);
		expect(await deliveryOf(id)).toMatchObject({
			state: "delivered",
			used: 2,
			tries: [{}, {}, {}, {}, { status: 200 }],
		});

		const redelivered = delivered(id);
		await redeliver(delivery.id);
		await atOnce(hand, redelivered);
		expect(new Set((await arrived(6)).map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([delivery.id]));
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
		expect((await call(site.service.url, `/v2/${site.ep}/retry/${id}`, { method: "POST" })).status).toBe(200);
		await worker.takeThis(id);
		const second = delivered(id);
		await worker.done(id, { output: "second" });
		await atOnce(hand, second);
		const last = delivered(id);
		let sent = false;
		void last.then(() => (sent = true));
		await advanceUntil(hand, () => sent, 1000);
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
