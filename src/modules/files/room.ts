/** How much more may be stored (D56). Uploads are refused as soon as is known; the insert of the row decides. */
import { UnreadBody } from "../../kernel/http/exchange/body.ts";
import type { FileStore } from "../../kernel/store/contract/files.ts";
import { ERRORS } from "./errors.ts";
import type { FilesSettings } from "./settings.ts";

const MB = 2 ** 20;
const mb = (bytes: number): string => (bytes / MB).toFixed(bytes < 10 * MB ? 1 : 0);

export type Rooms = ReturnType<typeof rooms>;
export type Room = Awaited<ReturnType<Rooms["open"]>>;

interface Upload {
	endpoint: string;
	/** Bytes that it has at least. */
	bytes: number;
}

export function rooms(store: Pick<FileStore, "totals">, { maxBytes, endpointBytes, totalBytes }: FilesSettings) {
	/** Those of this server, in the order of their begin. */
	const uploads = new Set<Upload>();

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
			const totals = await store.totals();
			const own = totals.find((each) => each.endpoint === endpoint)?.bytes ?? 0;
			const all = totals.reduce((sum, { bytes }) => sum + bytes, 0);
			const upload: Upload = { endpoint, bytes: least };
			let arrived = 0;

			function check(): void {
				const others = before(upload);
				if (own + others.own + upload.bytes > endpointBytes) throw full("endpoint", { endpoint, stored: own });
				if (all + others.all + upload.bytes > totalBytes) throw full("total", { endpoint, stored: all });
			}

			check();
			uploads.add(upload);
			return {
				get arrived() {
					return arrived;
				},
				/** Throws if the file has become too large. */
				add(bytes: number): void {
					arrived += bytes;
					if (arrived > maxBytes) throw tooLarge(undefined);
					if (arrived <= upload.bytes) return;
					upload.bytes = arrived;
					check();
				},
				close: (): void => void uploads.delete(upload),
			};
		},
	};
}
