/** How much more may be stored (D56). Uploads are refused as soon as is known; the insert of the row decides. */
import { UnreadBody } from "../../kernel/http/exchange/body.ts";
import type { FileStore, FileTotal } from "../../kernel/store/contract/files.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import { ERRORS } from "./errors.ts";
import type { FilesSettings } from "./settings.ts";

const MB = 2 ** 20;
const mb = (bytes: number): string => (bytes / MB).toFixed(bytes < 10 * MB ? 1 : 0);

export type Rooms = ReturnType<typeof rooms>;
export type Room = Awaited<ReturnType<Rooms["open"]>>;

interface Upload {
	endpoint: string;
	/** Bytes that it has at least, and that totals do not have; 0 once its row may be among them. */
	bytes: number;
}

export function rooms(store: Pick<FileStore, "totals">, { maxBytes, endpointBytes, totalBytes }: FilesSettings) {
	/** Those of this server, in the order of their begin. */
	const uploads = new Set<Upload>();
	/** Rows of uploads that were stored, or may be: totals that were read before lack the last ones. */
	let rows = 0;

	function tooLarge(size: number | undefined): UnreadBody {
		const values = { size: size ?? `over ${maxBytes}`, limit: maxBytes, limitMb: maxBytes / MB };
		return new UnreadBody(ERRORS.file_too_large, values, [{ field: "file", message: "is too large." }]);
	}

	function full(over: "endpoint" | "total", { endpoint, stored }: { endpoint: string; stored: number }): UnreadBody {
		return over === "endpoint"
			? new UnreadBody(ERRORS.endpoint_files_full, { endpoint, stored: mb(stored), limitMb: endpointBytes / MB })
			: new UnreadBody(ERRORS.files_full, { stored: mb(stored), limitMb: totalBytes / MB });
	}

	/** Only uploads that began before count: of two that do not fit together the first one is stored. */
	function before(upload: Upload): { own: number; all: number } {
		let [own, all] = [0, 0];
		for (const each of uploads) {
			if (each === upload) break;
			all += each.bytes;
			if (each.endpoint === upload.endpoint) own += each.bytes;
		}
		return { own, all };
	}

	return {
		full,
		/** Counts one upload until `close`. `least`: bytes that it has at least. Throws if they do not fit. */
		async open(endpoint: string, least: number) {
			if (least > maxBytes) throw tooLarge(least);
			const upload: Upload = { endpoint, bytes: least };
			let arrived = 0;
			let totals: readonly FileTotal[] = [];
			let rowsBefore = -1;

			async function read(): Promise<void> {
				// Of a row that is stored meanwhile it is unknown whether the answer has it.
				rowsBefore = rows;
				totals = await store.totals();
			}

			function refusal(): UnreadBody | undefined {
				const own = totals.find((each) => each.endpoint === endpoint)?.bytes ?? 0;
				const all = totals.reduce((sum, { bytes }) => sum + bytes, 0);
				const others = before(upload);
				if (own + others.own + upload.bytes > endpointBytes) return full("endpoint", { endpoint, stored: own });
				if (all + others.all + upload.bytes > totalBytes) return full("total", { endpoint, stored: all });
				return undefined;
			}

			/** Files may have been deleted since the totals were read: only totals of now refuse an upload. */
			async function check(): Promise<void> {
				const isOld = rowsBefore !== rows;
				if (isOld) await read();
				if (refusal() && !isOld) await read();
				const refused = refusal();
				if (refused) throw refused;
				// In the same turn, so that of two that do not fit together the second one counts the first.
				uploads.add(upload);
			}

			await check();
			return {
				get arrived() {
					return arrived;
				},
				/** Throws if the file has become too large. */
				async add(bytes: number): Promise<void> {
					arrived += bytes;
					if (arrived > maxBytes) throw tooLarge(undefined);
					if (arrived <= upload.bytes) return;
					upload.bytes = arrived;
					await check();
				},
				/** Called before its row is stored: totals may have it from then on. */
				storing(): void {
					upload.bytes = 0;
				},
				/** Called when its row is stored, or may be. */
				stored(): void {
					rows += 1;
				},
				close: (): void => void uploads.delete(upload),
			};
		},
	};
}

/**
 * Stores the row of written bytes, which are kept if it was stored or may have been, and removed otherwise.
 * Returns what `insert` does, and throws what it throws.
 */
export async function storeRow<T>(
	own: Pick<Room, "storing" | "stored">,
	bytes: { done(): void; drop(): Promise<void> },
	insert: () => Promise<T>,
): Promise<T> {
	let isKept = false;
	own.storing();
	try {
		const outcome = await insert();
		isKept = true;
		return outcome;
	} catch (error) {
		// The row may exist. Otherwise the sweep removes the bytes.
		isKept = error instanceof StoreUnavailable && error.unsure;
		throw error;
	} finally {
		if (isKept) {
			own.stored();
			bytes.done();
		} else await bytes.drop();
	}
}
