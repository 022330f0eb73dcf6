/**
 * How long a large chunk takes to split, ms per MB, for sizes that grow: the same for each, since the
 * work is in proportion to the size. `node bench/chunk-split.ts`.
 */
import { splitOutput } from "../src/kernel/lib/json/chunk-split.ts";
import { machine, median } from "./machine.ts";

const ELEMENT = `{"id":1,"text":"${"é".repeat(40)}","list":[1,2,[3]]}`;
const LIMIT_BYTES = 1_000_000;
const ROUNDS = 5;

function msPerMb(elements: number): number {
	const source = Buffer.from(`[${Array(elements).fill(ELEMENT).join(",")}]`);
	const times = Array.from({ length: ROUNDS }, () => {
		const began = performance.now();
		const steps = splitOutput(source, LIMIT_BYTES);
		while (!steps.next().done);
		return performance.now() - began;
	});
	return Math.round((median(times) / source.length) * 1e8) / 100;
}

msPerMb(20_000);
const sizes = Object.fromEntries([20_000, 80_000, 160_000].map((size) => [size, msPerMb(size)]));
process.stdout.write(`${JSON.stringify({ bench: "chunk-split", ...machine(), msPerMbByElements: sizes }, null, 2)}\n`);
