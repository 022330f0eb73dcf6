/** What the traced process does with objects, and what it acknowledges of them (D59). */
import type { ExpectedObject, ExpectedUpload } from "./expected.ts";
import { hashOf } from "./file-store.ts";
import { etagOf, type ObjectStore } from "./object-store.ts";

type Acknowledge = (expected: ExpectedObject | ExpectedUpload) => void;

/** Bytes of parts: one write and several. */
const PARTS = [4000, 140_000];

/** Begins each content, so that its writes are found in a trace. */
export const MARK = "object ";

/** An upload whose parts are all stored. */
interface Sent {
	key: string;
	upload: string;
	parts: [number, string][];
	/** Of the whole. */
	hash: string;
	say: (state: ExpectedUpload["state"]) => void;
}

export function objectWork(objects: ObjectStore, endpoint: string, acknowledge: Acknowledge) {
	/** Hashes of what keys have. */
	const now = new Map<string, string | null>();
	let serial = 0;

	function newBytes(size: number): Buffer {
		serial += 1;
		return Buffer.alloc(size, `${MARK}${endpoint} ${serial} `);
	}

	/** While it changes, the key has either. */
	async function change(key: string, to: string | null, work: () => Promise<unknown>): Promise<void> {
		const before = now.get(key) ?? null;
		acknowledge({ object: key, endpoint, may: [before, to] });
		await work();
		now.set(key, to);
		acknowledge({ object: key, endpoint, may: [to] });
	}

	async function put(key: string, size: number): Promise<void> {
		const bytes = newBytes(size);
		await change(key, hashOf(bytes), () => objects.put(key, bytes));
	}

	/** All of its parts are sent, the second one twice. */
	async function sent(key: string): Promise<Sent> {
		const upload = await objects.begin(key);
		const said = { upload, key, endpoint };
		const parts: [number, string][] = [];
		const say = (state: ExpectedUpload["state"]) => acknowledge({ ...said, state, parts: [...parts] });
		say("open");
		const contents = PARTS.map((size) => newBytes(size));
		for (const [index, bytes] of contents.entries()) {
			if (index === 1) await objects.putPart(upload, 2, newBytes(1000));
			await objects.putPart(upload, index + 1, bytes);
			parts.push([index + 1, etagOf(bytes)]);
			say("open");
		}
		return { key, upload, parts, hash: hashOf(Buffer.concat(contents)), say };
	}

	async function completed(key: string): Promise<void> {
		const { upload, parts, hash, say } = await sent(key);
		say("ending");
		await change(key, hash, () => objects.complete(key, upload, parts));
		say("ended");
	}

	async function abort({ key, upload, say }: Sent): Promise<void> {
		say("ending");
		await objects.abort(key, upload);
		say("ended");
	}

	const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => `${name}.${endpoint}`) as [string, string, string, string];
	let open: Sent | undefined;

	/** One of each, at keys that the round before has filled; an upload stays open until the next round. */
	return async (): Promise<void> => {
		await put(a, 4000);
		await completed(b);
		await put(a, 140_000);
		await change(c, now.get(b)!, () => objects.copy(b, c));
		await completed(b);
		await abort(await sent(a));
		await change(d, now.get(a)!, () => objects.copy(a, d));
		await change(a, null, () => objects.remove(a));
		if (open) await abort(open);
		open = await sent(a);
		await objects.removed();
	};
}
