/**
 * S3 clients that put, upload in parts, copy, read, list and delete the same objects at all servers (D59). Each content
 * has a number of its own, which is all that it consists of.
 */
import type { Api, Call } from "./api.ts";
import { brief, type FileTotal, type Members } from "./history.ts";
import { objectTotals } from "./object-totals.ts";
import { openUploads } from "./object-uploads.ts";
import { type ObjectUse, objectOf, pathOf, RANGE, setsOf, type Stored } from "./object-use.ts";
import type { EndpointName } from "./plan.ts";
import { listPage, listUploads, type S3Answer, s3Of } from "./s3-api.ts";
import type { Time } from "./time.ts";
import type { Tracker } from "./tracker.ts";

const ENDPOINT: EndpointName = "bulk";

/** All clients write the keys of the first; in the second each key has one writer, and is a source of copies. */
const [SHARED, SOURCES] = ["shared", "sources"] as const;
const KEYS = Array.from({ length: 12 }, (_, n) => `k-${String(n).padStart(2, "0")}`);

/** Sources that are kept, so that their contents are shared to the end; those that lists and reads at the end know. */
const [KEPT, REMEMBERED] = [20, 100];

const PAUSE_MS = 150;
const RETRY_MS = 50;

/** Bytes at least and at most of a usual object, and of one in so many that takes several writes. */
const [LEAST, SMALL, LARGE, ONE_LARGE_OF] = [200, 4000, 700_000, 8];

/** Clients that leave in the middle of a put, and when at most, ms. */
const [LEAVING, LEAVE_MS] = [0.1, 40];

/** The row of an object is there, and its bytes are not. */
const LOST = "InternalError";

const MISSING = new Set(["NoSuchKey", "NoSuchBucket"]);

export interface ObjectClients {
	/** One of them, until the signal. */
	work(by: string, signal: AbortSignal): Promise<void>;
	/** Lists and reads all objects at each of these servers, those that were deleted too. */
	readAll(servers: readonly string[]): Promise<void>;
	/** The only one that has objects, and what they hold of its files. Undefined without an answer. */
	readonly endpoint: string;
	totals(server: string): Promise<FileTotal | undefined>;
}

export async function objectClients(q: {
	api: Api;
	time: Time;
	tracker: Tracker;
	random: () => number;
}): Promise<ObjectClients> {
	const { api, time, tracker, random } = q;
	const s3 = await s3Of(api, ENDPOINT);
	let serial = 0;
	const sources: string[] = [];
	const whole = (most: number): number => Math.floor(random() * most);
	const use: ObjectUse = {
		...{ s3, time, tracker, random, whole },
		anyServer: () => api.url(whole(1000)),
		newContent(name = `o-${(serial += 1)}`) {
			const most = whole(ONE_LARGE_OF) === 0 ? LARGE : SMALL;
			const size = LEAST + whole(most - LEAST);
			return `${name} `.repeat(Math.ceil(size / name.length)).slice(0, size);
		},
		changed(by, server, { result, from, to }, { bucket, key, ...change }) {
			tracker.record({ op: "change", by, object: objectOf({ bucket, key }), ...change, server, result, from, to });
		},
		shown(by, server, { from, to }, at, what) {
			tracker.record({ op: "shown", by, object: objectOf(at), server, ...what, result: "ok", from, to });
		},
	};
	const { anyServer, newContent, changed, shown } = use;
	const uploads = openUploads(use);
	const someKey = (): Stored => ({ bucket: SHARED, key: KEYS[whole(KEYS.length)]! });

	/** `ifAbsent` stores only where nothing is. */
	async function put(by: string, at: Stored, ifAbsent = false): Promise<{ answer: S3Answer; sets: Members }> {
		const content = newContent();
		const sets = setsOf(content);
		const server = anyServer();
		const leaving = random() < LEAVING ? { signal: AbortSignal.timeout(1 + whole(LEAVE_MS)) } : {};
		const headers = ifAbsent ? { "if-none-match": "*" } : undefined;
		const call: Call = { method: "PUT", body: content, ...(headers && { headers }), ...leaving };
		const answer = await s3(server, pathOf(at), call);
		changed(by, server, answer, { ...at, how: ifAbsent ? "create" : "put", sets });
		if (answer.result === "ok") shown(by, server, answer, at, { members: { etag: answer.etag ?? "none" } });
		if (answer.code === "PreconditionFailed") shown(by, server, answer, at, { how: "condition", members: {} });
		return { answer, sets };
	}

	async function remove(by: string, at: Stored): Promise<S3Answer> {
		const server = anyServer();
		const answer = await s3(server, pathOf(at), { method: "DELETE" });
		changed(by, server, answer, { ...at, how: "delete", sets: {} });
		return answer;
	}

	/** Two keys in one request. */
	async function removeTwo(by: string): Promise<void> {
		const server = anyServer();
		const both = [someKey(), someKey()];
		const body = `<Delete>${both.map(({ key }) => `<Object><Key>${key}</Key></Object>`).join("")}</Delete>`;
		const answer = await s3(server, `/${SHARED}?delete`, { method: "POST", body });
		for (const at of both) changed(by, server, answer, { ...at, how: "delete", sets: {} });
	}

	/** From a key that only this client writes, so that what is copied is known; often while that is deleted. */
	async function copy(by: string): Promise<void> {
		const from = { bucket: SOURCES, key: `c-${(serial += 1)}` };
		const to = someKey();
		const { answer: made, sets } = await put(by, from);
		if (made.result === "ok") {
			const copying = async (): Promise<void> => {
				const server = anyServer();
				const answer = await s3(server, pathOf(to), { method: "PUT", headers: { "x-amz-copy-source": pathOf(from) } });
				changed(by, server, answer, { ...to, how: "put", sets });
				if (answer.code === "NoSuchKey") shown(by, server, answer, from, { missing: true });
				const etag = /<ETag>(?:&quot;|")([^<"&]+)/.exec(answer.text)?.[1] ?? "none";
				if (answer.result === "ok") for (const at of [from, to]) shown(by, server, answer, at, { members: { etag } });
			};
			const isTogether = random() < 0.4;
			if (isTogether) await Promise.all([copying(), remove(by, from)]);
			else await copying();
			if (!isTogether && sources.length >= KEPT) await remove(by, from);
		}
		sources.push(from.key);
		if (sources.length > REMEMBERED) sources.shift();
	}

	/** Whether the server answered. */
	async function read(by: string, at: Stored, server: string, isPart: boolean): Promise<boolean> {
		const headers = { range: `bytes=${RANGE.join("-")}` };
		const answer = await s3(server, pathOf(at), isPart ? { headers } : {});
		const { result, status, text, code, etag = "none" } = answer;
		const isMissing = MISSING.has(code ?? "");
		const isLost = code === LOST;
		if (result !== "ok" && !isMissing && !isLost) return false;
		const bytes = status === (isPart ? 206 : 200) ? brief(text) : `status ${status}`;
		const members = { [isPart ? "range" : "content"]: bytes, etag };
		shown(by, server, answer, at, isMissing ? { missing: true } : { members });
		return true;
	}

	/** Pages of so many keys. Whether the server answered. */
	async function list(by: string, server: string, bucket: string, limit: number): Promise<boolean> {
		const known = bucket === SHARED ? KEYS : sources;
		for (let after: string | undefined = ""; after !== undefined; ) {
			const page = await listPage(s3, server, { bucket, after, limit });
			if (page.result !== "ok" && page.code !== "NoSuchBucket") return false;
			const { keys, last } = page;
			for (const { key, etag, bytes } of keys)
				shown(by, server, page, { bucket, key }, { how: "list", members: { etag, bytes: String(bytes) } });
			const present = new Set(keys.map(({ key }) => key));
			for (const key of known)
				if (key > after && (last === undefined || key <= last) && !present.has(key))
					shown(by, server, page, { bucket, key }, { how: "list", missing: true });
			after = last;
		}
		return true;
	}

	/** Whether the server answered. */
	async function listOpen(by: string, server: string): Promise<boolean> {
		const { result, code, from, to, uploads: found } = await listUploads(s3, server, SHARED);
		if (result !== "ok" && code !== "NoSuchBucket") return false;
		for (const { key, id } of found) {
			const about = { object: objectOf({ bucket: SHARED, key }), upload: id, how: "listed" } as const;
			tracker.record({ op: "upload", by, ...about, server, result: "ok", from, to });
		}
		return true;
	}

	/** Parts of the operations. */
	const operations: readonly (readonly [number, (by: string) => Promise<unknown>])[] = [
		[0.18, (by) => put(by, someKey())],
		[0.08, (by) => put(by, someKey(), true)],
		[0.14, (by) => uploads(by, someKey())],
		[0.1, copy],
		[0.12, (by) => remove(by, someKey())],
		[0.04, removeTwo],
		[0.06, (by) => list(by, anyServer(), random() < 0.8 ? SHARED : SOURCES, random() < 0.5 ? 5 : 1000)],
		[0.02, (by) => listOpen(by, anyServer())],
		[0.08, (by) => read(by, someKey(), anyServer(), true)],
		[1, (by) => read(by, someKey(), anyServer(), false)],
	];

	return {
		endpoint: ENDPOINT,
		totals: (server) => objectTotals(s3, server),
		async work(by, signal) {
			while (!signal.aborted) {
				let chance = random();
				const [, operation] = operations.find(([part]) => (chance -= part) < 0)!;
				await operation(by);
				await time.sleep(random() * PAUSE_MS, signal);
			}
		},
		async readAll(servers) {
			const answered = async (step: () => Promise<boolean>): Promise<void> => {
				while (!(await step())) await time.sleep(RETRY_MS);
			};
			const all = [
				...KEYS.map((key) => ({ bucket: SHARED, key })),
				...sources.map((key) => ({ bucket: SOURCES, key })),
			];
			for (const server of servers) {
				for (const bucket of [SHARED, SOURCES]) await answered(() => list("audit", server, bucket, 7));
				await answered(() => listOpen("audit", server));
				for (const at of all)
					for (const isPart of [false, true]) await answered(() => read("audit", at, server, isPart));
			}
		},
	};
}
