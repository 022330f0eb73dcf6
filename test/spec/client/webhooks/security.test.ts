/** Webhooks (D21): the signature, the secret, and the addresses that are refused. */
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { writtenIn } from "../../../support/service-store.ts";
import { call, folder, startService, type TestService } from "../../../support/service.ts";
import type { Received } from "../../../support/webhook-receiver.ts";
import { endWith } from "../../hand-worker.ts";
import { ALLOW, SECRET, webhookSite } from "./site.ts";

const site = webhookSite();
const { hand, clock, ended, over, arrived } = site;
describe("the signature", () => {
	it("D21: is verified by the official library; another body, time or secret is not", async () => {
		await ended();
		const [request] = await arrived(1);
		// The library takes 5 minutes of difference between its clock and the request's.
		const sentAt = Number(request!.headers["webhook-timestamp"]) * 1000;
		const libraryClock = vi.spyOn(Date, "now").mockReturnValue(sentAt);
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
			expect(() => new Webhook(`whsec_${Buffer.alloc(32, 6).toString("base64")}`).verify(text, headers)).toThrow();
		} finally {
			libraryClock.mockRestore();
		}
	});

	const signedWith = (secret: string, { headers, body }: Received): boolean =>
		String(headers["webhook-signature"]).split(" ")[0] ===
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
		const made = await own.engine.endpoints.renewWebhookSecret(site.ep);
		expect(made).toMatch(/^whsec_[\w+/]{43}=$/);
		expect(signedWith(made, first!)).toBe(false);
		await ended({}, own);
		expect(signedWith(made, (await arrived(2))[1]!)).toBe(true);
		await endWith(own, hand);
		own = await start();
		await ended({}, own);
		expect(signedWith(made, (await arrived(3))[2]!)).toBe(true);
		await expect(own.engine.endpoints.renewWebhookSecret("none")).rejects.toMatchObject({
			code: "endpoint_not_found",
		});
		await endWith(own, hand);
		place.remove();
	});

	it("D21: a replaced secret signs too until the overlap ends; without overlap it does not", async () => {
		const { engine } = site.service;
		const path = `/v1/endpoints/${site.ep}`;
		const verifies = (secret: string, { headers, body }: Received): boolean => {
			const sentAt = Number(headers["webhook-timestamp"]) * 1000;
			const libraryClock = vi.spyOn(Date, "now").mockReturnValue(sentAt);
			try {
				new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
				return true;
			} catch {
				return false;
			} finally {
				libraryClock.mockRestore();
			}
		};
		const renewed = await call(site.service.url, `${path}/webhook-secret?overlap=60`, {
			method: "POST",
		});
		const { webhookSecret: second, formerWebhookSecretUntil: until } = renewed.json;
		expect((await call(site.service.url, path)).json.formerWebhookSecretUntil).toBe(until);
		await ended();
		const [both] = await arrived(1);
		expect([SECRET, second].map((secret) => verifies(secret, both!))).toEqual([true, true]);
		await hand.advance(60_000);
		expect((await call(site.service.url, path)).json.formerWebhookSecretUntil).toBeUndefined();
		await ended();
		const one = (await arrived(2))[1];
		expect([SECRET, second].map((secret) => verifies(secret, one!))).toEqual([false, true]);
		const third = await engine.endpoints.renewWebhookSecret(site.ep, 0);
		await ended();
		const last = (await arrived(3))[2];
		expect([second, third].map((secret) => verifies(secret, last!))).toEqual([false, true]);
	});

	it("D21: secrets lie nowhere in clear: not in the store, not in what the engine knows of an endpoint", async () => {
		const made = await site.service.engine.endpoints.renewWebhookSecret(site.ep);
		const kept = Buffer.concat(await writtenIn(site.service.folder.path));
		for (const secret of [SECRET, made])
			for (const form of [secret, secret.slice("whsec_".length)]) expect(kept.includes(form)).toBe(false);
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
		["a name of this machine", () => `http://localhost:${site.receiver.port}${site.path}`, "localhost is this machine"],
		["another spelling of loopback", () => `http://0x7f.1:${site.receiver.port}${site.path}`, "a loopback address"],
		["IPv6 around loopback", () => `http://[::ffff:127.0.0.1]:${site.receiver.port}${site.path}`, "a loopback address"],
		["cloud metadata", () => "http://169.254.169.254/latest/meta-data", "a link-local address"],
		["a private network", () => "https://10.1.2.3/", "a private address"],
	])("D21: %s is refused at submission, with the reason and without user and password", async (_name, url, reason) => {
		const webhook = url().replace("//", "//name-word:pass-word@");
		for (const operation of ["run", "runsync"]) {
			const answer = await call(strict.url, `/v2/${site.ep}/${operation}`, { body: { input: {}, webhook } });
			expect([answer.status, answer.json.code, answer.json.details[0].field]).toEqual([400, "bad_request", "webhook"]);
			expect(answer.json.error).toContain(reason);
			expect(answer.text).not.toContain("-word");
		}
		expect(site.count).toBe(0);
	});

	it("D21: the job itself is untouched by what becomes of its webhook", async () => {
		const id = await ended({ webhook: "http://receiver.invalid:1/" }, strict);
		expect((await call(strict.url, `/v2/${site.ep}/status/${id}`)).json).toMatchObject({
			status: "CANCELLED",
		});
	});
});

describe("user and password of the address", () => {
	it("D21: are sent as Basic, and shown in no answer, whatever the receiver answers with", async () => {
		const url = site.hook.replace("//", "//name-word:pass%3Aword@");
		const basic = Buffer.from("name-word:pass:word").toString("base64");
		site.reply(
			(number) => (response) => response.writeHead(number === 0 ? 500 : 200).end(`you sent Basic ${basic}, pass:word`),
		);
		const id = await ended({ webhook: url });
		await over(id);
		const [first] = await arrived(2);
		expect(first!.headers.authorization).toBe(`Basic ${basic}`);
		expect(first!.headers.host).toBe(new URL(url).host);
		expect(JSON.parse(first!.body.toString()).webhook).toBe(site.hook);
		const { url: at } = site.service;
		const [delivery] = (await call(at, `/v1/webhooks?job=${id}`)).json.deliveries;
		const shown = [
			first!.body.toString(),
			...(await Promise.all(
				[`/v1/endpoints/${site.ep}/jobs/${id}`, "/v1/webhooks", `/v1/webhooks/${delivery.id}`, "/v1/logs"].map(
					async (path) => (await call(at, path)).text,
				),
			)),
		];
		expect(delivery.url).toBe(site.hook);
		expect(delivery.tries[0].answer).toContain("you sent");
		for (const text of shown)
			for (const word of ["name-word", "pass:word", "pass%3Aword", basic]) expect(text).not.toContain(word);
	});

	it("D21: a service without webhooks refuses a submission with one, and takes those without", async () => {
		const { hooks } = site.service.engine;
		const { webhookFault } = hooks;
		delete hooks.webhookFault;
		try {
			const submit = (body: object) => call(site.service.url, `/v2/${site.ep}/run`, { body: { input: {}, ...body } });
			expect((await submit({ webhook: site.hook })).json).toMatchObject({
				code: "bad_request",
				details: [{ field: "webhook", message: "can never be sent: this service sends no webhooks." }],
			});
			expect((await submit({})).status).toBe(200);
		} finally {
			Object.assign(hooks, { webhookFault });
		}
	});
});
