/** A file as a form, read piece by piece while it is sent. */
import { randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { CliError } from "./errors.ts";
import type { UploadBody } from "./service-client.ts";

const PIECE_BYTES = 256 * 1024;

/** Throws {@link CliError}. */
export async function formOf(
	file: string,
	fields: readonly (readonly [name: string, value: string])[],
	sent: (done: number, total: number) => void,
): Promise<UploadBody> {
	const unreadable = (error: unknown): never => {
		throw new CliError(`${file} cannot be read: ${(error as Error).message}.`, 1);
	};
	const source = await open(file, "r").catch(unreadable);
	const found = await source.stat();
	if (!found.isFile()) {
		await source.close();
		throw new CliError(`${file} is not a file.`, 1);
	}
	const boundary = `sluice-${randomUUID()}`;
	const head = (name: string): string => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`;
	const name = basename(file).replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
	const before = Buffer.from(
		fields.map(([field, value]) => `${head(field)}\r\n\r\n${value}\r\n`).join("") +
			`${head("file")}; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
	);
	const after = Buffer.from(`\r\n--${boundary}--\r\n`);

	async function* pieces(): AsyncGenerator<Uint8Array> {
		try {
			yield before;
			for (let done = 0; done < found.size; ) {
				const piece = Buffer.alloc(Math.min(PIECE_BYTES, found.size - done));
				const { bytesRead } = await source.read(piece).catch(unreadable);
				if (bytesRead === 0) throw new CliError(`${file} has become shorter while it was read.`, 1);
				yield piece.subarray(0, bytesRead);
				sent((done += bytesRead), found.size);
			}
			yield after;
		} finally {
			await source.close();
		}
	}

	return {
		headers: {
			"content-type": `multipart/form-data; boundary=${boundary}`,
			"content-length": String(before.length + found.size + after.length),
		},
		pieces: pieces(),
	};
}
