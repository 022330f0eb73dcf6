/** `/console/` as files: what is served, how it is kept, and what it may do (D31, D38). */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { browser } from "./browser.ts";
import { expectError } from "../hand-worker.ts";
import type { RawAnswer } from "../raw-http.ts";

const PAGE = '<!doctype html><script type="module" src="./assets/app-B0a1.js"></script>';
const SCRIPT = `export const text = "${"x".repeat(5000)}";`;
const FILES = {
	"index.html": PAGE,
	"icon.svg": "<svg/>",
	"assets/app-B0a1.js": SCRIPT,
	"assets/app-B0a1.js.br": brotliCompressSync(SCRIPT),
	"assets/app-B0a1.js.gz": gzipSync(SCRIPT),
	"assets/app-C.css": "a{}",
	"strange.xyz": "?",
};

let place: Folder;
let service: TestService;
beforeAll(async () => {
	place = folder();
	for (const [path, content] of Object.entries(FILES)) {
		mkdirSync(dirname(join(place.path, "site/console", path)), { recursive: true });
		writeFileSync(join(place.path, "site/console", path), content);
	}
	writeFileSync(join(place.path, "site/secret.txt"), "secret");
	service = await startService({
		endpoints: { ep: {} },
		siteFolders: { console: join(place.path, "site/console") },
	});
});
afterAll(async () => {
	await service.end();
	place.remove();
});

const get = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<RawAnswer> =>
	browser(service).send(path, { method, headers });

describe("files", () => {
	it.each([
		["/console/", PAGE, "text/html; charset=utf-8", "no-cache"],
		["/console/index.html", PAGE, "text/html; charset=utf-8", "no-cache"],
		["/console/icon.svg", "<svg/>", "image/svg+xml", "no-cache"],
		["/console/assets/app-B0a1.js", SCRIPT, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
		["/console/assets/app-C.css", "a{}", "text/css; charset=utf-8", "public, max-age=31536000, immutable"],
		["/console/strange.xyz", "?", "application/octet-stream", "no-cache"],
	])(
		"D31: %s needs no key and has its type, and what hashes name is cached permanently",
		async (path, content, type, kept) => {
			const answer = await get(path);
			expect([answer.status, answer.text]).toEqual([200, content]);
			expect(answer.headers).toMatchObject({
				"content-type": type,
				"cache-control": kept,
				etag: expect.stringMatching(/^"[\w-]{22}"$/),
			});
			const head = await get(path, {}, "HEAD");
			expect([head.status, head.text, head.headers["content-length"], head.headers["etag"]]).toEqual([
				200,
				"",
				String(Buffer.byteLength(content)),
				answer.headers["etag"],
			]);
			for (const tag of [answer.headers["etag"]!, `W/${answer.headers["etag"]}`, `"x", ${answer.headers["etag"]}`]) {
				const same = await get(path, { "If-None-Match": tag });
				expect([same.status, same.text, same.headers["etag"], same.headers["cache-control"]]).toEqual([
					304,
					"",
					answer.headers["etag"],
					kept,
				]);
			}
			expect((await get(path, { "If-None-Match": '"x"' })).status).toBe(200);
		},
	);

	it("D31: every one of them allows nothing from elsewhere, and nothing in the page itself", async () => {
		for (const path of ["/console/", "/console/assets/app-B0a1.js", "/console/icon.svg"]) {
			const { headers } = await get(path);
			const policy = Object.fromEntries(
				headers["content-security-policy"]!.split("; ").map((each) => [
					each.slice(0, each.indexOf(" ")),
					each.slice(each.indexOf(" ") + 1),
				]),
			);
			expect(policy).toEqual({
				"default-src": "'none'",
				"script-src": "'self'",
				"style-src": "'self'",
				"connect-src": "'self'",
				"img-src": "'self' data: blob:",
				"media-src": "'self' data: blob:",
				"font-src": "'self'",
				"frame-ancestors": "'none'",
				"base-uri": "'none'",
				"form-action": "'self'",
			});
			expect(headers).toMatchObject({
				"x-content-type-options": "nosniff",
				"referrer-policy": "no-referrer",
			});
		}
	});

	it.each([
		["gzip, deflate, br, zstd", "br"],
		["gzip", "gzip"],
		["GZIP;q=0.5", "gzip"],
		["br;q=0, gzip", "gzip"],
		["br;q=0.2, gzip;q=0.8", "gzip"],
		["*", "br"],
		["br;q=0, *;q=0.1", "gzip"],
		["br;q=0.0", undefined],
		["identity", undefined],
		["", undefined],
		["brotli", undefined],
	])("Accept-Encoding %j gets %s", async (accepted, coding) => {
		const path = "/console/assets/app-B0a1.js";
		const raw = await get(path, { "Accept-Encoding": accepted }, "HEAD");
		expect([raw.headers["content-encoding"], raw.headers["vary"]]).toEqual([coding, "Accept-Encoding"]);
		// fetch unpacks it.
		const response = await fetch(service.url + path, { headers: { "accept-encoding": accepted } });
		expect(await response.text()).toBe(SCRIPT);
		const same = await get(path, {
			"Accept-Encoding": accepted,
			"If-None-Match": raw.headers["etag"]!,
		});
		expect(same.status).toBe(304);
		expect(
			(
				await get(path, {
					"Accept-Encoding": accepted,
					"If-None-Match": `"${raw.headers["etag"]!.slice(1, 23)}-other"`,
				})
			).status,
		).toBe(200);
	});

	it("compressed forms are no files of their own", async () => {
		expectError(await get("/console/assets/app-B0a1.js.br"), 404, "path_not_found");
	});

	it.each([
		"/console/../secret.txt",
		"/console/..%2fsecret.txt",
		"/console/%2e%2e/secret.txt",
		"/console/assets/../../secret.txt",
		"/console/..%5csecret.txt",
		"/console/%2e%2e%2fsecret.txt",
		"/console//etc/passwd",
		"/console/%2fetc%2fpasswd.txt",
		"/console/index.html%00.js",
		"/console/__proto__.js",
		"/console/missing.js",
		"/console/assets/missing.css",
	])("D3: %s is 404", async (path) => {
		const answer = await get(path);
		expectError(answer, 404, "path_not_found");
		expect(answer.text).not.toContain("secret\n");
	});
});

describe("ways to the console", () => {
	it.each([
		["/console", "/console/"],
		["/console/endpoints", "/console/"],
		["/console/endpoints/", "/console/"],
		["/console/endpoints/a/b", "/console/"],
		["/console/constructor", "/console/"],
	])("D31: %s leads to it, also below another path", async (path, wanted) => {
		for (const [base, under] of [
			["", wanted],
			["/sluice", `/sluice${wanted}`],
		]) {
			const { status, headers } = await get(path);
			expect(status).toBe(303);
			expect(new URL(headers["location"]!, `http://a${base}${path}`).pathname).toBe(under);
		}
	});

	it("D31: the root leads a browser to it, and is nothing for others", async () => {
		const answer = await get("/", { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
		expect([answer.status, answer.headers["location"]]).toEqual([303, "console/"]);
		for (const headers of [{}, { Accept: "*/*" }, { Accept: "application/json" }])
			expectError(await get("/", headers), 404, "path_not_found");
	});

	it("D3: what is no file takes no other method", async () => {
		expectError(await get("/console/", {}, "POST"), 405, "method_not_allowed");
	});
});

it("D31: where the console was not built the page says how, and it is there once it is", async () => {
	const site = join(place.path, "later");
	const own = await startService({ endpoints: {}, siteFolders: { console: site } });
	const asked = (path: string): Promise<RawAnswer> => browser(own).send(path);
	expect(await asked("/console/")).toMatchObject({
		status: 200,
		text: expect.stringContaining("npm run build"),
		headers: {
			"content-type": "text/html; charset=utf-8",
			"cache-control": "no-store",
			"content-security-policy": expect.stringContaining("default-src 'none'"),
		},
	});
	expectError(await asked("/console/app.js"), 404, "path_not_found");
	mkdirSync(site);
	writeFileSync(join(site, "index.html"), PAGE);
	expect((await asked("/console/")).text).toBe(PAGE);
	expect((await call(own.url, "/healthz", { key: null })).status).toBe(200);
	await own.end();
});
