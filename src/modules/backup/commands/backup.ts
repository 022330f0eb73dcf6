/** `sluice backup`: a copy of the store of a running service (D46). */
import { readdirSync, rmSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemClock } from "../../../kernel/system/clock.ts";
import { makeFolder, replaceFileBy } from "../../../kernel/system/durable-file.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { CliError } from "../../../cli/client/errors.ts";
import type { ServiceClient } from "../../../cli/client/service-client.ts";
import { type Archive, BadArchive, readArchive } from "./read-archive.ts";
import { bytesText, transferBar } from "../../../cli/framework/progress-bar.ts";

/** Names of backups, which sort by age, the oldest first. */
const NAME = /^sluice-\d{8}T\d{6}Z\.tar$/;

const ASK_MS = 500;

const KEY_NOTE =
	"The key for secrets is not in it. Keep the key file of the store (its name ends in .secret) or the text " +
	"of SLUICE_SECRET in another place: without it webhook secrets, s3Config, secrets, values of env and passwords " +
	"of registries cannot be read after a restore.\n";

export const backup: Action = {
	name: "backup",
	args: ["FILE|DIR"],
	summary: "copy the SQLite store of a running service into a file",
	flags: {
		keep: { value: "N", summary: "with DIR: remove older backups there, so that N are left" },
		json: { summary: "print file, bytes and schema as JSON" },
	},
	examples: ["sluice backup /var/backups/sluice/ --keep 14"],
	async run({ args: [target = ""], flags, service }) {
		const { keep } = flags;
		if (keep !== undefined && !/^[1-9]\d{0,5}$/.test(keep))
			throw new CliError(`--keep is ${keep}; it must be a whole number from 1.`);
		const isFolder = target.endsWith("/") || statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
		if (keep !== undefined && !isFolder) throw new CliError("--keep needs a folder: it ends with / or exists.");
		const file = isFolder ? join(target, nameOf(new Date(systemClock.wall()))) : target;
		try {
			makeFolder(dirname(file));
		} catch (error) {
			throw new CliError(`${dirname(file)} cannot be used: ${(error as Error).message}.`, 1);
		}
		const { archive, bytes } = await download(service, file);
		const removed = keep === undefined ? [] : removeOld(target, Number(keep));
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ file, bytes, ...archive.info, removed })}\n`);
		else {
			process.stdout.write(`Wrote ${file}: ${bytesText(bytes)}, complete.\n`);
			if (removed.length > 0) process.stdout.write(`Removed ${removed.join(", ")}.\n`);
			process.stderr.write(KEY_NOTE);
			const { bucket } = archive.info;
			if (bucket !== undefined) process.stderr.write(`Files in the bucket ${bucket} are not in it.\n`);
		}
		return 0;
	},
};

function nameOf(at: Date): string {
	return `sluice-${at.toISOString().replace(/\.\d+/, "").replace(/[-:]/g, "")}.tar`;
}

async function download(service: ServiceClient, file: string): Promise<{ archive: Archive; bytes: number }> {
	const stopped = new AbortController();
	const stop = (): void => stopped.abort();
	const bar = transferBar("copied");
	const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
	for (const signal of signals) process.once(signal, stop);
	let bytes = 0;
	async function* pieces(to: FileHandle): AsyncGenerator<Uint8Array> {
		for await (const piece of service.download("POST", "/v1/backup", stopped.signal)) {
			await to.writeFile(piece);
			bytes += piece.length;
			yield piece;
		}
	}
	const watching = new AbortController();
	const watched = watch(service, { bar, until: watching.signal });
	try {
		let archive: Archive | undefined;
		await replaceFileBy(file, async (to) => {
			archive = await readArchive(pieces(to));
			bar.stage("flushing");
		});
		return { archive: archive!, bytes };
	} catch (error) {
		if (stopped.signal.aborted) throw new CliError("Stopped; nothing was written.", 1);
		if (error instanceof CliError) throw error;
		if (error instanceof BadArchive)
			throw new CliError(`What the service sent is not complete: ${error.message}. Try again.`, 1);
		throw new CliError(`${file} cannot be written: ${(error as Error).message}.`, 1);
	} finally {
		watching.abort();
		await watched;
		bar.clear();
		for (const signal of signals) process.off(signal, stop);
	}
}

async function watch(
	service: ServiceClient,
	{ bar, until }: { bar: ReturnType<typeof transferBar>; until: AbortSignal },
): Promise<void> {
	if (!process.stderr.isTTY) return;
	while (!until.aborted) {
		await systemClock.sleep(ASK_MS, until);
		if (until.aborted) return;
		try {
			const { json } = await service.request("GET", "/v1/backup");
			const { doneBytes, totalBytes } = json as { doneBytes: number; totalBytes: number };
			if (!until.aborted) bar.show(doneBytes, totalBytes);
		} catch {
			// The download reports the fault.
		}
	}
}

/** Removes only files named by this command. */
function removeOld(folder: string, keep: number): string[] {
	const names = readdirSync(folder).filter((name) => NAME.test(name));
	const old = names.toSorted().slice(0, -keep);
	for (const name of old) rmSync(join(folder, name));
	return old;
}
