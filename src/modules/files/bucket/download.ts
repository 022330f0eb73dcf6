/** A range of an object, which goes on where it was when its connection breaks (D61). */
import type { ByteRange } from "../../../kernel/engine/stored-files.ts";
import type { Answer } from "./client.ts";

/** Times that it goes on without a byte of progress. */
const RESUMES = 3;

export interface BucketPieces extends AsyncIterable<Uint8Array> {
	/** Size of the whole object. */
	bytes: number;
	close(): Promise<void>;
}

/** `again`: opens the range from a byte on. `fault`: the error for one of the connection. Both throw as calls do. */
export function piecesOf(
	opened: Answer,
	{ start, end }: ByteRange,
	{ again, fault }: { again: (from: number) => Promise<Answer>; fault: (error: unknown) => unknown },
): BucketPieces {
	let answer = opened;
	async function* pieces(): AsyncGenerator<Uint8Array, void> {
		let at = start;
		for (let resumes = 0; at < end; resumes += 1) {
			try {
				for await (const piece of answer.body as AsyncIterable<Buffer>) {
					at += piece.length;
					resumes = 0;
					yield piece;
				}
				if (at < end) throw Object.assign(new Error("It ended early."), { code: "UND_ERR_SOCKET" });
			} catch (error) {
				if (resumes === RESUMES) throw fault(error);
				answer = await again(at);
			}
		}
	}
	return {
		bytes: Number(/\/(\d+)$/.exec(String(opened.headers["content-range"]))?.[1]),
		[Symbol.asyncIterator]: pieces,
		close: async () => void answer.body.destroy(),
	};
}
