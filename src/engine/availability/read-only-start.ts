/**
 * A server starts also when its store can be read but not written (D40): what a start writes is
 * written when there is room again.
 */
import { StoreUnavailable } from "../../store/contract/store.ts";

/** Whether the write was done; false when the disk is full. Throws every other error. */
export async function unlessFull(write: Promise<unknown>): Promise<boolean> {
	try {
		await write;
		return true;
	} catch (error) {
		if (error instanceof StoreUnavailable && error.why === "full") return false;
		throw error;
	}
}
