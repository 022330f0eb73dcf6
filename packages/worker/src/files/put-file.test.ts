import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { httpServer, manualClock, type Received } from "../../../../test/support/worker-kit/http-servers.ts";
import { bucketServer, refusingServer } from "../../../../test/support/worker-kit/bucket-server.ts";
import type { Job } from "../types.ts";
import { jobFiles } from "./put-file.ts";
import { signedHeaders, signedLink } from "./signature.ts";

const AT = Date.UTC(2026, 11, 1, 12, 34, 56);
const SECRET = "a secret/of+a bucket";

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "sluice-files-"))));
afterEach(() => rmSync(folder, { recursive: true }));

function filesOf(port: number, more: { job?: Partial<Job>; env?: Record<string, string>; signal?: AbortSignal } = {}) {
	const clock = manualClock();
	const env = {
		BUCKET_ENDPOINT_URL: `http://127.0.0.1:${port}/s3/`,
		BUCKET_ACCESS_KEY_ID: "sluice-pictures-1",
		BUCKET_SECRET_ACCESS_KEY: SECRET,
		...more.env,
	};
	const job: Job = { id: "job-1", input: {}, inputText: "{}", ...more.job };
	const signal = more.signal ?? new AbortController().signal;
	return { clock, files: jobFiles({ job, env, clock, date: () => AT, random: () => 0, signal: () => signal }) };
}

describe("files.put", () => {
	it("stores bytes, whose link anyone can read for 7 days", async () => {
		await using bucket = await bucketServer(SECRET, () => AT);
		const { files } = filesOf(bucket.port);
		const bytes = randomBytes(100_000);
		const stored = await files.put(bytes, { name: "out/a (1) é.png" });
		expect(stored).toEqual({ url: expect.any(String), bytes: 100_000, contentType: "image/png" });
		expect([...bucket.objects.keys()]).toEqual(["/s3/12-26/job-1/out/a%20%281%29%20%C3%A9.png"]);
		const answer = await fetch(stored.url);
		expect(answer.headers.get("content-type")).toBe("image/png");
		expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
		const link = new URL(stored.url);
		expect(link.searchParams.get("X-Amz-Expires")).toBe("604800");
		expect(stored.url).not.toContain(SECRET);
		link.pathname = link.pathname.replace("job-1", "job-2");
		expect((await fetch(link)).status).toBe(403);
	});

	it("stores the file at a path, by its name, and an empty one", async () => {
		await using bucket = await bucketServer(SECRET, () => AT);
		const { files } = filesOf(bucket.port, { env: { BUCKET_NAME: "results" } });
		const path = join(folder, "film.mp4");
		const bytes = randomBytes(3_000_000);
		writeFileSync(path, bytes);
		expect(await files.put(path)).toMatchObject({ bytes: bytes.length, contentType: "video/mp4" });
		expect(bucket.objects.get("/s3/results/job-1/film.mp4")?.body.equals(bytes)).toBe(true);
		writeFileSync(path, "");
		expect(await files.put(path, { name: "none", contentType: "text/x-none" })).toMatchObject({
			bytes: 0,
			contentType: "text/x-none",
		});
		expect(bucket.objects.get("/s3/results/job-1/none")).toMatchObject({ type: "text/x-none", body: Buffer.alloc(0) });
	});

	it("goes to the bucket of the job's s3Config instead", async () => {
		await using bucket = await bucketServer("another", () => AT);
		const s3Config = {
			endpointUrl: `http://127.0.0.1:${bucket.port}`,
			accessId: "theirs",
			accessSecret: "another",
			bucketName: "mine",
		};
		const { files } = filesOf(1, { job: { s3Config } });
		await files.put(Buffer.from("a"), { name: "a.txt" });
		expect([...bucket.objects.keys()]).toEqual(["/mine/job-1/a.txt"]);
		const incomplete = filesOf(1, { job: { s3Config: { ...s3Config, accessSecret: "" } } }).files;
		await expect(incomplete.put(Buffer.from("a"), { name: "a" })).rejects.toThrow(
			"Files cannot be stored: the job must have s3Config.accessSecret too, or no s3Config.",
		);
	});

	it("says which variables are missing, and how to get them", async () => {
		const { files } = filesOf(1, { env: { BUCKET_ENDPOINT_URL: "", BUCKET_SECRET_ACCESS_KEY: "" } });
		await expect(files.put(Buffer.from("a"), { name: "a" })).rejects.toThrow(
			"Files cannot be stored, since BUCKET_ENDPOINT_URL and BUCKET_SECRET_ACCESS_KEY are not set. On Sluice, set " +
				"files: true on the endpoint.",
		);
		const wrong = filesOf(1, { env: { BUCKET_ENDPOINT_URL: "bucket" } }).files;
		await expect(wrong.put(Buffer.from("a"), { name: "a" })).rejects.toThrow(/BUCKET_ENDPOINT_URL must be an address/);
	});

	it.each(["", "/a", "a/", "a//b", "../a", "a/./b", "a".repeat(1020)])("refuses the name %j", async (name) => {
		await expect(filesOf(1).files.put(Buffer.from("a"), { name })).rejects.toThrow(/^The name of a file must be/);
	});

	it("refuses bytes without a name, and a path without a file", async () => {
		const { files } = filesOf(1);
		await expect(files.put(Buffer.from("a"))).rejects.toThrow(/^files\.put needs a name for bytes/);
		await expect(files.put(join(folder, "none"))).rejects.toThrow(/ENOENT/);
	});
});

describe("files.put, refused or cut", () => {
	const answering = (answers: ((request: Received) => [status: number, body: string] | undefined)[]) =>
		httpServer((request, response) => {
			const answer = (answers.shift() ?? (() => [200, ""] as [number, string]))(request);
			if (answer) response.writeHead(answer[0]).end(answer[1]);
			else response.destroy();
		});

	it("is repeated after a lost connection, 503 and 429", async () => {
		const server = await answering([
			() => undefined,
			() => [503, "<Error><Code>SlowDown</Code></Error>"],
			() => [429, ""],
		]);
		const { files, clock } = filesOf(server.port);
		const stored = files.put(Buffer.from("abc"), { name: "a" });
		for (const ms of [500, 1000, 2000]) await clock.pass(ms);
		await stored;
		await server.close();
		expect(server.received.map(({ body }) => body.toString())).toEqual(["abc", "abc", "abc", "abc"]);
	});

	it("is not repeated after a refusal, whose reason it has", async () => {
		const server = await answering([
			() => [403, "<Error><Code>QuotaExceeded</Code><Message>The files of the endpoint are full.</Message></Error>"],
		]);
		await expect(filesOf(server.port).files.put(Buffer.from("abc"), { name: "a.bin" })).rejects.toThrow(
			`The file a.bin was not stored: 127.0.0.1:${server.port} answered with HTTP 403 QuotaExceeded: ` +
				"The files of the endpoint are full.",
		);
		await server.close();
		expect(server.received).toHaveLength(1);
	});

	it("has the reason of a refusal that arrives before the file is sent", async () => {
		const path = join(folder, "large");
		writeFileSync(path, "");
		truncateSync(path, 16_000_000);
		await using server = await refusingServer();
		await expect(filesOf(server.port).files.put(path)).rejects.toThrow(/HTTP 403 AccessDenied/);
		expect(server.bytes()).toBeLessThan(16_000_000);
	});

	it("gives up after five attempts", async () => {
		const server = await answering(Array.from({ length: 9 }, () => () => [500, ""]));
		const { files, clock } = filesOf(server.port);
		const stored = files.put(Buffer.from("abc"), { name: "a" });
		stored.catch(() => {});
		for (const ms of [500, 1000, 2000, 4000]) await clock.pass(ms);
		await expect(stored).rejects.toThrow(/^The file a was not stored: .* HTTP 500$/);
		await server.close();
		expect(server.received).toHaveLength(5);
	});

	it("ends when the job is stopped", async () => {
		const stop = new AbortController();
		const server = await answering([
			() => {
				stop.abort(new Error("the job was stopped"));
				return undefined;
			},
		]);
		const { files } = filesOf(server.port, { signal: stop.signal });
		await expect(files.put(Buffer.from("abc"), { name: "a" })).rejects.toThrow("the job was stopped");
		await server.close();
		expect(server.received).toHaveLength(1);
	});
});

/** The example of Amazon's documentation of Signature Version 4 for S3, whose results it states. */
describe("signatures", () => {
	const credentials = {
		accessKeyId: "AKIAIOSFODNN7EXAMPLE",
		secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		region: "us-east-1",
	};
	const at = Date.UTC(2013, 4, 24);

	it("are those of Amazon's examples: a PUT", () => {
		const { authorization } = signedHeaders({
			method: "PUT",
			url: new URL("https://examplebucket.s3.amazonaws.com/test%24file.text"),
			at,
			credentials,
			sha256: createHash("sha256").update("Welcome to Amazon S3.").digest("hex"),
			headers: { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
		});
		expect(authorization).toContain("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
	});

	it("are of the key, the place and the time", () => {
		const url = new URL("https://bucket.test/s3/b/k");
		const links = [
			{ url, at, credentials },
			{ url, at: at + 1000, credentials },
			{ url, at, credentials: { ...credentials, secretAccessKey: "other" } },
			{ url: new URL("https://bucket.test/s3/b/l"), at, credentials },
		].map((each) => new URL(signedLink(each)).searchParams.get("X-Amz-Signature"));
		expect(new Set(links).size).toBe(4);
	});
});
