/**
 * What entries that were deleted long ago leave in V8's old space: a plain `Map` compared with
 * `RotatingMap`, each with 64 entries of 8 KB at a time. `node --expose-gc bench/rotating-map.ts
 * [entries]`.
 */
import { getHeapSpaceStatistics } from "node:v8";
import { RotatingMap } from "../src/kernel/lib/rotating-map.ts";
import { machine } from "./machine.ts";

const entries = Number(process.argv[2] ?? 4000);
const ALIVE = 64;
const NUMBERS = 1000;
const MINOR_EVERY = 500;

const collect = globalThis.gc as ((q?: { type: "minor" }) => void) | undefined;
if (!collect) throw new Error("Run it with --expose-gc.");

const oldBytes = (): number =>
	getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")!.space_used_size;

/** KB of old space per deleted entry, after so many entries were added and deleted. */
function keptKb(map: Map<number, number[]> | RotatingMap<number, number[]>): number {
	const entry = (n: number): number[] => Array.from({ length: NUMBERS }, (_, at) => n + at / 2);
	for (let n = 0; n < ALIVE; n += 1) map.set(n, entry(n));
	// Two full collections move the map itself to old space.
	collect!();
	collect!();
	const before = oldBytes();
	for (let n = ALIVE; n < ALIVE + entries; n += 1) {
		map.set(n, entry(n));
		map.delete(n - ALIVE);
		if (n % MINOR_EVERY === 0) collect!({ type: "minor" });
	}
	return Math.round(((oldBytes() - before) / entries / 1024) * 100) / 100;
}

const plain = keptKb(new Map());
const rotating = keptKb(new RotatingMap());
process.stdout.write(
	`${JSON.stringify({ bench: "rotating-map", ...machine(), entries, keptKbPerEntry: { plain, rotating } }, null, 2)}\n`,
);
