import { BLOCK_BYTES, LARGE_BYTES, release } from "../../lib/json/json-text.ts";

/** Collects a small body in one block, a large one in blocks of {@link BLOCK_BYTES}. */
export class BlockCollector {
	private readonly size: number | undefined;
	private readonly full: Buffer[] = [];
	private small: Buffer[] | undefined = [];
	private bytes = 0;
	private open: Buffer | undefined;
	private filled = 0;

	constructor(size: number | undefined) {
		this.size = size;
	}

	add(piece: Buffer): void {
		this.bytes += piece.length;
		if (!this.small) return this.fill(piece);
		this.small.push(piece);
		if (this.bytes < LARGE_BYTES) return;
		for (const each of this.small) this.fill(each);
		this.small = undefined;
	}

	/**
	 * Returns the blocks and keeps none, because the request keeps this object until it is answered, which may take
	 * minutes (D40).
	 */
	finish(): Buffer[] {
		this.close();
		const { small } = this;
		this.small = undefined;
		if (!small) return this.full.splice(0);
		return small.length === 1 ? small : [Buffer.concat(small, this.bytes)];
	}

	drop(): void {
		this.full.length = 0;
		this.small = undefined;
		this.open = undefined;
	}

	private fill(piece: Buffer): void {
		for (let at = 0; at < piece.length; ) {
			if (!this.open) {
				const left = this.size === undefined ? BLOCK_BYTES : this.size - this.full.length * BLOCK_BYTES;
				this.open = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, left));
			}
			const copied = piece.copy(this.open, this.filled, at);
			at += copied;
			this.filled += copied;
			if (this.filled === this.open.length) this.close();
		}
		// Frees a piece that has its own memory now, without waiting for garbage collection.
		if (piece.buffer.byteLength === piece.length) release([piece]);
	}

	private close(): void {
		if (this.open) this.full.push(this.open.subarray(0, this.filled));
		this.open = undefined;
		this.filled = 0;
	}
}
