/**
 * `COPY (SELECT one column) TO STDOUT (FORMAT binary)`: the only form in which the driver passes bytes on as bytes.
 * Elsewhere it makes a text of them, twice their size.
 */
import { Query, type QueryConfig, type ResultBuilder } from "pg";

const SIGNATURE = Buffer.from("PGCOPY\n\xff\r\n\0", "latin1");

/** Signature, flags, and the length of what may follow them. */
const HEAD_BYTES = SIGNATURE.length + 8;

/** Number of columns, and the length of the value. */
const ROW_HEAD_BYTES = 6;

/** Takes the value of a row. It must keep nothing of it: the bytes are overwritten after the call. */
export type TakeValue = (value: Buffer) => void;

type Done = (error: Error | undefined, result: ResultBuilder) => void;

interface CopyData {
	chunk: Buffer;
}

/** A statement of the driver whose values go to `take`, in order, and none after `done` was called. */
export class CopyOut extends Query {
	#take: TakeValue | undefined;
	#isFirst = true;
	#fault: Error | undefined;

	constructor(config: QueryConfig, take: TakeValue, done: Done) {
		super(config, (error, result) => {
			this.#take = undefined;
			done(error ?? this.#fault, result);
		});
		this.#take = take;
	}

	/** Called by the driver for each row, in a handler of the socket: an error must not leave it. */
	handleCopyData({ chunk }: CopyData): void {
		if (this.#fault) return;
		try {
			const value = valueOf(chunk, this.#isFirst);
			this.#isFirst = false;
			if (value) this.#take?.(value);
		} catch (error) {
			this.#fault = error as Error;
		}
	}
}

/** PostgreSQL sends each row in a message of its own, the first one behind the head. Undefined for the last message. */
export function valueOf(message: Buffer, isFirst: boolean): Buffer | undefined {
	let at = 0;
	if (isFirst) {
		if (!message.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw new Error("PostgreSQL sent no binary COPY.");
		at = HEAD_BYTES + message.readInt32BE(HEAD_BYTES - 4);
	}
	if (at === message.length) return undefined;
	const columns = message.readInt16BE(at);
	if (columns === -1) return undefined;
	const begin = at + ROW_HEAD_BYTES;
	if (columns === 1 && begin + message.readInt32BE(at + 2) === message.length) return message.subarray(begin);
	throw new Error("PostgreSQL sent a row of COPY that is not one value.");
}
