/** Files of a store, with the code that answers `/files`, without a server around it. */
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { Call } from "../../../src/kernel/http/exchange/call.ts";
import type { FileRow } from "../../../src/kernel/store/contract/files.ts";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { folderContents } from "../../../src/modules/files/contents/folder.ts";
import { createFiles, type FilesContext } from "../../../src/modules/files/files.ts";
import { filesSettings } from "../../../src/modules/files/settings.ts";
import { T0 } from "../../store/site.ts";

/** As parts of an upload arrive. */
const PIECE_BYTES = 64 * 1024;

const BOUNDARY = "boundary";

export interface FileStore {
	upload(endpoint: string, name: string, bytes: Buffer): Promise<FileRow>;
	remove(endpoint: string, id: string): Promise<FileRow>;
}

export function fileStore(store: Store): FileStore {
	const kernel = { now: () => T0, random: randomBytes, space: { admit() {} }, store };
	const files = createFiles({
		kernel: kernel as unknown as FilesContext["kernel"],
		contents: folderContents(store.filesFolder!, store.files, systemClock),
		settings: filesSettings({}),
	});
	return {
		upload: (endpoint, name, bytes) => files.receive(uploadOf(name, bytes), endpoint),
		remove: (endpoint, id) => files.remove(endpoint, id),
	};
}

/** What an upload reads of a request. */
function uploadOf(name: string, bytes: Buffer): Call {
	const part = (head: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n`;
	const body = Buffer.concat([
		Buffer.from(`${part('name="purpose"')}\r\nuser_data\r\n`),
		Buffer.from(`${part(`name="file"; filename="${name}"`)}Content-Type: application/octet-stream\r\n\r\n`),
		bytes,
		Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
	]);
	const pieces = Array.from({ length: Math.ceil(body.length / PIECE_BYTES) }, (_, n) =>
		body.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES),
	);
	const headers = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
	return {
		req: Object.assign(Readable.from(pieces), { headers, complete: true, setTimeout() {} }),
		res: { closed: false },
		engine: { now: () => T0, budgets: { readTimeout: { limit: 1000 } } },
		service: { memory: { take: () => undefined, give() {} } },
		holds: { bytes: 0 },
		identity: { principal: { keyId: "k" } },
	} as unknown as Call;
}

export function hashOf(bytes: Buffer): string {
	return createHash("sha256").update(bytes).digest("base64");
}
