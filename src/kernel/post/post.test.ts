/**
 * One POST over real sockets: what is sent, what counts as an answer, where the connection goes
 * (spec 6, D21).
 */
import { type AddressInfo, createServer } from "node:net";
import { once } from "node:events";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { atOnce } from "../../../test/spec/hand-worker.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_HOST } from "../../../test/support/receiver-certificate.ts";
import { hangUp, silence, webhookReceiver, type WebhookReceiver } from "../../../test/support/webhook-receiver.ts";
import type { JsonText } from "../lib/json/json-text.ts";
import { hostResolver } from "./resolver.ts";
import { signedPost } from "./post.ts";
import type { Resolve } from "./target.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const never = new AbortController().signal;
let ends: (() => Promise<void>)[] = [];

afterEach(async () => {
	for (const end of ends) await end();
	ends = [];
});

async function receiver(q: Parameters<typeof webhookReceiver>[0] = {}): Promise<WebhookReceiver> {
	const made = await webhookReceiver(q);
	ends.push(made.end);
	return made;
}

function sender({ allowPrivateNetworks = true, resolve }: { allowPrivateNetworks?: boolean; resolve?: Resolve } = {}) {
	const clock = manualClock();
	const send = signedPost({
		clock,
		allowPrivateNetworks,
		userAgent: "Sluice/1.2.3",
		resolve: resolve ?? hostResolver({ clock }),
	});
	return {
		clock,
		send: (url: string, { body = "{}", signal = never }: { body?: JsonText; signal?: AbortSignal } = {}) =>
			send({ url, id: "msg_1", body, secrets: [SECRET], signal }),
	};
}

describe("a webhook's POST", () => {
	it("spec 6, D21: carries the body byte for byte, and its headers", async () => {
		const { received, url } = await receiver();
		const body = '{"output":"h\u00e9llo \u{1f600}","a":1.0,"a":12345678901234567890}';
		expect(await sender().send(`${url}/hook/x?token=1%202`, { body })).toEqual({ status: 200 });
		expect(received).toHaveLength(1);
		expect(received[0]).toMatchObject({ method: "POST", path: "/hook/x?token=1%202" });
		expect(received[0]!.body.toString()).toBe(body);
		expect(received[0]!.headers).toMatchObject({
			"content-type": "application/json",
			"user-agent": "Sluice/1.2.3",
			"content-length": String(Buffer.byteLength(body)),
			host: url.slice("http://".length),
			"webhook-id": "msg_1",
			"webhook-timestamp": "1800000000",
			"webhook-signature": expect.stringMatching(/^v1,[\w+/]{43}=$/),
		});
	});

	it("D21: carries a large body in blocks, signed as a whole", async () => {
		const { received, url } = await receiver();
		const { send } = sender();
		const whole = Buffer.from(`"${"é€😀".repeat(300_000)}"`);
		const blocks = Array.from({ length: Math.ceil(whole.length / 70_001) }, (_, index) =>
			whole.subarray(index * 70_001, (index + 1) * 70_001),
		);
		expect(await send(url, { body: blocks })).toEqual({ status: 200 });
		expect(await send(url, { body: whole.toString() })).toEqual({ status: 200 });
		expect(received[0]!.body.equals(whole)).toBe(true);
		for (const name of ["content-length", "webhook-signature"])
			expect(received[0]!.headers[name]).toBe(received[1]!.headers[name]);
	});

	it.each([200, 201, 204, 400, 404, 410, 429, 500, 503])("spec 6: returns the status %i", async (status) => {
		const { url } = await receiver({ reply: () => status });
		expect(await sender().send(url)).toEqual({ status });
	});

	it.each([301, 302, 303, 307, 308])("D21: follows no redirect (%i)", async (status) => {
		const other = await receiver();
		const { url } = await receiver({
			reply: () => (response) => response.writeHead(status, { location: other.url }).end(),
		});
		expect(await sender().send(url)).toEqual({ status });
		expect(other.received).toEqual([]);
	});

	it("D21: 10 s are all there is, exactly: one ms less is in time", async () => {
		const { url, arrived } = await receiver({ reply: () => silence });
		const { clock, send } = sender();
		let over = false;
		const answer = send(url).finally(() => (over = true));
		await arrived(1);
		await clock.advance(9999);
		expect(over).toBe(false);
		await clock.advance(1);
		expect(await atOnce(clock, answer)).toEqual({ error: "there was no answer within 10 s" });
	});

	it("D21: the lookup of the name is within the 10 s", async () => {
		const { clock, send } = sender({ resolve: () => new Promise(() => {}) });
		const answer = send("http://slow.example/");
		await clock.advance(10_000);
		expect(await answer).toEqual({ error: "there was no answer within 10 s" });
	});

	it("spec 6: a 200 counts although its body never ends; a huge one is not read to its end", async () => {
		const slow = await receiver({
			reply: () => (response) => response.writeHead(200).write("..."),
		});
		const { clock, send } = sender();
		const answer = send(slow.url);
		await slow.arrived(1);
		await clock.advance(10_000);
		expect(await answer).toEqual({ status: 200, answer: "..." });

		let written = 0;
		const huge = await receiver({
			reply: () => (response) => {
				response.writeHead(200);
				const more = (): void => {
					while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
				};
				response.on("drain", more);
				more();
			},
		});
		expect(await sender().send(huge.url)).toMatchObject({ status: 200 });
		expect(written).toBeLessThan(32 * 1024 * 1024);
	});

	it("D21: keeps the first 256 bytes of the answer, printable, a cut character left out", async () => {
		const answers = ["", "no  such\n\tjob", `\u001b[31m${"\u0000"}x\u202e`, `a${"\u00e9".repeat(200)}`];
		const { url } = await receiver({
			reply: (_, number) => (response) => response.writeHead(410).end(answers[number]),
		});
		const kept: unknown[] = [];
		for (let n = 0; n < answers.length; n += 1) kept.push(await sender().send(url));
		expect(kept).toEqual([
			{ status: 410 },
			{ status: 410, answer: "no such job" },
			{ status: 410, answer: "?[31m?x?" },
			{ status: 410, answer: `a${"\u00e9".repeat(127)}` },
		]);
	});

	it("spec 6: a receiver that hangs up, does not listen, or does not speak HTTP has not answered", async () => {
		const { url, end } = await webhookReceiver({ reply: () => hangUp });
		expect(await sender().send(url)).toEqual({
			error: "the connection was closed without an answer",
		});
		await end();
		expect(await sender().send(url)).toEqual({ error: "the connection was refused" });

		const rude = createServer((socket) => socket.on("error", () => {}).end("220 mail.example ESMTP\r\n"));
		rude.listen(0, "127.0.0.1");
		await once(rude, "listening");
		ends.push(async () => void rude.close());
		expect(await sender().send(`http://127.0.0.1:${(rude.address() as AddressInfo).port}/`)).toEqual({
			error: expect.stringMatching(/^the call failed \(HPE_\w+\)$/),
		});
	});

	it("spec 6: an answer before the body was read counts", async () => {
		const early = createServer((socket) =>
			socket.on("error", () => {}).end("HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
		);
		early.listen(0, "127.0.0.1");
		await once(early, "listening");
		ends.push(async () => void early.close());
		const { status, error } = await sender().send(`http://127.0.0.1:${(early.address() as AddressInfo).port}/`, {
			body: JSON.stringify("x".repeat(1000)),
		});
		expect({ status, error }).toEqual({ status: 413, error: undefined });
	});

	it("a signal that aborts rejects it, before and in the middle", async () => {
		const { url, arrived, received } = await receiver({ reply: () => silence });
		const stop = new AbortController();
		const answer = sender().send(url, { signal: stop.signal });
		await arrived(1);
		stop.abort();
		await expect(answer).rejects.toThrow();
		await expect(sender().send(url, { signal: stop.signal })).rejects.toThrow();
		expect(received).toHaveLength(1);
	});
});

describe("where it goes", () => {
	it("D21: a refused target is not called, and trying again is no use", async () => {
		const { url, received } = await receiver();
		expect(await sender({ allowPrivateNetworks: false }).send(url)).toEqual({
			error:
				"not sent: 127.0.0.1 is at a loopback address; webhooks.allowPrivateNetworks: true in sluice.yaml allows it",
			final: true,
		});
		expect(received).toEqual([]);
	});

	it("D21: the name is looked up once, and the address found is called, whatever a second answer were", async () => {
		const { port, received } = await receiver();
		let asked = 0;
		const resolve: Resolve = async () => [{ address: (asked += 1) === 1 ? "127.0.0.1" : "192.0.2.1", family: 4 }];
		expect(await sender({ resolve }).send(`http://rebind.example:${port}/`)).toEqual({
			status: 200,
		});
		expect(asked).toBe(1);
		expect(received[0]!.headers.host).toBe(`rebind.example:${port}`);
	});

	it("D21: an unknown name is a failed try, not a refusal", async () => {
		const resolve: Resolve = () =>
			Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND secret.example"), { code: "ENOTFOUND" }));
		expect(await sender({ resolve, allowPrivateNetworks: false }).send("http://secret.example/")).toEqual({
			error: "the host name is unknown",
		});
	});
});

describe("over TLS", () => {
	const resolve: Resolve = async () => [{ address: "127.0.0.1", family: 4 }];

	async function trusting<T>(work: () => Promise<T>): Promise<T> {
		const before = getCACertificates("default");
		setDefaultCACertificates([...before, RECEIVER_CERTIFICATE]);
		try {
			return await work();
		} finally {
			setDefaultCACertificates(before);
		}
	}

	it("D21: the certificate must be that of the host name, whatever address is called", async () => {
		const { port, received } = await receiver({ tls: true });
		await trusting(async () => {
			expect(await sender({ resolve }).send(`https://${RECEIVER_HOST}:${port}/hook`)).toEqual({
				status: 200,
			});
			expect(await sender({ resolve }).send(`https://${RECEIVER_HOST}.:${port}/dot`)).toEqual({
				status: 200,
			});
			expect(await sender({ resolve }).send(`https://other.test:${port}/`)).toEqual({
				error: "the certificate is for another host name",
			});
			expect(await sender({ resolve }).send(`https://127.0.0.1:${port}/`)).toEqual({
				error: "the certificate is for another host name",
			});
		});
		expect(received.map(({ path }) => path)).toEqual(["/hook", "/dot"]);
	});

	it("D21: a certificate that no authority signed is not taken", async () => {
		const { port, received } = await receiver({ tls: true });
		expect(await sender({ resolve }).send(`https://${RECEIVER_HOST}:${port}/`)).toEqual({
			error: expect.stringMatching(/SELF_SIGNED|VERIFY/),
		});
		expect(received).toEqual([]);
	});
});
