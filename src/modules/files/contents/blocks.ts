/**
 * Gathers bytes into blocks of `size`; the last may be smaller. Each is passed to `put`, one after the other, whose
 * promise says that the block may be overwritten: two buffers serve them all, of which one is filled while the other is
 * put. A block that could not be put fails the next call.
 */
export function inBlocks(size: number, put: (block: Buffer) => Promise<void>) {
	let buffer = Buffer.allocUnsafe(size);
	let spare: typeof buffer | undefined;
	let filled = 0;
	let putting: Promise<void> = Promise.resolve();

	async function pass(): Promise<void> {
		await putting;
		const full = buffer;
		putting = put(full.subarray(0, filled));
		// Awaited by the next call.
		putting.catch(() => {});
		buffer = spare ?? Buffer.allocUnsafe(size);
		spare = full;
		filled = 0;
	}

	return {
		/** Keeps nothing of `bytes`. */
		async write(bytes: Uint8Array): Promise<void> {
			for (let at = 0; at < bytes.length; ) {
				const length = Math.min(bytes.length - at, size - filled);
				buffer.set(bytes.subarray(at, at + length), filled);
				filled += length;
				at += length;
				if (filled === size) await pass();
			}
		},
		/** Passes what is left, and resolves when all is put. */
		async end(): Promise<void> {
			if (filled > 0) await pass();
			await putting;
			buffer = Buffer.alloc(0);
			spare = undefined;
		},
	};
}
