/** Output and answers of platforms, however their streams are cut. */
import fc from "fast-check";
import { framesOf, linesOf, type Piece } from "../../../src/kernel/launchers/platform-streams.ts";
import { bytesOf, natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const LIMIT = 20;

/** In chunks of these sizes, again from the first. */
async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
	for (let at = 0, n = 0; at < bytes.length; n += 1) {
		const size = 1 + (natural(sizes[n % sizes.length] ?? 0) % 64);
		yield bytes.subarray(at, at + size);
		at += size;
	}
}

/** Whole lines or frames of their pieces. */
async function joined(stream: AsyncIterable<Piece[]>, isBounded: (bytes: number) => boolean): Promise<string[]> {
	const found: string[] = [];
	let isOpen = false;
	for await (const pieces of stream)
		for (const { bytes, begins, ends } of pieces) {
			must(begins !== isOpen, "a piece neither begins nor continues");
			must(isBounded(bytes.length), `a piece of ${bytes.length} bytes`);
			if (begins) found.push("");
			found[found.length - 1] += bytes.toString("latin1");
			isOpen = !ends;
		}
	return found;
}

function frame(text: string): Buffer {
	const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
	header.writeUInt32BE(text.length, 4);
	return Buffer.concat([header, bytesOf(text)]);
}

export const STREAMS = target({
	name: "platform-streams",
	sources: ["kernel/launchers/platform-streams.ts"],
	cases: fc.record({
		lines: fc.array(fc.oneof(oddText, fc.string({ maxLength: 80 })), { maxLength: 12 }),
		sizes: fc.array(fc.nat(64), { maxLength: 6 }),
	}),
	async check(q) {
		const [lines, sizes] = [q.lines.map((each) => bytesOf(String(each)).toString("latin1")), q.sizes];
		const text = lines.join("\n");
		const found = await joined(linesOf(cut(bytesOf(text), sizes), LIMIT), (bytes) => bytes <= LIMIT + 64);
		same("lines", found, text === "" ? [] : text.split(/(?<=\n)/));
		const frames = Buffer.concat([...lines.map(frame), frame("unfinished").subarray(0, 9)]);
		const contents = await joined(framesOf(cut(frames, sizes)), () => true);
		same(
			"frames",
			contents,
			lines.filter((each) => each !== ""),
		);
	},
});
