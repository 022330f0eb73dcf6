/**
 * The process that is traced: opens a store repeatedly, changes it, and writes to stdout what
 * was acknowledged, a line each.
 */
import { writeSync } from "node:fs";
import { type JsonText, LARGE_BYTES } from "../../../src/kernel/lib/json/json-text.ts";
import { openSqlite } from "../../../src/kernel/store/sqlite/open.ts";
import { type Site, siteOf, T0 } from "../../store/site.ts";
import type { Expected } from "./expected.ts";

const [path = "", sessions = "6", rounds = "12"] = process.argv.slice(2);

/** Jobs of a round, which share commits as they come. */
const JOBS = 5;

/** Written at once: in the trace it stands where it was said. */
function acknowledge(expected: Expected): void {
	writeSync(1, `${JSON.stringify(expected)}\n`);
}

/** A text as the service has it: blocks of bytes from 64 kB on, which payload files take. */
function textOf(json: string): JsonText {
	return json.length < LARGE_BYTES ? json : [Buffer.from(json)];
}

async function job(site: Site, n: number): Promise<void> {
	const { endpoint } = site;
	const large = n % 5 === 1;
	const input = large ? JSON.stringify("x".repeat(70_000)) : `{"n":${n}}`;
	const { id } = await site.add({ input: textOf(input) });
	acknowledge({ endpoint, id, input });
	const [claimed] = (await site.take({ worker: `w${n % 3}` })).jobs;
	if (!claimed) return;
	const worker = claimed.job.worker!;
	const own = claimed.job.id;
	acknowledge({ endpoint, id: own, worker });
	if (n % 4 === 0)
		for (const text of ['{"output":1}', '{"output":2}']) {
			await site.store.chunks.append({
				endpoint,
				id: own,
				worker,
				chunks: [text],
				unlessLast: false,
				now: T0,
			});
			acknowledge({ endpoint, id: own, chunk: text });
		}
	if (n % 7 === 0) {
		await site.move(own, "cancel");
		return acknowledge({ endpoint, id: own, state: "CANCELLED" });
	}
	const output = large ? JSON.stringify("y".repeat(80_000)) : `{"out":${n}}`;
	await site.report(own, { worker, output: textOf(output) });
	acknowledge({ endpoint, id: own, state: "COMPLETED", output });
}

let n = 0;
for (let session = 0; session < Number(sessions); session += 1) {
	const store = await openSqlite({ path });
	const site = siteOf(store);
	for (let round = 0; round < Number(rounds); round += 1)
		await Promise.all(Array.from({ length: JOBS }, () => job(site, (n += 1))));
	// The last one is cut off.
	if (session < Number(sessions) - 1) await store.close();
}
process.kill(process.pid, "SIGKILL");
