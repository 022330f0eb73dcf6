/** Reads chunks within what the caller may hold (D41). */
import type { BoundedRead } from "../../engine/jobs/stream/stream.ts";
import type { Call } from "../exchange/call.ts";
import { hold, holdNow, room } from "./call-memory.ts";

const LEAST_BYTES = 1024 * 1024;

/** Texts are held twice: as read and as sent. */
const COPIES = 2;

/**
 * `most`: bytes of one read. `kept`: bytes that the caller already holds. After a read the call holds the found
 * bytes until the next `hold`.
 */
export function boundedReads(call: Call, most: number, kept: () => number = () => 0): BoundedRead {
	return async (read) => {
		const bytes = Math.max(LEAST_BYTES, Math.min(most, Math.floor(room(call) / COPIES)));
		await hold(call, kept() + bytes * COPIES);
		const found = await read(bytes);
		const size = found?.chunks.reduce((sum, chunk) => sum + chunk.length, 0) ?? 0;
		holdNow(call, kept() + size * COPIES);
		return found;
	};
}
