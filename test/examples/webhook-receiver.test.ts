/**
 * The webhook receiver of the examples, as a process, against a real service and against forgeries.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signedHeaders } from "../../src/kernel/post/post.ts";
import { call, startService } from "../support/service.ts";

const FILE = fileURLToPath(new URL("../../examples/webhook-receiver/receiver.js", import.meta.url));
const SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

let child: ReturnType<typeof run>;
let lines: AsyncIterator<string>;
let url: string;

function run(secret: string) {
	return spawn(process.execPath, [FILE], {
		env: { ...process.env, WEBHOOK_SECRET: secret, PORT: "0" },
		stdio: ["ignore", "pipe", "pipe"],
	});
}

const line = async (): Promise<string> => (await lines.next()).value;

beforeAll(async () => {
	child = run(SECRET);
	lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	url = /http:\S+/.exec(await line())![0];
});
afterAll(async () => {
	child.kill();
	await once(child, "exit");
});

async function post(
	body: string,
	q: { id?: string; at?: number; secret?: string; sent?: string } = {},
): Promise<number> {
	const headers = signedHeaders({
		id: q.id ?? "msg_1",
		at: q.at ?? Date.now(),
		body,
		secrets: [q.secret ?? SECRET],
	});
	return (await fetch(url, { method: "POST", headers, body: q.sent ?? body })).status;
}

describe("webhook receiver example", () => {
	it("D21: takes what the service sends and prints the job", async () => {
		const service = await startService({
			endpoints: { ep: { webhookSecret: SECRET } },
			settings: { webhooks: { allowPrivateNetworks: true } },
		});
		const delivered = service.next("webhook.delivered");
		const { json } = await call(service.url, "/v2/ep/run", { body: { input: {}, webhook: url } });
		await call(service.url, `/v2/ep/cancel/${json.id}`, { method: "POST" });
		await delivered;
		expect(await line()).toBe(`${json.id} CANCELLED `);
		await service.end();
	});

	it("D21: answers 401 to what is not signed, changed, too old or of another secret; a repeat once", async () => {
		const body = '{"id":"j","status":"COMPLETED","output":{"a":1}}';
		expect((await fetch(url, { method: "POST", body })).status).toBe(401);
		expect(await post(body, { sent: body.replace("j", "k") })).toBe(401);
		expect(await post(body, { at: Date.now() - 310_000 })).toBe(401);
		expect(await post(body, { secret: `whsec_${Buffer.alloc(32, 8).toString("base64")}` })).toBe(401);
		expect(await post(body)).toBe(200);
		expect(await post(body)).toBe(200);
		expect(await post('{"id":"l","status":"FAILED","error":"no"}', { id: "msg_2" })).toBe(200);
		expect([await line(), await line()]).toEqual(['j COMPLETED {"a":1}', 'l FAILED "no"']);
	});

	it("outlives a caller that hangs up in the middle", async () => {
		const caller = connect(Number(new URL(url).port), "127.0.0.1");
		caller.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", () => caller.destroy());
		await once(caller, "close");
		expect(await post("{}")).toBe(200);
	});

	it("says what it needs when the secret is missing", async () => {
		const bare = run("");
		const exited = once(bare, "exit");
		expect(String(await once(bare.stderr, "data"))).toContain("WEBHOOK_SECRET");
		expect(await exited).toEqual([2, null]);
	});
});
