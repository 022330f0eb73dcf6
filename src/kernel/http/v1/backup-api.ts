/** `/v1/backup` (D46): a copy of the store as a tar. */
import { createHash } from "node:crypto";
import { createTarPacker, type TarPackController } from "modern-tar";
import type { GET_BACKUP } from "../../api/backup.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { BACKUP_FORMAT, type BackupInfo, INFO_NAME, SUMS_NAME, sumsText } from "../../core/backup.ts";
import type { Copy } from "../../engine/availability/storage/backups.ts";
import { version } from "../../version.ts";
import { type Call, drained, outside } from "../exchange/call.ts";
import { readNothing } from "../exchange/object-body.ts";
import { isoTime } from "../exchange/format.ts";

export function get({ engine }: Call): AnswerOf<typeof GET_BACKUP> {
	const status = engine.backups.status();
	return status.state === "none" ? { ...status, doneBytes: 0, totalBytes: 0 } : status;
}

/** Refused before the first byte, cut off when it fails later. */
export async function create(call: Call): Promise<void> {
	await readNothing(call);
	const left = new AbortController();
	call.caller.onDisconnect = () => left.abort();
	if (call.caller.disconnected) left.abort();
	await outside(
		call,
		call.engine.backups.run(left.signal, (copy, sent) => send(call, copy, sent)),
	);
}

async function send(call: Call, copy: Copy, sent: (bytes: number) => void): Promise<void> {
	const { res, engine } = call;
	const madeAt = isoTime(engine.calendar.now());
	const { readable, controller } = createTarPacker();
	const info = { format: BACKUP_FORMAT, sluice: version, migration: copy.migration, madeAt };
	const packed = pack({ copy, info, sent, controller });
	// A client that leaves ends both.
	packed.catch((error: unknown) => controller.error(error));
	res.writeHead(200, {
		"Content-Type": "application/x-tar",
		"Content-Disposition": `attachment; filename="sluice-${madeAt.replace(/\W/g, "")}.tar"`,
		"Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff",
	});
	for await (const piece of readable) {
		if (!res.write(piece)) await drained(call);
		if (call.caller.disconnected) return;
	}
	await packed;
	res.end();
}

async function pack(q: {
	copy: Copy;
	info: BackupInfo;
	sent: (bytes: number) => void;
	controller: TarPackController;
}): Promise<void> {
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
