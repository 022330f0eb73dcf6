/**
 * Cases: payloads of every size come back byte for byte, small ones as strings, large ones in
 * blocks (D5).
 */
import { expect, it } from "vitest";
import { asOne, BLOCK_BYTES, type JsonText, LARGE_BYTES, sizeOf } from "../../src/kernel/lib/json/json-text.ts";
import { jobView } from "../../src/kernel/core/jobs/job-view.ts";
import type { Claim } from "../../src/kernel/store/contract/jobs.ts";
import type { Bed } from "./index.ts";
import { alone, RETAIN, siteOf, T0 } from "./site.ts";

/** Bytes of a text, whatever its form. */
function bytesOf(text: JsonText | undefined): Buffer {
	return Buffer.concat(typeof text === "string" ? [Buffer.from(text)] : (text ?? []));
}

/** The bytes as blocks that share no memory, `size` bytes each. */
function blocksOf(bytes: Uint8Array, size: number): Uint8Array[] {
	return Array.from(
		{ length: Math.ceil(bytes.length / size) },
		(_, index) => new Uint8Array(bytes.subarray(index * size, (index + 1) * size)),
	);
}

function letters(bytes: number): Buffer {
	return Buffer.from(bytes < 2 ? "1".repeat(bytes) : `"${"x".repeat(bytes - 2)}"`);
}

/**
 * Two, three and four bytes a character, so that blocks of these sizes cut each of them at each of
 * its bytes.
 */
const BEYOND_ASCII = Buffer.from(`"${"é€😀\\u0000 ".repeat(9000)}"`);

const SIZES = [0, 1, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, 3 * BLOCK_BYTES + 1];

/** What a case is given: made again for each use, since a store may keep what it is given. */
const PAYLOADS: [name: string, make: () => JsonText][] = [
	...SIZES.map((size): [string, () => JsonText] => [`a string of ${size} bytes`, () => letters(size).toString()]),
	...SIZES.map((size): [string, () => JsonText] => [
		`blocks of ${size} bytes`,
		() => blocksOf(letters(size), BLOCK_BYTES),
	]),
	...[65_536, 65_537, 65_539, 65_541].map((size): [string, () => JsonText] => [
		`characters cut every ${size} bytes`,
		() => blocksOf(BEYOND_ASCII, size),
	]),
	[
		"blocks with empty ones between and last",
		() => [new Uint8Array(), ...blocksOf(BEYOND_ASCII, 100_000).flatMap((block) => [block, new Uint8Array()])],
	],
];

export function payloadCases({ store, open }: Bed): void {
	function expectSame(found: JsonText | undefined, make: () => JsonText): void {
		const given = make();
		expect(bytesOf(found).equals(bytesOf(given))).toBe(true);
		// What is small may be either, and a dialect may keep large strings as blocks, never the other
		// way round.
		if (typeof given !== "string" && sizeOf(given) >= LARGE_BYTES) expect(typeof found).toBe("object");
	}

	it.each(PAYLOADS)(
		"D5: %s, as an input: handed out in the batch of its insert or later, and again after a return and a retry",
		async (_, make) => {
			const site = siteOf(store());
			const sent = Promise.withResolvers<Claim>();
			const added = site.add({ input: make(), sent: () => sent.resolve(site.take()) });
			const [{ id }, atOnce] = await Promise.all([added, sent.promise]);
			expectSame(atOnce.jobs[0]?.input, make);
			expectSame((await site.record(id))?.input, make);
			await site.move(id, "release", { attempt: 1, over: true });
			expectSame((await site.take()).jobs[0]?.input, make);
			await site.report(id, { on: "fail", error: "no" });
			await site.move(id, "retry");
			expectSame((await site.take()).jobs[0]?.input, make);
		},
	);

	it("D41: of a large output only the size is read if only that is wanted, a small one is read", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const q = { endpoint: site.endpoint, id, now: T0, large: "size" } as const;
		await site.report(id, { output: blocksOf(BEYOND_ASCII, BLOCK_BYTES), error: "late" });
		const sized = await store().jobs.get(q);
		expect(sized).toMatchObject({ outputBytes: BEYOND_ASCII.length, error: "late" });
		expect(sized?.output).toBeUndefined();
		const small = await site.running();
		await site.report(small.id, { output: '"#"' });
		const read = await store().jobs.get({ ...q, id: small.id });
		expect([read?.output, read?.outputBytes]).toEqual(['"#"', undefined]);
	});

	it("D41: of a large input and output only the sizes are in a record that asks for no more", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ input: blocksOf(BEYOND_ASCII, BLOCK_BYTES) });
		const q = { endpoint: site.endpoint, id, now: T0, large: "size" } as const;
		await site.report(id, { output: blocksOf(BEYOND_ASCII, BLOCK_BYTES) });
		const sized = await store().jobs.record(q);
		expect(sized).toMatchObject({ inputBytes: BEYOND_ASCII.length, outputBytes: BEYOND_ASCII.length });
		expect([sized?.input, sized?.output]).toEqual([undefined, undefined]);
		const small = await site.running();
		await site.report(small.id, { output: "1" });
		const read = await store().jobs.record({ ...q, id: small.id });
		expect(read).toEqual(await site.record(small.id));
		expect(read).toMatchObject({ input: expect.any(String), output: "1" });
	});

	it.each(PAYLOADS)(
		"D5: %s, as an output: kept, shown as often as wanted, and still the caller's own",
		async (_, make) => {
			const site = siteOf(store());
			const { id } = await site.running();
			const output = make();
			await site.report(id, { output });
			expectSame(output, make);
			for (const found of [await site.get(id), await site.get(id), await site.record(id), await site.retain(id, 5000)])
				expectSame(found?.output, make);
			expect(await site.get(id, T0 + 5000)).toBeUndefined();
		},
	);

	it.each(PAYLOADS)("D6: %s, as a progress value: replaces and is replaced", async (_, make) => {
		const site = siteOf(store());
		const { id } = await site.running();
		const progress = (value: JsonText) =>
			store().jobs.progress({ endpoint: site.endpoint, id, worker: "w1", value, now: T0 });
		for (const each of [make, () => blocksOf(letters(LARGE_BYTES * 2), LARGE_BYTES), make, () => "1"]) {
			expect(await progress(each())).toBe(true);
			expectSame((await site.get(id))?.output, each);
		}
		await progress(make());
		await site.report(id, { output: "2" });
		expect(await site.get(id)).toMatchObject({ output: "2" });
	});

	it.each(PAYLOADS)("D21: %s, as the output in the body of a delivery, which outlives the job's own", (_, make) =>
		alone(open, async (site) => {
			const { id } = await site.running({ webhook: "https://example.com/hook" });
			await site.report(id, { on: "fail", output: make(), error: "no" });
			const ended = (await site.get(id))!;
			const expected = bytesOf(asOne(jobView({ ...ended, output: make() }, T0)));
			await site.move(id, "retry");
			await site.settle(T0);
			for (let round = 0; round < 2; round += 1) {
				const { due } = await site.store.webhooks.claim({
					limit: 1,
					each: 1,
					skip: [],
					holdMs: 1000,
					now: T0 + round * 1000,
				});
				expect(due[0]?.bytes).toBe(expected.length);
				const body = await site.store.webhooks.body({ id: due[0]?.id ?? "" });
				expect(bytesOf(body).equals(expected)).toBe(true);
			}
		}),
	);

	it("D37: the output of a failed job is removed by a retry, its input is not", async () => {
		const site = siteOf(store());
		const make = (): JsonText => blocksOf(BEYOND_ASCII, 70_000);
		const { id } = await site.running({ input: make() });
		await site.report(id, { on: "fail", output: make(), error: "no" });
		await site.move(id, "retry");
		await site.settle(T0);
		const { input, output } = (await site.record(id))!;
		expect(output).toBeUndefined();
		expectSame(input, () => make());
	});

	it("D9, D11: an expired or purged job takes nothing of another with it", () =>
		alone(open, async (site) => {
			const make = (byte: string) => (): JsonText => blocksOf(Buffer.from(`"${byte.repeat(200_000)}"`), 50_000);
			const [expired, kept] = [await site.running({ input: make("a")() }), await site.running({ input: make("b")() })];
			const [purged] = [await site.add({ input: make("c")() })];
			await site.report(expired.id, { output: make("d")(), now: T0 });
			await site.report(kept.id, { output: make("e")(), now: T0 + 10 });
			await site.purge();
			for (let due: number | undefined = 0; due !== undefined && due <= T0 + RETAIN; )
				due = (await site.settle(T0 + RETAIN, 1)).nextDueAt;
			const later = await site.add({ input: make("f")(), now: T0 + RETAIN });
			expect(await site.record(expired.id, T0 + RETAIN)).toMatchObject({
				job: { erased: true },
				input: undefined,
				output: undefined,
			});
			expect(await site.record(purged.id, T0 + RETAIN)).toBeUndefined();
			const found = await site.record(kept.id, T0 + RETAIN);
			expectSame(found?.input, make("b"));
			expectSame(found?.output, make("e"));
			expectSame((await site.record(later.id, T0 + RETAIN))?.input, make("f"));
		}));

	it("claims and deliveries take as many bytes as they may, but at least one job", () =>
		alone(open, async (site) => {
			const large = (): JsonText => blocksOf(letters(100_000), 40_000);
			const ids = [];
			for (let job = 0; job < 3; job += 1)
				ids.push((await site.add({ input: large(), webhook: "https://example.com/hook" })).id);
			expect(await site.takeIds({ limit: 3, maxBytes: 199_999 })).toEqual(ids.slice(0, 1));
			expect(await site.takeIds({ limit: 3, maxBytes: 200_000 })).toEqual(ids.slice(1));
		}));

	it("D15: one operation of a batch that fails leaves the large payloads of the others whole", async () => {
		const site = siteOf(store());
		const make = (): JsonText => blocksOf(BEYOND_ASCII, 70_000);
		const first = await site.running();
		const reported = make();
		const sent = Promise.withResolvers<Claim>();
		const [added, refused, claimed, moved] = await Promise.allSettled([
			site.add({ input: make(), sent: () => sent.resolve(site.take()) }),
			site.add({ id: first.id, input: make() }),
			sent.promise,
			site.report(first.id, { output: reported }),
		]);
		expect([added.status, refused.status, claimed.status, moved.status]).toEqual([
			"fulfilled",
			"rejected",
			"fulfilled",
			"fulfilled",
		]);
		expectSame(claimed.status === "fulfilled" ? claimed.value.jobs[0]?.input : undefined, make);
		expectSame((await site.get(first.id))?.output, make);
		expectSame(reported, make);
	});
}
