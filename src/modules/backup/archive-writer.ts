/** Writes the archive of a backup (D46): a tar of the copied files, and their digests. */
import { createHash } from "node:crypto";
import { createTarPacker, type TarPackController } from "modern-tar";
import { type BackupInfo, INFO_NAME, SUMS_NAME, sumsText } from "./archive-form.ts";
import type { Copy } from "./backups.ts";

interface Source {
	copy: Copy;
	info: BackupInfo;
	/** Called with the bytes sent so far. */
	sent: (bytes: number) => void;
}

/** Makes an archive. `packed` is rejected if a file cannot be read. If the reader of the stream leaves, both end. */
export function archiveOf(q: Source): { readable: ReadableStream<Uint8Array>; packed: Promise<void> } {
	const { readable, controller } = createTarPacker();
	const packed = pack({ ...q, controller });
	packed.catch((error: unknown) => controller.error(error));
	return { readable, packed };
}

async function pack(q: Source & { controller: TarPackController }): Promise<void> {
	const { controller } = q;
	const mtime = new Date(q.info.madeAt);
	const sums = new Map<string, string>();
	let done = 0;

	async function add(
		name: string,
		size: number,
		pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
	): Promise<void> {
		const hash = createHash("sha256");
		const writer = controller.add({ name, size, mtime, mode: 0o600 }).getWriter();
		for await (const piece of pieces) {
			hash.update(piece);
			await writer.write(piece);
			done += piece.length;
			q.sent(done);
		}
		await writer.close();
		sums.set(name, hash.digest("hex"));
	}

	const addText = (name: string, text: string): Promise<void> => {
		const bytes = new TextEncoder().encode(text);
		return add(name, bytes.length, [bytes]);
	};
	await addText(INFO_NAME, `${JSON.stringify(q.info, undefined, "\t")}\n`);
	for (const file of q.copy.files) await add(file.name, file.bytes, file.read());
	await addText(SUMS_NAME, sumsText(sums));
	controller.finalize();
}
