/** Signatures, next to those of another implementation (D61). */
import { AwsClient } from "aws4fetch";
import fc from "fast-check";
import { expect, it } from "vitest";
import { NO_BODY, queryText, signedHeaders } from "./sign.ts";

const KEY = { accessKeyId: "AKID", secretAccessKey: "a/secret+of=letters", region: "eu-north-1" };
const NOW = Date.UTC(2026, 10, 30, 12, 34, 56, 789);

it("D61: requests are signed as another client signs them, whatever is in their query", async () => {
	const client = new AwsClient({ ...KEY, service: "s3" });
	const name = fc.constantFrom("prefix", "list-type", "uploadId", "uploads", "continuation-token", "partNumber");
	const query = fc.dictionary(name, fc.string({ unit: "grapheme" }), { maxKeys: 4 });
	await fc.assert(
		fc.asyncProperty(fc.constantFrom("GET", "PUT", "DELETE"), query, async (method, given) => {
			const path = "/s3/bucket/a/file-0";
			const [host, payload] = ["s3.example.com:9000", NO_BODY];
			const own = signedHeaders({ method, host, path, query: given, payload }, KEY, NOW);
			const other = await client.sign(`https://${host}${path}?${queryText(given)}`, {
				method,
				headers: { "x-amz-content-sha256": payload },
				aws: { datetime: "20261130T123456Z" },
			});
			expect(own["authorization"]).toBe(other.headers.get("authorization"));
		}),
		{ numRuns: 100 },
	);
});
