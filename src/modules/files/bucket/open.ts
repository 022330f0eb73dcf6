/** Opens the bucket at the start of the service (D61). */
import { busOf } from "../../../kernel/events.ts";
import { hex } from "../../../kernel/lib/ids.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";
import type { FileContents } from "../contents/contents.ts";
import { bucketContents } from "../contents/in-bucket.ts";
import type { EVENTS } from "../events.ts";
import { openBucket } from "./bucket.ts";
import { confirmBucket, Misplaced } from "./place.ts";
import type { BucketSettings } from "./settings.ts";

const ID_BYTES = 18;

/**
 * `earlier`: the place of files that are not in the bucket. A bucket that does not answer is asked again by each call.
 * Throws `Misplaced`.
 */
export async function openInBucket(
	kernel: Pick<Kernel, "clock" | "events" | "random" | "store" | "storeId">,
	settings: BucketSettings,
	earlier: () => Promise<FileContents>,
): Promise<{ contents: FileContents; close: () => Promise<void> }> {
	const { clock, store, storeId, random } = kernel;
	const events = busOf<typeof EVENTS>(kernel.events);
	const bucket = openBucket(settings, `${storeId}/`, clock);
	const newId = (): string => hex(random(ID_BYTES));
	let confirming: Promise<void> | undefined;

	/** Asks once, and again after it has failed. */
	function confirmed(): Promise<void> {
		confirming ??= confirmBucket({ store, newId }, bucket);
		confirming.catch(() => (confirming = undefined));
		return confirming;
	}

	async function confirmedLater(): Promise<void> {
		try {
			await confirmed();
		} catch (error) {
			if (!(error instanceof Misplaced)) throw error;
			throw new StoreUnavailable("unreachable", error.message, { cause: error });
		}
	}

	await confirmed().catch((error: unknown) => {
		if (!(error instanceof StoreUnavailable)) throw error;
		events.emit("files.bucket_away", { why: error.message });
	});
	const contents = bucketContents(bucket, { rows: store.files, earlier, confirmed: confirmedLater, now: clock.now });
	return { contents, close: () => bucket.close() };
}
