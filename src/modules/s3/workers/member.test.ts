import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { readEndpoint, serviceFaults } from "../../../kernel/launchers/endpoint-settings.ts";
import { encryption } from "../../../kernel/secrets/encryption.ts";
import { credentialsOf } from "../requests/credentials.ts";
import { hasFiles } from "./member.ts";
import { bucketVariables } from "./variables.ts";

const secret = encryption([new Uint8Array(32).fill(7)], randomBytes);
const publicUrl = "https://sluice.test/api";

function endpointWith(settings: object): Endpoint {
	const read = readEndpoint("pictures", { launcher: { type: "process", command: ["w"] }, ...settings });
	if (!read.ok) throw new Error(read.faults.map(({ field, message }) => `${field} ${message}`).join(" "));
	return read.endpoint;
}

describe("D60: the setting files", () => {
	it.each([{ files: true }, { files: {} }, { files: { epoch: 1 } }])("%j gives workers a bucket", (settings) => {
		const { keyId, secretKey } = credentialsOf(secret, "pictures", 1);
		expect(bucketVariables(endpointWith(settings), { publicUrl, secret })).toEqual({
			env: {
				BUCKET_ENDPOINT_URL: "https://sluice.test/api/s3",
				BUCKET_ACCESS_KEY_ID: keyId,
				BUCKET_SECRET_ACCESS_KEY: secretKey,
			},
			hidden: { BUCKET_SECRET_ACCESS_KEY: secretKey },
		});
	});

	it("a higher epoch has other credentials", () => {
		const given = bucketVariables(endpointWith({ files: { epoch: 2 } }), { publicUrl, secret });
		expect(given?.env["BUCKET_ACCESS_KEY_ID"]).toBe("sluice-pictures-2");
	});

	it.each([{}, { files: false }])("%j: none", (settings) => {
		const endpoint = endpointWith(settings);
		expect(hasFiles(endpoint)).toBe(false);
		expect(bucketVariables(endpoint, { publicUrl: undefined, secret })).toBeUndefined();
		expect(serviceFaults(endpoint, undefined)).toEqual([]);
	});

	it.each(["BUCKET_ENDPOINT_URL", "BUCKET_ACCESS_KEY_ID", "BUCKET_SECRET_ACCESS_KEY"])(
		"not beside a bucket that env names with %s",
		(name) => {
			const endpoint = endpointWith({ files: true, env: { [name]: "own" } });
			expect(bucketVariables(endpoint, { publicUrl, secret })).toBeUndefined();
		},
	);

	it("is refused without publicUrl, and a worker of a stored one does not start", () => {
		const endpoint = endpointWith({ files: true });
		expect(serviceFaults(endpoint, undefined)).toEqual([
			{ field: "files", message: expect.stringMatching(/^needs the option publicUrl: .* reach the service\.$/) },
		]);
		expect(serviceFaults(endpoint, publicUrl)).toEqual([]);
		expect(() => bucketVariables(endpoint, { publicUrl: undefined, secret })).toThrow(/needs the option publicUrl/);
	});

	it.each([
		{ files: "yes" },
		{ files: { epoch: 0 } },
		{ files: { epoch: 1.5 } },
		{ files: { other: 1 } },
		{ files: { epoch: null } },
	])("%j is refused", (settings) => {
		expect(() => endpointWith(settings)).toThrow(/^files/);
	});
});
