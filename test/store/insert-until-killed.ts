/**
 * A process that submits jobs as fast as it can and prints the id of each when it is acknowledged,
 * until it is killed.
 */
import { LARGE_BYTES } from "../../src/kernel/lib/json/json-text.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { siteOf, T0 } from "./site.ts";

/** Resolves when the line is written: the reader may be slow, and the pipe full. */
const print = (line: string): Promise<void> =>
	new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));

/** A text in a payload file; its first byte says which. */
const largeText = (n: number): Uint8Array[] => [
	Buffer.alloc(1, 48 + (n % 10)),
	Buffer.alloc(LARGE_BYTES, 48 + (n % 10)),
];

const store = await openSqlite({ path: process.argv[2] ?? "" });
const site = siteOf(store);
for (;;) {
	await Promise.all(
		Array.from({ length: 20 }, async (_, n) => {
			const large = n % 5 === 0 ? largeText(n) : undefined;
			const { id } = await site.add({ now: T0, ...(large && { input: large }) });
			await print(`${n % 2 === 0 ? "insert" : "other"} ${id}`);
			if (n % 2 === 0) return;
			const [claimed] = (await site.take()).jobs;
			if (!claimed) return;
			await print(`claim ${claimed.job.id}`);
			await site.report(claimed.job.id, { output: n === 1 ? largeText(n) : "1" });
			await print(`report ${claimed.job.id}`);
		}),
	);
}
