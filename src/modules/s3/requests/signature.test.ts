import { describe, expect, it } from "vitest";
import { readSignature, type SentRequest, signedLink, verify } from "./signature.ts";

/** The examples of AWS's documentation of Signature Version 4 for S3. */
const SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const NOW = Date.UTC(2013, 4, 24);
const HOST = "examplebucket.s3.amazonaws.com";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

function request(given: Partial<SentRequest> & { sent?: Record<string, string> }): SentRequest {
	const headers = new Map(Object.entries(given.sent ?? {}).map(([name, value]) => [name, [value]]));
	return { method: "GET", path: "/test.txt", query: [], headers, ...given };
}

function byHeader(signedHeaders: string, signature: string, sent: Record<string, string>): Record<string, string> {
	const credential = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request";
	return {
		authorization: `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${signedHeaders},Signature=${signature}`,
		"x-amz-date": "20130524T000000Z",
		...sent,
	};
}

const RANGE = byHeader(
	"host;range;x-amz-content-sha256;x-amz-date",
	"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
	{ range: "bytes=0-9", "x-amz-content-sha256": EMPTY },
);

const LINK: readonly (readonly [string, string])[] = [
	["X-Amz-Algorithm", "AWS4-HMAC-SHA256"],
	["X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"],
	["X-Amz-Date", "20130524T000000Z"],
	["X-Amz-Expires", "86400"],
	["X-Amz-SignedHeaders", "host"],
	["X-Amz-Signature", "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"],
];

function code(sent: SentRequest, { now = NOW, secrets = [SECRET], hosts = [HOST] } = {}): string {
	try {
		const places = hosts.map((host) => ({ host, path: sent.path }));
		verify(sent, readSignature(sent), { secrets, places, now });
		return "ok";
	} catch (error) {
		return (error as { s3Code: string }).s3Code;
	}
}

const replaced = (name: string, value: string) =>
	LINK.map((pair) => (pair[0] === name ? ([name, value] as const) : pair));

describe("D59: a signed request", () => {
	it.each([
		["a range", request({ sent: RANGE })],
		["a link", request({ query: LINK })],
		[
			"a list",
			request({
				path: "/",
				query: [
					["max-keys", "2"],
					["prefix", "J"],
				],
				sent: byHeader(
					"host;x-amz-content-sha256;x-amz-date",
					"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
					{ "x-amz-content-sha256": EMPTY },
				),
			}),
		],
		[
			"a parameter without a value",
			request({
				path: "/",
				query: [["lifecycle", ""]],
				sent: byHeader(
					"host;x-amz-content-sha256;x-amz-date",
					"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
					{ "x-amz-content-sha256": EMPTY },
				),
			}),
		],
	])("that AWS gives as an example is accepted: %s", (_, sent) => {
		expect(code(sent)).toBe("ok");
		expect(code(sent, { secrets: ["other", SECRET], hosts: ["other", HOST] })).toBe("ok");
	});

	it.each([
		["another method", request({ query: LINK, method: "PUT" }), {}],
		["another path", request({ query: LINK, path: "/test.tx" }), {}],
		["another query", request({ query: [...LINK, ["a", ""]] }), {}],
		["another header", request({ sent: { ...RANGE, range: "bytes=0-8" } }), {}],
		["another body", request({ sent: { ...RANGE, "x-amz-content-sha256": "0".repeat(64) } }), {}],
		["another secret", request({ sent: RANGE }), { secrets: ["other"] }],
		["another host", request({ query: LINK }), { hosts: ["evil.example"] }],
	])("is refused with %s", (_, sent, known) => {
		expect(code(sent, known)).toBe("SignatureDoesNotMatch");
	});

	it.each([
		["15 minutes before", request({ sent: RANGE }), NOW - 900_000, "ok"],
		["earlier", request({ sent: RANGE }), NOW - 900_001, "RequestTimeTooSkewed"],
		["15 minutes after", request({ sent: RANGE }), NOW + 900_000, "ok"],
		["later", request({ sent: RANGE }), NOW + 900_001, "RequestTimeTooSkewed"],
		["at the end of a link", request({ query: LINK }), NOW + 86_400_000, "ok"],
		["after its end", request({ query: LINK }), NOW + 86_400_001, "AccessDenied"],
		["before a link", request({ query: LINK }), NOW - 900_001, "RequestTimeTooSkewed"],
	])("has a time: %s", (_, sent, now, expected) => {
		expect(code(sent, { now })).toBe(expected);
	});

	it.each([
		["no signature", request({}), "AccessDenied"],
		["a key of Sluice", request({ sent: { authorization: "Bearer x" } }), "AccessDenied"],
		["version 2", request({ sent: { authorization: "AWS AKIA:x" } }), "NotImplemented"],
		["a link of version 2", request({ query: [["AWSAccessKeyId", "x"]] }), "NotImplemented"],
		[
			"parts missing",
			request({ sent: { ...RANGE, authorization: "AWS4-HMAC-SHA256 x" } }),
			"AuthorizationHeaderMalformed",
		],
		["no date", request({ sent: { ...RANGE, "x-amz-date": "" } }), "AuthorizationHeaderMalformed"],
		["another day", request({ sent: { ...RANGE, "x-amz-date": "20130525T000000Z" } }), "AuthorizationHeaderMalformed"],
		["no host", request({ query: replaced("X-Amz-SignedHeaders", "date") }), "AuthorizationQueryParametersError"],
		["too long a life", request({ query: replaced("X-Amz-Expires", "604801") }), "AuthorizationQueryParametersError"],
		["no life", request({ query: replaced("X-Amz-Expires", "0") }), "AuthorizationQueryParametersError"],
		["a header of S3 that is not signed", request({ query: LINK, sent: { "x-amz-acl": "private" } }), "AccessDenied"],
	])("is refused with %s", (_, sent, expected) => {
		expect(code(sent)).toBe(expected);
	});
});

it("D59: a link is signed as AWS's example", () => {
	const link = signedLink(
		`https://${HOST}/test.txt`,
		{ keyId: "AKIAIOSFODNN7EXAMPLE", secretKey: SECRET },
		{ now: NOW, expires: 86_400 },
	);
	expect(link).toContain(`https://${HOST}/test.txt?X-Amz-Algorithm=`);
	expect(new URL(link).searchParams.get("X-Amz-Signature")).toBe(LINK.at(-1)![1]);
});
