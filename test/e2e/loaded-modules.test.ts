/** What each thread of the service loads of Node (docs/decisions/0006). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { site } from "./site.ts";

/** Runs in each thread; writes a line at its end. */
const NOTE = `
import { appendFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
process.on("exit", () => {
	const names = process.moduleLoadList.filter((name) => name.endsWith("undici/undici"));
	appendFileSync(process.env.NOTES, JSON.stringify({ threadId, names }) + "\\n");
});`;

it("no thread of the service loads undici, which an import of node:http does", async (test) => {
	const place = site(test);
	const notes = join(place.folder.path, "notes");
	const service = await place.serve({
		endpoints: { ep: {} },
		env: { NOTES: notes, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(NOTE)}` },
	});
	expect(await service.end()).toBe(0);
	const found = readFileSync(notes, "utf8")
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as { threadId: number; names: string[] });
	// The command, the service, the database.
	expect(new Set(found.map(({ threadId }) => threadId))).toEqual(new Set([0, 1, 2]));
	expect(found.flatMap(({ names }) => names)).toEqual([]);
});
