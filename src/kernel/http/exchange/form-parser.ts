/** Makes parts of the pieces of a form: busboy's events as a queue, with one way to fail for all of them. */
import { PassThrough, type Readable } from "node:stream";
import type { BusboyConfig, BusboyInstance } from "@fastify/busboy";
import { UnreadBody } from "./body.ts";

export interface FormLimits {
	/** Bytes of the whole body, with the heads of its parts. */
	bytes: number;
	fields: number;
	fieldBytes: number;
	files: number;
	fileBytes: number;
	/** The least that must arrive on average, after a minute. Without it the whole body has 5 minutes. */
	bytesPerSecond?: number;
}

export interface FormField {
	name: string;
	value: string;
}

export interface FormFile {
	name: string;
	/** Name without folders. Empty if the client gave none. */
	fileName: string;
	/** Media type in lower case, without parameters. `text/plain` if the client gave none. */
	type: string;
	/** Fails with the refusal of the request. Must be read to its end, or left alone. */
	content: Readable;
}

export type FormPart = FormField | FormFile;

/** Bytes and lines of the head of a part: its name, the name of its file, its type. */
const HEAD = { headerSize: 8192, headerPairs: 16 };
const NAME_LENGTH = 256;

export function badForm(why: string): UnreadBody {
	return new UnreadBody("bad_form", { why });
}

export class FormParser {
	readonly #busboy: BusboyInstance;
	/** Those of one piece of the body at most, because the parser waits while a file is not read. */
	#parts: FormPart[] = [];
	readonly #open = new Set<Readable>();
	#failure: Error | undefined;
	#changed = Promise.withResolvers<void>();
	#hasLastPart = false;
	#hasEnded = false;
	#isClosed = false;

	constructor(limits: FormLimits, boundary: string, open: (config: BusboyConfig) => BusboyInstance) {
		const { fields, files, fieldBytes, fileBytes } = limits;
		const busboy = open({
			headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
			limits: { ...HEAD, fields, files, fieldSize: fieldBytes, fileSize: fileBytes },
		});
		this.#busboy = busboy;
		busboy.on("field", (name, value, _, isTruncated) => {
			if (isTruncated) this.#refusePart(name, fieldBytes);
			else this.#add({ name, value });
		});
		busboy.on("file", (name, source, fileName, _, type) => {
			source.once("limit", () => this.#refusePart(name, fileBytes));
			// Errors of busboy follow its own error event, and are no refusals: the consumer gets another stream.
			source.on("error", () => {});
			const content = source.pipe(new PassThrough());
			this.#open.add(content);
			// Its consumer may not listen yet, or not any more.
			content.on("error", () => {});
			content.once("close", () => this.#closed(content));
			this.#add({ name, fileName: fileName ?? "", type, content });
		});
		busboy.once("fieldsLimit", () => this.fail(badForm(`it has over ${fields} fields, the most that are accepted.`)));
		busboy.once("filesLimit", () => this.fail(badForm(`it has over ${files} files, the most that are accepted.`)));
		busboy.on("error", () => this.fail(badForm("it ends before its last boundary.")));
		busboy.once("finish", () => {
			this.#hasLastPart = true;
			this.#wake();
		});
	}

	/** Undefined after the last part. Throws the failure. */
	async next(): Promise<FormPart | undefined> {
		for (;;) {
			if (this.#failure) throw this.#failure;
			const part = this.#parts.shift();
			if (part || (this.#hasLastPart && this.#hasEnded)) return part;
			await this.#changed.promise;
		}
	}

	/** A promise if no more should be written before it resolves. Pieces after the last part are dropped. */
	write(piece: Buffer): Promise<void> | undefined {
		if (this.#failure || this.#hasLastPart || this.#busboy.write(piece)) return undefined;
		return new Promise((resolve) => this.#busboy.once("drain", resolve));
	}

	/** All of the body is written. */
	end(): void {
		this.#hasEnded = true;
		if (!this.#hasLastPart) this.#busboy.end();
		this.#wake();
	}

	fail(error: Error): void {
		if (this.#failure || this.#isClosed) return;
		this.#failure = error;
		for (const content of this.#open) content.destroy(error);
		this.#wake();
	}

	/** Frees files that were not read. */
	close(): void {
		this.#isClosed = true;
		this.#parts = [];
		for (const content of this.#open) content.destroy();
	}

	#add(part: FormPart): void {
		const { name } = part as { name: string | undefined };
		if (name === undefined) return this.fail(badForm("a part has no name."));
		if (name.length > NAME_LENGTH)
			return this.fail(badForm(`the name of a part has over ${NAME_LENGTH} characters, the most that are accepted.`));
		this.#parts.push(part);
		this.#wake();
	}

	#refusePart(name: string, limit: number): void {
		const message = `must have at most ${limit} bytes.`;
		this.fail(
			new UnreadBody("part_too_large", { name: name.slice(0, NAME_LENGTH), limit }, [{ field: name, message }]),
		);
	}

	/** The parser goes on after the end of a file only, so that it would wait for good. */
	#closed(content: Readable): void {
		this.#open.delete(content);
		if (!content.readableEnded) this.fail(new Error("A file of a form was destroyed before its end."));
	}

	#wake(): void {
		this.#changed.resolve();
		this.#changed = Promise.withResolvers();
	}
}
