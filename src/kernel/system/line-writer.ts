/** Writes lines to a stream that may be read slowly or not at all, such as stderr, with a bound of what waits. */
import type { Writable } from "node:stream";

const MOST_BYTES = 2 ** 20;

/**
 * Lines that would exceed the bound are dropped, but for one where nothing waits, however long it is; `onDropped` gets
 * their number once what waited has been taken. A stream that fails takes nothing more.
 */
export function lineWriter(
	stream: Pick<Writable, "write">,
	onDropped: (lines: number) => void,
	mostBytes = MOST_BYTES,
): (line: string) => void {
	let waiting = 0;
	let dropped = 0;

	function taken(bytes: number): void {
		waiting -= bytes;
		if (waiting > 0 || dropped === 0) return;
		const lines = dropped;
		dropped = 0;
		onDropped(lines);
	}

	return (line) => {
		const bytes = Buffer.byteLength(line);
		// Once lines are missing the next one says so, so none comes before it.
		const isFull = waiting > 0 && waiting + bytes > mostBytes;
		if (dropped > 0 || isFull) {
			dropped += 1;
			return;
		}
		waiting += bytes;
		stream.write(line, (error) => {
			if (!error) taken(bytes);
		});
	};
}
