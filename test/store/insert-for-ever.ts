/**
 * A process that submits jobs as fast as it can and prints the id of each when it is acknowledged,
 * until it is killed.
 */
import { writeSync } from "node:fs";
import { openSqlite } from "../../src/store/sqlite/open.ts";
import { siteOf, T0 } from "./site.ts";

const store = await openSqlite({ path: process.argv[2] ?? "" });
const site = siteOf(store);
for (;;) {
	await Promise.all(
		Array.from({ length: 20 }, async (_, n) => {
			const { id } = await site.add({ now: T0 });
			writeSync(1, `${n % 2 === 0 ? "insert" : "other"} ${id}\n`);
			if (n % 2 === 0) return;
			const [claimed] = (await site.take()).jobs;
			if (!claimed) return;
			writeSync(1, `claim ${claimed.job.id}\n`);
			await site.report(claimed.job.id, { output: "1" });
			writeSync(1, `report ${claimed.job.id}\n`);
		}),
	);
}
