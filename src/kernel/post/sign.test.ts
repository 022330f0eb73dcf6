/**
 * The signature, against the official library and the example of the Standard Webhooks text (D21).
 */
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { signedHeaders } from "./post.ts";

describe("signatures", () => {
	it("D21: are what the official library makes, for texts beyond ASCII too", () => {
		for (const body of ["{}", '{"output":"héllo \\u0000 \u{1f600}"}', `"${"x".repeat(100_000)}"`]) {
			const secret = `whsec_${randomBytes(32).toString("base64")}`;
			const headers = signedHeaders({
				id: "msg_1",
				at: 1_800_000_000_999,
				body,
				secrets: [secret],
			});
			expect(headers).toEqual({
				"webhook-id": "msg_1",
				"webhook-timestamp": "1800000000",
				"webhook-signature": new Webhook(secret).sign("msg_1", new Date(1_800_000_000_999), body),
			});
		}
	});

	it("D21: of two secrets, the official library takes either", () => {
		const secrets = [1, 2, 3].map((n) => `whsec_${Buffer.alloc(32, n).toString("base64")}`);
		const body = '{"n":1}';
		const headers = signedHeaders({
			id: "msg_1",
			at: Date.now(),
			body,
			secrets: secrets.slice(0, 2),
		});
		for (const secret of secrets.slice(0, 2)) expect(new Webhook(secret).verify(body, headers)).toEqual({ n: 1 });
		expect(() => new Webhook(secrets[2]!).verify(body, headers)).toThrow();
	});

	it("D21: depend on id, time, body and secret", () => {
		const plain = {
			id: "msg_1",
			at: 1_800_000_000_000,
			body: "{}",
			secrets: [`whsec_${Buffer.alloc(32, 1).toString("base64")}`],
		};
		const others = [
			{ id: "msg_2" },
			{ at: 1_800_000_001_000 },
			{ body: "{ }" },
			{ secrets: [`whsec_${Buffer.alloc(32, 2).toString("base64")}`] },
		];
		const signatures = [plain, ...others.map((other) => ({ ...plain, ...other }))].map(
			(each) => signedHeaders(each)["webhook-signature"],
		);
		expect(new Set(signatures).size).toBe(5);
	});
});
