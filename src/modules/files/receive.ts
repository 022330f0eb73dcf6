/** Receives a file: its form is streamed into the store, and judged when all fields have arrived, in any order. */
import type { Call } from "../../kernel/http/exchange/call.ts";
import { UnreadBody } from "../../kernel/http/exchange/body.ts";
import { readForm } from "../../kernel/http/exchange/form.ts";
import type { FormFile } from "../../kernel/http/exchange/form-parser.ts";
import { replaceControls } from "../../kernel/lib/text.ts";
import type { ContentWriter } from "./contents/contents.ts";
import { ERRORS } from "./errors.ts";
import type { Room } from "./room.ts";
import { LIFETIME, type Purpose, PURPOSES } from "./routes.ts";
import { typeOf } from "./types-by-name.ts";

/** Bytes of a form beside its file, at most. */
export const FORM_BYTES = 64 * 1024;

/** The least that a client must send, so that an upload ends. 512 MB may take 36 hours. */
const BYTES_PER_SECOND = 4096;

const PARTS = {
	fields: 32,
	fieldBytes: 4096,
	files: 1,
	fileBytes: Number.MAX_SAFE_INTEGER,
	bytesPerSecond: BYTES_PER_SECOND,
};

/** What may be buffered on the way: the bound of the file is checked where it is written. */
const SLACK_BYTES = 4 * 2 ** 20;

const NAME_LENGTH = 512;
const DAY_S = 86_400;

export interface Received {
	name: string;
	type: string;
	purpose: Purpose;
	/** Seconds. */
	lifetime: number | undefined;
}

/** Writes the file of the form, and returns what its fields say. Throws 400, 408, 413 and 415. */
export async function receiveForm(
	call: Call,
	{ room, writer, admit, maxBytes }: { room: Room; writer: ContentWriter; admit: () => void; maxBytes: number },
): Promise<Received> {
	const fields = new Map<string, string>();
	let file: Pick<FormFile, "fileName" | "type"> | undefined;
	for await (const part of readForm(call, { ...PARTS, bytes: maxBytes + SLACK_BYTES })) {
		if (!("content" in part)) {
			fields.set(part.name, part.value);
			if (part.name === "purpose") purposeOf(part.value);
			continue;
		}
		if (part.name !== "file") throw badField(part.name, "is a file, and only the field 'file' may be one.");
		file = part;
		for await (const piece of part.content as AsyncIterable<Buffer>) {
			await room.add(piece.length);
			admit();
			await writer.write(piece);
		}
	}
	if (!file) throw missing("file");
	const purpose = purposeOf(fields.get("purpose"));
	const name = nameOf(file.fileName);
	return { name, type: typeOf(file.type, name), purpose, lifetime: lifetimeOf(fields, purpose) };
}

function purposeOf(given: string | undefined): Purpose {
	if (given === undefined) throw missing("purpose");
	const purpose = PURPOSES.find((each) => each === given);
	if (purpose) return purpose;
	const shown = JSON.stringify(given.slice(0, 40));
	throw badField("purpose", `is ${shown}; files are stored for ${PURPOSES.join(", ")} only.`);
}

function lifetimeOf(fields: ReadonlyMap<string, string>, purpose: Purpose): number | undefined {
	const [anchor, seconds] = ["anchor", "seconds"].map((each) => fields.get(`expires_after[${each}]`));
	if (anchor === undefined && seconds === undefined) return purpose === "batch" ? 30 * DAY_S : undefined;
	if (anchor !== "created_at") throw badField("expires_after[anchor]", "must be created_at.");
	const { minimum, maximum } = LIFETIME;
	const value = /^\d{1,10}$/.test(seconds ?? "") ? Number(seconds) : NaN;
	if (value >= minimum && value <= maximum) return value;
	throw badField("expires_after[seconds]", `must be a whole number from ${minimum} to ${maximum}.`);
}

/** Browsers and `fetch` send a quote as `%22`. */
function nameOf(given: string): string {
	const name = replaceControls(given.replaceAll("%22", '"')).slice(0, NAME_LENGTH).toWellFormed();
	return name === "" ? "file" : name;
}

function missing(name: string): UnreadBody {
	return new UnreadBody(ERRORS.missing_required_parameter, { name }, [{ field: name, message: "is missing." }]);
}

function badField(field: string, message: string): UnreadBody {
	return new UnreadBody("bad_request", { count: "a bad field", first: `${field} ${message}` }, [{ field, message }]);
}
