/**
 * Gathers bytes into blocks of `size`; the last may be smaller. Each is passed to `put`, whose promise says that the
 * block may be overwritten: one buffer serves them all.
 */
export function inBlocks(size: number, put: (block: Buffer) => Promise<void>) {
	let buffer = Buffer.allocUnsafe(size);
	let filled = 0;

	async function pass(): Promise<void> {
		await put(buffer.subarray(0, filled));
		filled = 0;
	}

	return {
		async write(bytes: Uint8Array): Promise<void> {
			for (let at = 0; at < bytes.length; ) {
				const length = Math.min(bytes.length - at, size - filled);
				buffer.set(bytes.subarray(at, at + length), filled);
				filled += length;
				at += length;
				if (filled === size) await pass();
			}
		},
		/** Passes what is left. */
		async end(): Promise<void> {
			if (filled > 0) await pass();
			buffer = Buffer.alloc(0);
		},
	};
}
