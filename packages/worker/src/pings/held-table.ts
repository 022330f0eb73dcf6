/**
 * Ids of held jobs in shared memory, which the ping thread reads while a handler blocks the main thread. A slot's
 * counter is odd during a write. Readers retry if it is odd or changed.
 */
import { Buffer } from "node:buffer";

const SLOTS = 1024;
const SLOT_BYTES = 256;
const HEAD_BYTES = 8;
const SLOT_INTS = SLOT_BYTES / 4;

/** Has 1,024 slots for ids of at most 248 bytes. */
export function newHeldTable(): SharedArrayBuffer {
	return new SharedArrayBuffer(SLOTS * SLOT_BYTES);
}

/** Only one per table. */
export interface HeldTableWriter {
	/** Returns the id's slot, or -1 if it is too long or the table is full. */
	add(id: string): number;
	remove(slot: number): void;
}

export function heldTableWriter(memory: SharedArrayBuffer): HeldTableWriter {
	const bytes = Buffer.from(memory);
	const ints = new Int32Array(memory);
	const free = Array.from({ length: SLOTS }, (_, index) => SLOTS - 1 - index);

	function write(slot: number, id: string): void {
		const head = slot * SLOT_INTS;
		Atomics.add(ints, head, 1);
		const length = id === "" ? 0 : bytes.write(id, slot * SLOT_BYTES + HEAD_BYTES, SLOT_BYTES - HEAD_BYTES, "utf8");
		Atomics.store(ints, head + 1, length);
		Atomics.add(ints, head, 1);
	}

	return {
		add(id) {
			const mayFit = id.length <= SLOT_BYTES - HEAD_BYTES && Buffer.byteLength(id) <= SLOT_BYTES - HEAD_BYTES;
			const slot = mayFit ? free.pop() : undefined;
			if (slot === undefined) return -1;
			write(slot, id);
			return slot;
		},
		remove(slot) {
			write(slot, "");
			free.push(slot);
		},
	};
}

export function readHeldTable(memory: SharedArrayBuffer): string[] {
	const bytes = Buffer.from(memory);
	const ints = new Int32Array(memory);
	const ids: string[] = [];
	for (let slot = 0; slot < SLOTS; slot += 1) {
		const id = readSlot(bytes, ints, slot);
		if (id !== "") ids.push(id);
	}
	return ids;
}

function readSlot(bytes: Buffer, ints: Int32Array, slot: number): string {
	const head = slot * SLOT_INTS;
	for (;;) {
		const before = Atomics.load(ints, head);
		const length = Atomics.load(ints, head + 1);
		if (before % 2 === 0 && length === 0) return "";
		const start = slot * SLOT_BYTES + HEAD_BYTES;
		const id = bytes.toString("utf8", start, start + length);
		if (before % 2 === 0 && Atomics.load(ints, head) === before) return id;
	}
}
