/** What becomes of objects without a row, and what `sluice doctor` finds of a bucket (D61, D36). */
import { randomBytes } from "node:crypto";
import { CreateMultipartUploadCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../../src/kernel/system/clock.ts";
import { openBucket } from "../../../../src/modules/files/bucket/bucket.ts";
import { bucketFindings } from "../../../../src/modules/files/bucket/doctor.ts";
import type { FileContents } from "../../../../src/modules/files/contents/contents.ts";
import { bucketContents } from "../../../../src/modules/files/contents/in-bucket.ts";
import { BUCKET, startBucket } from "../../../support/bucket.ts";

const HOUR = 3_600_000;
let server: Awaited<ReturnType<typeof startBucket>>;
beforeAll(async () => {
	server = await startBucket();
});
afterAll(() => server?.end());
beforeEach(() => server.refuse());

const idOf = (digit: number): string => `file-${String(digit).repeat(32)}`;

/** A place without files from before a bucket. */
const NOWHERE: FileContents = {
	memory: { upload: 0, download: 0 },
	create: () => Promise.reject(new Error("not asked")),
	open: () => Promise.reject(new Error("not asked")),
	remove: async () => {},
	sweep: async () => {},
};

function contentsIn(folder: string) {
	const bucket = openBucket(server.settings, `${folder}/`, systemClock);
	const rows = new Set<string>();
	const time = { now: 0 };
	const contents = bucketContents(bucket, {
		rows: { unknown: async ({ ids }) => ids.filter((id) => !rows.has(id)) },
		earlier: async () => NOWHERE,
		confirmed: async () => {},
		now: () => time.now,
	});
	const named = async (): Promise<string[]> => (await Array.fromAsync(bucket.list())).flat().toSorted();
	return { bucket, contents, rows, time, named };
}

it("D61: an object is removed when it had no row twice, an hour apart; nothing outside the folder is", async () => {
	const { bucket, contents, rows, time, named } = contentsIn("swept");
	const other = contentsIn("swept-of-another");
	await other.bucket.put(idOf(1), Buffer.from("x"));
	for (const name of [idOf(1), idOf(2), idOf(3), "place"]) await bucket.put(name, Buffer.from("x"));
	rows.add(idOf(1));
	await contents.sweep(HOUR);
	expect(await named()).toEqual([idOf(1), idOf(2), idOf(3), "place"]);
	// Its row was about to be stored when the bucket was listed.
	rows.add(idOf(2));
	time.now += HOUR;
	await contents.sweep(HOUR);
	expect(await named()).toEqual([idOf(1), idOf(2), "place"]);
	expect(await other.named()).toEqual([idOf(1)]);
});

it("D61: the bucket is listed once a day", async () => {
	const { contents, time } = contentsIn("daily");
	const lists = () => server.asked.filter((asked) => asked.includes("list-type=2")).length;
	server.asked.length = 0;
	for (let hours = 0; hours < 49; hours += 1) {
		await contents.sweep(HOUR);
		time.now += HOUR;
	}
	expect(lists()).toBe(3);
});

it("D61: files that have expired, and deletions that failed, are removed with the next sweep", async () => {
	const { bucket, contents, rows, named } = contentsIn("expired");
	await contents.sweep(HOUR);
	for (const name of [idOf(1), idOf(2), idOf(3)]) await bucket.put(name, Buffer.from("x"));
	rows.add(idOf(3));
	contents.expired!([idOf(1), idOf(3)]);
	server.refuse((asked) => (asked.startsWith("DELETE") ? { status: 403, code: "AccessDenied" } : undefined));
	await contents.remove(idOf(2));
	expect(await named()).toEqual([idOf(1), idOf(2), idOf(3)]);
	await expect(contents.sweep(HOUR)).rejects.toThrow("answered DELETE with 403 AccessDenied");
	server.refuse();
	await contents.sweep(HOUR);
	expect(await named()).toEqual([idOf(3)]);
});

it("D61: an upload of this server is left alone, and uploads in parts as long as they may be in progress", async () => {
	const { bucket, contents, time, named } = contentsIn("writing");
	const writer = await contents.create(idOf(1));
	await writer.write(randomBytes(100));
	await writer.finish();
	const Key = `${server.settings.prefix}writing/${idOf(2)}`;
	await server.client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }));
	for (let sweeps = 0; sweeps < 3; sweeps += 1) {
		await contents.sweep(HOUR);
		time.now += 24 * HOUR;
	}
	expect(await named()).toEqual([idOf(1)]);
	expect(await server.uploads()).toBe(1);
	await bucket.abortOld(-HOUR);
	expect(await server.uploads()).toBe(0);
	await writer.drop();
	expect(await named()).toEqual([]);
});

it("D61: a list has more than a page", async () => {
	const { bucket, named } = contentsIn("pages");
	const names = Array.from({ length: 1003 }, (_, n) => `n-${String(n).padStart(4, "0")}`);
	for (let at = 0; at < names.length; at += 50)
		await Promise.all(names.slice(at, at + 50).map((name) => bucket.put(name, Buffer.alloc(0))));
	expect(await named()).toEqual(names);
});

it("D36, D61: doctor tries each right, names the one that is missing, and leaves nothing", async () => {
	const find = () => bucketFindings(server.settings, { clock: systemClock, random: randomBytes });
	const before = [...(await server.objects()).keys()];
	expect(await find()).toEqual([
		{ check: "bucket", level: "ok", message: expect.stringContaining("was written, read, listed and deleted") },
	]);
	expect([...(await server.objects()).keys()]).toEqual(before);
	for (const [refused, right] of [
		[/^PUT .*probe$/, "s3:PutObject"],
		[/^GET .*probe$/, "s3:GetObject"],
		[/^GET .*list-type/, "s3:ListBucket"],
		[/^GET .*uploads=/, "s3:ListBucketMultipartUploads"],
		[/^DELETE .*probe$/, "s3:DeleteObject"],
	] as const) {
		server.refuse((asked) => (refused.test(asked) ? { status: 403, code: "AccessDenied" } : undefined));
		const findings = await find();
		expect(findings).toMatchObject([{ level: "problem", fix: `Give the access key the right ${right}.` }]);
		expect(JSON.stringify(findings)).not.toContain(server.secret);
	}
});

it("D36, D61: doctor says what is wrong with name, secret and address", async () => {
	const fixFor = async (more: object): Promise<string | undefined> => {
		const q = { clock: systemClock, random: randomBytes };
		return (await bucketFindings({ ...server.settings, ...more }, q))[0]!.fix;
	};
	expect(await fixFor({ secretAccessKey: "of another" })).toMatch(/accessKeyId and .*secretAccessKey/);
	expect(await fixFor({ url: "http://127.0.0.1:9" })).toContain("files.bucket.url");
	server.refuse(() => ({ status: 404, code: "NoSuchBucket" }));
	expect(await fixFor({})).toContain("files.bucket.name");
});
