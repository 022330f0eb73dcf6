/** The forms of presets whose jobs take a file or return a sound: what is asked for, and the input that it becomes. */
import { base64Of } from "../../values/media.ts";

/** A file: its content, or the address from which the server fetches it. */
export type FileSource = { name: string; dataUrl: string } | { url: string };

/** The member of an input that has a file. */
export interface FileMember {
	kind: "document" | "audio";
	member: string;
	/** As the attribute of a file field: the types that the browser proposes. Empty: all. */
	accept: string;
	valueOf: (source: FileSource) => unknown;
}

export interface PresetForm {
	file?: FileMember;
	/** The member that gets a field of several lines. */
	text?: string;
}

const DOCUMENT: FileMember = {
	kind: "document",
	member: "sources",
	accept: "",
	valueOf: (source) => [
		"url" in source
			? { kind: "http", url: source.url }
			: { kind: "file", base64_string: base64Of(source.dataUrl), filename: source.name },
	],
};

const AUDIO: FileMember = {
	kind: "audio",
	member: "audio",
	accept: "audio/*,video/*",
	valueOf: (source) => ("url" in source ? source.url : source.dataUrl),
};

/** By the preset's name. Jobs of the others begin as a chat, a picture, or JSON. */
export const PRESET_FORMS: Readonly<Record<string, PresetForm>> = {
	docling: { file: DOCUMENT },
	"whisper-asr": { file: AUDIO },
	speaches: { file: AUDIO },
	speech: { text: "input" },
};

export type Input = Readonly<Record<string, unknown>>;

/** What the fields hold, by member. The member of a file has an address. */
export type Typed = Readonly<Record<string, string>>;

/** The members that are fields, with the example's values: its texts, a long one first. The rest stays as it is. */
export function textsOf({ file, text }: PresetForm, example: Input): Typed {
	const texts = Object.entries(example).filter(
		(member): member is [string, string] => typeof member[1] === "string" && member[0] !== file?.member,
	);
	return Object.fromEntries(texts.toSorted(([a], [b]) => Number(b === text) - Number(a === text)));
}

/** The address of the example's file. */
export function exampleUrl({ file }: PresetForm, example: Input): string {
	if (!file) return "";
	const value = example[file.member] as string | readonly { url?: string }[];
	return typeof value === "string" ? value : (value[0]?.url ?? "");
}

/** The input of a job. Members whose field is empty are left out. */
export function inputOf(
	{ form, example }: { form: PresetForm; example: Input },
	texts: Typed,
	source: FileSource | undefined,
): Input {
	const typed = Object.entries(texts).filter(([, text]) => text.trim() !== "");
	const rest = Object.entries(example).filter(([name]) => !(name in texts));
	return {
		...Object.fromEntries([...typed, ...rest]),
		...(form.file && source && { [form.file.member]: form.file.valueOf(source) }),
	};
}
