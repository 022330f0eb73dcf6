/** Files of an endpoint, sent and received with a progress bar (D36, D56). */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { printable } from "../../kernel/lib/terminal-text.ts";
import { CliError } from "../client/errors.ts";
import { path, type ServiceAnswer, type ServiceClient } from "../client/service-client.ts";
import { formOf } from "../client/upload-form.ts";
import type { Flags } from "./command.ts";
import { bytesText, transferBar } from "./progress-bar.ts";

export const FORCE_FLAG = { force: { summary: "replace a file that exists" } } as const satisfies Flags;

/** Uploads a file. Throws {@link CliError}. */
export async function sendFile(
	service: ServiceClient,
	{ endpoint, file, fields }: { endpoint: string; file: string; fields: readonly (readonly [string, string])[] },
): Promise<ServiceAnswer> {
	const bar = transferBar("sent");
	try {
		return await service.upload(filesOf(endpoint), await formOf(file, fields, bar.show));
	} finally {
		bar.clear();
	}
}

/**
 * Downloads a file. `target`: a file, a folder, or - for standard output; default: its name, here. Throws
 * {@link CliError}.
 */
export async function receiveFile(
	service: ServiceClient,
	q: { endpoint: string; id: string; target: string | undefined; force: boolean },
): Promise<{ file: string; bytes: number } | undefined> {
	const place = filesOf(q.endpoint) + path`/${q.id}`;
	const { filename, bytes } = (await service.request("GET", place)).json as { filename: string; bytes: number };
	const content = service.download("GET", `${place}/content`);
	if (q.target === "-") {
		for await (const piece of content) if (!process.stdout.write(piece)) await once(process.stdout, "drain");
		return undefined;
	}
	const file = await targetOf(q.target, filename);
	await refuseExisting(file, q.force);
	await download(content, { file, bytes });
	return { file, bytes };
}

/** Such as `Wrote out.jsonl: 12.3 MB.` and a line end; nothing for standard output. */
export function receivedText(received: Awaited<ReturnType<typeof receiveFile>>): string {
	return received ? `Wrote ${printable(received.file)}: ${bytesText(received.bytes)}.\n` : "";
}

/** Throws {@link CliError} for a target that would be replaced, if its name is known before the download. */
export async function refuseTarget(target: string, force: boolean): Promise<void> {
	if (target !== "-" && !(await isFolder(target))) await refuseExisting(target, force);
}

const filesOf = (endpoint: string): string => path`/v2/${endpoint}/openai/v1/files`;

async function refuseExisting(file: string, force: boolean): Promise<void> {
	if (!force && (await isThere(file)))
		throw new CliError(`${file} exists. Name another file, or pass --force to replace it.`, 1);
}

/** The name is a client's text: only its last part is used, and never one that is hidden or means a folder. */
async function targetOf(target: string | undefined, filename: string): Promise<string> {
	const name = basename(filename.replaceAll("\\", "/")).replace(/^\.+/, "") || "file";
	if (target === undefined) return name;
	return (await isFolder(target)) ? join(target, name) : target;
}

async function isFolder(target: string): Promise<boolean> {
	return target.endsWith("/") || ((await stat(target).catch(() => undefined))?.isDirectory() ?? false);
}

async function isThere(file: string): Promise<boolean> {
	return await stat(file).then(
		() => true,
		() => false,
	);
}

/** The file has its name when it is complete. */
async function download(content: AsyncIterable<Uint8Array>, { file, bytes }: { file: string; bytes: number }) {
	const temporary = `${file}.${randomUUID()}.part`;
	const bar = transferBar("received");
	const fail = (error: unknown): never => {
		if (error instanceof CliError) throw error;
		throw new CliError(`${file} cannot be written: ${(error as Error).message}.`, 1);
	};
	let done = 0;
	try {
		await mkdir(dirname(file), { recursive: true }).catch(fail);
		const to = await open(temporary, "wx").catch(fail);
		try {
			for await (const piece of content) {
				await to.writeFile(piece);
				bar.show((done += piece.length), bytes);
			}
		} finally {
			await to.close();
		}
		if (done !== bytes) throw new CliError(`Only ${done} of ${bytes} bytes arrived. Try again.`, 1);
		await rename(temporary, file);
	} catch (error) {
		await rm(temporary, { force: true });
		fail(error);
	} finally {
		bar.clear();
	}
}
