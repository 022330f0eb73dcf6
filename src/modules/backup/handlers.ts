/** `/v1/backup` (D46): a copy of the store as a tar. */
import { type Call, drained, outside } from "../../kernel/http/exchange/call.ts";
import { isoTime } from "../../kernel/http/exchange/format.ts";
import { readNothing } from "../../kernel/http/exchange/object-body.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel } from "../../kernel/module.ts";
import { bucketNameIn, PLACE_DOCUMENT } from "../../kernel/store/contract/files.ts";
import { version } from "../../kernel/version.ts";
import { BACKUP_FORMAT } from "./archive-form.ts";
import { archiveOf } from "./archive-writer.ts";
import type { Backups, Copy } from "./backups.ts";
import type { BACKUP_ROUTES } from "./routes.ts";

type Documents = Pick<Kernel["store"], "documents">;

export function backupHandlers(backups: Backups, store: Documents): HandlersOf<typeof BACKUP_ROUTES> {
	return {
		getBackup() {
			const status = backups.status();
			return status.state === "none" ? { ...status, doneBytes: 0, totalBytes: 0 } : status;
		},
		/** Sends a backup. A failure before the first byte is an error; a later one cuts the answer off. */
		async createBackup(call) {
			await readNothing(call);
			const left = new AbortController();
			call.caller.onDisconnect = () => left.abort();
			if (call.caller.disconnected) left.abort();
			await outside(
				call,
				backups.run(left.signal, async (copy, sent) => await send(call, { copy, sent, bucket: await bucketOf(store) })),
			);
		},
	};
}

async function bucketOf({ documents }: Documents): Promise<string | undefined> {
	return bucketNameIn(await documents.read(PLACE_DOCUMENT));
}

async function send(
	call: Call,
	{ copy, sent, bucket }: { copy: Copy; sent: (bytes: number) => void; bucket: string | undefined },
): Promise<void> {
	const { res, engine } = call;
	const madeAt = isoTime(engine.calendar.now());
	const info = {
		format: BACKUP_FORMAT,
		sluice: version,
		migration: copy.migration,
		madeAt,
		...(bucket !== undefined && { bucket }),
	};
	const { readable, packed } = archiveOf({ copy, info, sent });
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
