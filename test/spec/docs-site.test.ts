/** `/docs/` as files: pages of folders, redirects, and what a browser may load (D40). */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { folder, type Folder, startService, type TestService } from "../support/service.ts";
import { browser } from "./console/browser.ts";
import { expectError } from "./hand-worker.ts";
import type { RawAnswer } from "./raw-http.ts";

const GUIDE = `<!doctype html><title>TLS</title>${"x".repeat(2000)}`;
const FILES = {
	"index.html": "<!doctype html><title>Sluice</title>",
	"guides/tls/index.html": GUIDE,
	"guides/tls/index.html.gz": gzipSync(GUIDE),
	"assets/page.A1b2.css": "a{}",
};

let place: Folder;
let service: TestService;
let unbuilt: TestService;
beforeAll(async () => {
	place = folder();
	for (const [path, content] of Object.entries(FILES)) {
		mkdirSync(dirname(join(place.path, "docs", path)), { recursive: true });
		writeFileSync(join(place.path, "docs", path), content);
	}
	const siteFolders = { docs: join(place.path, "docs") };
	service = await startService({ endpoints: {}, siteFolders });
	unbuilt = await startService({ endpoints: {}, siteFolders: { docs: join(place.path, "none") } });
});
afterAll(async () => {
	await service.end();
	await unbuilt.end();
	place.remove();
});

const get = (path: string, headers: Record<string, string> = {}): Promise<RawAnswer> =>
	browser(service).send(path, { headers });

describe("/docs/", () => {
	it.each([
		["/docs/", FILES["index.html"], "no-cache"],
		["/docs/guides/tls/", GUIDE, "no-cache"],
		["/docs/assets/page.A1b2.css", "a{}", "public, max-age=31536000, immutable"],
	])("D40: %s needs no key and has an ETag", async (path, content, kept) => {
		const answer = await get(path);
		expect([answer.status, answer.text]).toEqual([200, content]);
		expect(answer.headers).toMatchObject({ "cache-control": kept });
		const again = await get(path, { "If-None-Match": answer.headers["etag"] as string });
		expect([again.status, again.text]).toEqual([304, ""]);
	});

	it("D40: is sent compressed", async () => {
		const answer = await get("/docs/guides/tls/", { "Accept-Encoding": "gzip" });
		expect(answer.headers["content-encoding"]).toBe("gzip");
	});

	it("D40: its policy allows own files only, and no inline script or style", async () => {
		const { headers } = await get("/docs/");
		const policy = String(headers["content-security-policy"]).split("; ");
		expect(policy).toEqual(
			expect.arrayContaining([
				"default-src 'none'",
				"script-src 'self' 'wasm-unsafe-eval'",
				"style-src 'self'",
				"connect-src 'self'",
			]),
		);
		expect(policy.join()).not.toMatch(/unsafe-inline|unsafe-eval(?<!wasm-unsafe-eval)|https?:|\*/);
	});

	it.each([
		["/docs", "docs/"],
		["/docs?endpoint=hello", "docs/api/?endpoint=hello"],
		["/docs?endpoint=%22%0d%0a", "docs/api/?endpoint=%22%0D%0A"],
		["/docs/api", "api/"],
		["/docs/guides/tls", "tls/"],
	])("D40: %s leads to %s, relative", async (path, to) => {
		const answer = await get(path);
		expect([answer.status, answer.headers["location"]]).toEqual([303, to]);
	});

	it.each(["/docs/guides/none/", "/docs/guides", "/docs/..%2fpackage.json", "/docs/index.html/"])(
		"D3: %s is not found",
		async (path) => expectError(await get(path), 404, "path_not_found"),
	);

	it("D40: where it was not built the page says how, and links to the API reference", async () => {
		const answer = await browser(unbuilt).send("/docs/");
		expect(answer.status).toBe(200);
		expect(answer.text).toContain("npm run site");
		expect(answer.text).toContain('href="api/"');
		expect(await browser(unbuilt).send("/docs/api/")).toMatchObject({ status: 200 });
	});
});
