/** What is cached of credentials, and until when (D30, D31, D26, D41). */
import { expect, it } from "vitest";
import { CredentialCache, digest } from "./credential-cache.ts";

interface TestRow {
	id: string;
	hash: string;
	createdAt: number;
}

const PEER = { remoteAddress: "192.0.2.1" };
const row = (id: string, secret: string, createdAt = 0): TestRow => ({ id, hash: digest(secret), createdAt });

function cacheOf(...rows: TestRow[]) {
	const d = { at: 1_000_000, strained: false, calls: [] as string[], rows, answered: Promise.resolve() };
	const cache = new CredentialCache({
		store: {
			async find({ hash }: { hash: string }) {
				d.calls.push("find");
				const found = d.rows.find((each) => each.hash === hash);
				await d.answered;
				return found;
			},
			async list() {
				d.calls.push("list");
				return d.rows;
			},
		},
		now: () => d.at,
		strained: () => d.strained,
		entryOf: ({ id, createdAt }: TestRow) => ({ id, createdAt, recordedAt: 0 }),
	});
	return { cache, d };
}

it("D30: a credential that ends while its row is read is not cached", async () => {
	const { cache, d } = cacheOf(row("1", "one"));
	const answer = Promise.withResolvers<void>();
	d.answered = answer.promise;
	const reading = cache.read("one", PEER);
	d.rows = [];
	// Even where nothing of it was cached yet.
	cache.forget(({ id }) => id === "1");
	answer.resolve();
	await reading;
	expect(cache.get("one")).toBeUndefined();
	expect(await cache.read("one", PEER)).toBeUndefined();
});

it("D30: without a change in the store, young credentials are read again, older ones stay", async () => {
	const { cache } = cacheOf(row("1", "one", 1_000_000 - 60_000), row("2", "two", 1_000_000 - 4000));
	for (const secret of ["one", "two"]) await cache.read(secret, PEER);
	cache.forgetYoung();
	expect(["one", "two"].map((secret) => cache.get(secret)?.id)).toEqual(["1", undefined]);
});

it("D30: what has not ended stays cached; an unknown secret and an id have no entry", async () => {
	const { cache, d } = cacheOf(row("1", "one"), row("2", "two"));
	for (const secret of ["one", "two", "three"]) await cache.read(secret, PEER);
	await cache.withId("2");
	cache.forget(({ id }) => id === "2");
	const left = ["one", "two", "three", "2"].map((name) => cache.get(name)?.id);
	expect(left).toEqual(["1", undefined, undefined, undefined]);
	d.calls = [];
	await cache.withId("2");
	await cache.withId("2");
	expect(d.calls).toEqual(["list"]);
	expect(cache.get("2")).toBeUndefined();
});

it("D41: unknown secrets of a strained peer share a read for a second, but for what was forgotten since", async () => {
	const { cache, d } = cacheOf(row("1", "one"));
	d.strained = true;
	const found = await Promise.all(["one", "x", "y"].map((secret) => cache.read(secret, PEER)));
	expect(found.map((each) => each?.id)).toEqual(["1", undefined, undefined]);
	expect(d.calls).toEqual(["list"]);
	d.rows = [row("2", "two")];
	expect(await cache.read("two", PEER)).toBeUndefined();
	cache.forget(() => false);
	expect((await cache.read("two", PEER))?.id).toBe("2");
	expect(cache.get("one")?.id).toBe("1");
	d.rows = [row("3", "three")];
	d.at += 1000;
	expect((await cache.read("three", PEER))?.id).toBe("3");
	expect(d.calls).toEqual(["list", "list", "list"]);
});

it("D30: the use of an entry is recorded once a minute", async () => {
	const { cache, d } = cacheOf(row("1", "one"));
	const entry = (await cache.read("one", PEER))!;
	const due = [0, 0, 59_999, 1].map((ms) => {
		d.at += ms;
		return cache.isUseDue(entry);
	});
	expect(due).toEqual([true, false, false, true]);
});
