import { afterEach, describe, expect, it } from "vitest";
import { notPublic } from "../../../../../src/kernel/post/address.ts";
import { httpServer, manualClock, type TestServer } from "../../../../../test/support/worker-kit/http-servers.ts";
import { jobOf, mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";
import type { Job } from "../../types.ts";
import { isPublic } from "./address.ts";
import { serverAt } from "./connection.ts";
import { exchange, type RequestBody } from "./exchange.ts";
import { fetchFile } from "./file-url.ts";
import { jobValues, prepareRequest } from "./request.ts";

const servers: TestServer[] = [];
afterEach(async () => {
	for (const server of servers.splice(0)) await server.close();
});

async function prepared(value: object, job: Job, env: Record<string, string> = {}, ownFiles?: string) {
	const mapping = mappingOf(value);
	const values = jobValues(job, { mapping, env, port: 8000 });
	const context = {
		urls: mapping.urls,
		ownFiles,
		fetched: { files: 0, bytes: 0 },
		randomId: () => "b0",
		connectMs: 5000,
		clock: systemClock,
	};
	const request = await prepareRequest(mapping.request, values, context);
	return { ...request, text: await textOf(request.body), idempotencyKey: values.idempotencyKey };
}

async function textOf(body: RequestBody | undefined): Promise<string | undefined> {
	if (!body) return undefined;
	const pieces: Buffer[] = [];
	for await (const piece of body.pieces()) pieces.push(Buffer.from(piece));
	const all = Buffer.concat(pieces);
	expect(all.length).toBe(body.length);
	return all.toString("latin1");
}

describe("prepareRequest", () => {
	it("sends the input byte for byte, under defaults, with ids of the job", async () => {
		const input = '{ "seed": 9223372036854775807, "x": 1.0}';
		const request = await prepared(
			{ request: { path: "/run", defaults: { steps: 20, x: 2 } } },
			jobOf(input, { run: 2 }),
		);
		expect(request).toMatchObject({
			method: "POST",
			path: "/run",
			idempotencyKey: "7f-2",
			text: '{"steps":20, "seed": 9223372036854775807, "x": 1.0}',
			headers: {
				"content-type": "application/json",
				"x-request-id": "sync-7f",
				"user-agent": expect.stringMatching(/^Sluice-HTTP\/\d/),
			},
		});
		expect((await prepared({}, jobOf("[1.0]"))).text).toBe("[1.0]");
		expect((await prepared({ request: { defaults: { a: 1 } } }, jobOf("{ }"))).text).toBe('{"a":1}');
	});

	it("a service that does not number runs has one key", async () => {
		expect((await prepared({}, jobOf({}))).idempotencyKey).toBe("7f-1");
	});

	it("fills path, query, headers and a JSON template", async () => {
		const request = await prepared(
			{
				request: {
					method: "PUT",
					path: "/m/{input.model}?v=1",
					query: { lang: "{input.lang}", none: "{input.none}", q: "a b&{job.uuid}" },
					headers: { authorization: "Bearer {env.TOKEN}", "x-none": "{env.NONE}" },
					body: { input: "{input}", id: "{job.uuid}", port: "{port}", n: "{input.n}" },
				},
			},
			jobOf('{"model":"a b","lang":"fi","n":9223372036854775807}'),
			{ TOKEN: "t" },
		);
		expect(request.path).toBe("/m/a%20b?v=1&lang=fi&q=a+b%267f");
		expect(request.headers).toMatchObject({ authorization: "Bearer t" });
		expect(request.headers).not.toHaveProperty("x-none");
		expect(request.text).toBe(
			'{"input":{"model":"a b","lang":"fi","n":9223372036854775807},"id":"7f","port":8000,"n":9223372036854775807}',
		);
	});

	it("sends text and forms", async () => {
		const text = await prepared({ request: { text: "{input.text}" } }, jobOf({ text: "é" }));
		expect([text.text, text.headers["content-type"]]).toEqual(["Ã©", "text/plain; charset=utf-8"]);
		const form = await prepared(
			{ request: { form: { a: "{input.a}", n: 1, none: "{input.x}" } } },
			jobOf({ a: "b c" }),
		);
		expect([form.text, form.headers["content-type"]]).toEqual(["a=b+c&n=1", "application/x-www-form-urlencoded"]);
		await expect(prepared({ request: { text: "{input.text}" } }, jobOf({}))).rejects.toThrow("lacks");
	});

	it("sends files of base64 and data: URLs as multipart", async () => {
		const request = await prepared(
			{
				request: {
					form: { lang: "{input.lang}" },
					files: [
						{ field: 'im"age', from: "{input.image}", name: "in.png" },
						{ field: "mask", from: "{input.mask}" },
						{ field: "none", from: "{input.none}", required: false },
					],
				},
			},
			jobOf({ lang: "fi", image: "data:image/png;base64,AAEC", mask: "_-\n8=" }),
		);
		expect(request.headers["content-type"]).toBe("multipart/form-data; boundary=b0");
		expect(request.text!.split("\r\n")).toEqual([
			"--b0",
			'Content-Disposition: form-data; name="lang"',
			"",
			"fi",
			"--b0",
			'Content-Disposition: form-data; name="im%22age"; filename="in.png"',
			"Content-Type: image/png",
			"",
			"\0\x01\x02",
			"--b0",
			'Content-Disposition: form-data; name="mask"; filename="mask"',
			"Content-Type: application/octet-stream",
			"",
			"\xff\xef",
			"--b0--",
			"",
		]);
	});

	it("decodes large base64 in pieces", async () => {
		const bytes = Buffer.alloc(1_000_001, 7);
		const files = [{ field: "f", from: "{input.f}" }];
		const { body } = await prepared({ request: { files } }, jobOf({ f: bytes.toString("base64") }));
		let most = 0;
		for await (const piece of body!.pieces()) most = Math.max(most, piece.length);
		expect(most).toBe(49_152);
	});

	it.each([
		[{ f: "not base64!" }, "input.f must be base64"],
		[{ f: "abcde" }, "input.f must be base64"],
		[{ f: "ab=c" }, "input.f must be base64"],
		[{ f: "data:text/plain,x" }, "data: URL with base64"],
		[{ f: 7 }, "input.f must be a text"],
		[{}, "input.f is missing"],
		[{ f: "https://example.com/x" }, "addresses are not fetched"],
	])("refuses the file of %j", async (input, sentence) => {
		const request = { files: [{ field: "f", from: "{input.f}" }] };
		await expect(prepared({ request }, jobOf(input))).rejects.toThrow(sentence);
	});
});

describe("files by address", () => {
	const none = () => ({ files: 0, bytes: 0 });
	const file = async () => {
		const server = await httpServer((request, response) => {
			if (request.url === "/moved") response.writeHead(302, { location: "/a%20b.png" }).end();
			else response.setHeader("content-type", "image/png").end("PNG");
		});
		servers.push(server);
		return `http://127.0.0.1:${server.port}`;
	};

	it("any: fetches them, with their type and name, and follows no redirect", async () => {
		const base = await file();
		const mapping = { request: { urls: "any", files: [{ field: "f", from: "{input.f}" }] } };
		const request = await prepared(mapping, jobOf({ f: `${base}/a%20b.png` }));
		expect(request.text).toContain('filename="a b.png"\r\nContent-Type: image/png\r\n\r\nPNG\r\n');
		await request.release();
		await expect(prepared(mapping, jobOf({ f: `${base}/moved` }))).rejects.toThrow("HTTP 302");
	});

	it("never: refuses them, but those of files of jobs", async () => {
		const base = await file();
		const mapping = { request: { files: [{ field: "f", from: "{input.f}" }] } };
		const request = await prepared(mapping, jobOf({ f: `${base}/s3/a.png?x=1` }), {}, `${base}/s3`);
		expect(request.text).toContain("PNG\r\n");
		await request.release();
		for (const f of [`${base}/s3x/a.png`, `${base}/s3/../a.png`, `${base}/s3/%2e%2e/a.png`])
			await expect(prepared(mapping, jobOf({ f }), {}, `${base}/s3`)).rejects.toThrow("addresses are not fetched");
	});

	it("the name is resolved once, and the connection goes to that address", async () => {
		const { port } = new URL(await file());
		const names: string[] = [];
		const resolve = async (name: string): Promise<string[]> => {
			names.push(name);
			return ["127.0.0.1"];
		};
		const options = { urls: "any" as const, fetched: none(), connectMs: 500, clock: systemClock, resolve };
		const { spool } = await fetchFile(`http://files.test:${port}/a`, "input.f", options);
		expect((await spool.buffer()).toString()).toBe("PNG");
		expect([names, servers[0]!.received[0]!.headers.host]).toEqual([["files.test"], `files.test:${port}`]);
	});

	it.each([
		["http://example.com/x", ["93.184.216.34"], "must be an https address"],
		["https://user@example.com/x", ["93.184.216.34"], "without user and password"],
		["https://example.com/x", ["10.0.0.1", "127.0.0.1"], "has no public address"],
		["https://169.254.169.254/x", [], "has no public address"],
		["https://[::1]/x", [], "has no public address"],
	])("public: refuses %s at %j", async (url, addresses, sentence) => {
		const fixed = { connectMs: 500, clock: systemClock, resolve: async () => addresses };
		const options = { urls: "public" as const, fetched: none(), ...fixed };
		await expect(fetchFile(url, "input.f", options)).rejects.toThrow(sentence);
	});

	const fetching = (url: string, more: object = {}) =>
		fetchFile(url, "input.f", { urls: "any" as const, fetched: none(), connectMs: 500, clock: systemClock, ...more });

	it("a name that cannot be resolved now returns the job without a loss", async () => {
		const resolve = async (): Promise<string[]> => {
			throw Object.assign(new Error("getaddrinfo EAI_AGAIN files.test"), { code: "EAI_AGAIN" });
		};
		await expect(fetching("http://files.test/a", { resolve })).rejects.toMatchObject({
			name: "JobReturn",
			loss: false,
		});
	});

	it("refuses a file by its length before it arrives, and one that does not arrive in 5 minutes", async () => {
		const server = await httpServer(({ url }, response) => {
			if (url === "/large") response.writeHead(200, { "content-length": 2 ** 30 }).flushHeaders();
		});
		servers.push(server);
		const base = `http://127.0.0.1:${server.port}`;
		await expect(fetching(`${base}/large`)).rejects.toThrow("the file is larger than 104857600 bytes");
		const clock = manualClock();
		const fetched = fetching(`${base}/slow`, { clock });
		await Promise.all([expect(fetched).rejects.toThrow("it did not arrive within 300000 ms"), clock.pass(300_000)]);
	});

	it("bounds the files of a job, and their bytes together", async () => {
		const server = await httpServer((_request, response) => response.end("PNG"));
		servers.push(server);
		const url = `http://127.0.0.1:${server.port}/a`;
		const fetched = { files: 998, bytes: 2 ** 30 - 5 };
		await fetching(url, { fetched });
		expect(fetched).toEqual({ files: 999, bytes: 2 ** 30 - 2 });
		await expect(fetching(url, { fetched })).rejects.toThrow(
			"the file is larger than 2 bytes, all that is left of the 1073741824 of a job",
		);
		await expect(fetching(url, { fetched })).rejects.toThrow("a job may name at most 1000 files by address");
		expect(server.received.length).toBe(2);
	});

	it("a disk that does not take the file returns the job with a loss", async () => {
		const server = await httpServer((_request, response) => response.end(Buffer.alloc(2_000_000)));
		servers.push(server);
		const fetched = fetching(`http://127.0.0.1:${server.port}/a`, { folder: "/no/such/folder" });
		await expect(fetched).rejects.toMatchObject({ name: "JobReturn", loss: true });
	});

	it("knows the same addresses as the service's webhooks", () => {
		const samples =
			"0.0.0.1 8.8.8.8 10.1.1.1 100.64.0.1 100.128.0.1 127.0.0.1 168.63.129.16 169.254.1.1 172.15.0.1 172.16.0.1 " +
			"172.31.0.1 172.32.0.1 192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.20.0.1 198.51.100.1 203.0.113.1 " +
			"223.255.255.255 224.0.0.1 240.0.0.1 255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1 2001::1 2001:db8::1 " +
			"2002:808:808::1 2606:4700::1111 3fff::1 ff02::1 4000::1 x";
		// The service also calls public addresses that IPv6 wraps; for files they are refused.
		for (const each of samples.split(" "))
			expect([each, isPublic(each)]).toEqual([each, notPublic(each) === undefined]);
		for (const each of ["::ffff:8.8.8.8", "64:ff9b::808:808"]) expect(isPublic(each)).toBe(false);
	});
});

it("a prepared request can be sent twice", async () => {
	const server = await httpServer((_request, response) => response.end());
	servers.push(server);
	const request = await prepared({ request: { files: [{ field: "f", from: "{input.f}" }] } }, jobOf({ f: "AAEC" }));
	for (let time = 0; time < 2; time += 1)
		await exchange(serverAt({ port: server.port }), { ...request, connectMs: 5000, clock: systemClock });
	expect(server.received[0]!.body).toEqual(server.received[1]!.body);
	expect(server.received[0]!.headers).not.toHaveProperty("origin");
});
