/** `/docs/api/` and `/openapi.json`: without a key, so they must cost next to nothing. */
import type { IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { request } from "../../support/transport.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: {} });
});
afterAll(() => service.end());

interface Answer {
	status: number | undefined;
	headers: IncomingHttpHeaders;
	body: Buffer;
}

/** The body as it was sent, not decoded. */
function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
	return new Promise((resolve, reject) => {
		request(service.url + path, { headers }, (response) => {
			const { statusCode: status, headers } = response;
			buffer(response).then((body) => resolve({ status, headers, body }), reject);
		})
			.on("error", reject)
			.end();
	});
}

it.each(["/docs/api/", "/openapi.json"])(
	"D40: %s is kept as compressed bytes, with an ETag for each coding",
	async (path) => {
		const plain = await get(path);
		expect([plain.status, plain.headers["content-encoding"]]).toEqual([200, undefined]);
		for (const [coding, decoded] of [
			["br", brotliDecompressSync],
			["gzip", gunzipSync],
		] as const) {
			const packed = await get(path, { "Accept-Encoding": coding });
			expect(packed.headers["content-encoding"]).toBe(coding);
			expect(decoded(packed.body).equals(plain.body)).toBe(true);
			expect(packed.headers["vary"]).toContain("Accept-Encoding");
			expect(packed.headers["etag"]).not.toBe(plain.headers["etag"]);
			const same = await get(path, {
				"Accept-Encoding": coding,
				"If-None-Match": packed.headers["etag"]!,
			});
			expect([same.status, same.body.length]).toEqual([304, 0]);
		}
		const unpacked = await get(path, { "If-None-Match": plain.headers["etag"]! });
		expect(unpacked.status).toBe(304);
	},
);
