/** Traces the workload once, and opens what a loss of power may leave at any moment of it. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type AllKnown, check, learn, type Said } from "./check.ts";
import { choices, type Contents, Disk } from "./disk.ts";
import { CALLS, type Step, stepsOf } from "./trace.ts";

const WORKLOAD = fileURLToPath(new URL("./workload.ts", import.meta.url));

/** Violations after which no further state is opened. */
const ENOUGH = 20;

export interface Losses {
	jobs: number;
	files: number;
	/** Keys, and uploads in parts. */
	objects: number;
	uploads: number;
	batches: number;
	steps: number;
	/** Different ones, each opened. */
	states: number;
	violations: { step: number; what: string[] }[];
}

/** Where a traced store is. */
export interface Place {
	folder: string;
	/** Of the database. */
	path: string;
}

/** What the workload did, in the order of its calls. */
export function traced(
	place: string,
	q: { sessions: number; rounds: number },
): Place & {
	steps: Step[];
} {
	const folder = join(place, "store");
	mkdirSync(folder);
	const path = join(folder, "sluice.db");
	const trace = join(place, "trace");
	// A file takes all that is written to it, a pipe does not.
	const said = openSync(join(place, "said"), "w");
	const { error, signal } = spawnSync(
		"strace",
		[
			...["-f", "-y", "-xx", "-s", "2000000", "-e", `trace=${CALLS.join()}`, "-o", trace],
			...[process.execPath, WORKLOAD, path, String(q.sessions), String(q.rounds)],
		],
		{ stdio: ["ignore", said, "inherit"] },
	);
	closeSync(said);
	if (error) throw error;
	if (signal !== "SIGKILL") throw new Error("the traced process ended before its work was done");
	return { folder, path, steps: stepsOf(readFileSync(trace, "latin1"), folder) };
}

/** Opens up to `most` states, spread over all steps, in folders below `place`. */
export async function losePower(
	place: string,
	q: Place & { steps: readonly Step[]; most: number; random: () => number },
): Promise<Losses> {
	const { steps, folder, path, most, random } = q;
	const disk = new Disk();
	const known: AllKnown = {
		...{ jobs: new Map(), files: new Map(), objects: new Map(), uploads: new Map(), batches: new Map() },
	};
	let said = 0;
	const seen = new Set<string>();
	const violations: Losses["violations"] = [];
	const changes = steps.filter(({ kind }) => kind !== "say").length;
	let done = 0;

	/** Opens what may be left when the power is lost before this step. */
	async function loseAt(index: number): Promise<void> {
		const all = [...choices(disk.pending, random)];
		const part = (most - seen.size) / (changes - done) / (2 * all.length);
		for (const choose of all)
			for (const entries of [true, false]) {
				if (random() > part) continue;
				const contents = disk.lose(choose, entries);
				const name = hashOf(contents, said);
				if (seen.has(name)) continue;
				seen.add(name);
				const what = await openAfter(contents);
				if (what.length > 0) violations.push({ step: index, what });
			}
	}

	async function openAfter(contents: Contents): Promise<string[]> {
		const copy = mkdtempSync(join(place, "state-"));
		for (const [file, bytes] of contents) {
			const to = join(copy, relative(folder, file));
			mkdirSync(dirname(to), { recursive: true });
			writeFileSync(to, bytes);
		}
		const found = await check(join(copy, basename(path)), known);
		rmSync(copy, { recursive: true });
		return found;
	}

	for (const [index, step] of steps.entries()) {
		if (violations.length > ENOUGH) break;
		if (step.kind === "say") {
			learn(known, JSON.parse(step.text) as Said);
			said += 1;
			continue;
		}
		await loseAt(index);
		disk.apply(step);
		done += 1;
	}
	const { jobs, files, objects, uploads, batches } = known;
	const stored = { jobs: jobs.size, files: files.size, objects: objects.size, uploads: uploads.size };
	return { ...stored, batches: batches.size, steps: steps.length, states: seen.size, violations };
}

function hashOf(contents: Contents, acknowledged: number): string {
	const hash = createHash("sha1").update(String(acknowledged));
	for (const [file, bytes] of contents) hash.update(file).update(bytes);
	return hash.digest("base64");
}
