/**
 * Pictures, sounds and videos in JSON: data URLs and base64, recognised by their first bytes and by nothing
 * that the sender claims.
 */

export interface Media {
	kind: "image" | "audio" | "video";
	/** A data URL whose type is what the bytes are. */
	url: string;
	type: string;
	/** Bytes, about. */
	size: number;
}

/** Shorter texts are no pictures, and longer ones would make the page slow. */
const SHORTEST = 60;
const LONGEST = 24_000_000;

/** Types by pieces of the first bytes, as Latin-1 text with where each stands. */
const MAGIC: readonly [string, readonly [number, string][]][] = [
	["image/png", [[0, "\x89PNG\r\n\x1a\n"]]],
	["image/jpeg", [[0, "\xff\xd8\xff"]]],
	["image/gif", [[0, "GIF8"]]],
	[
		"image/webp",
		[
			[0, "RIFF"],
			[8, "WEBP"],
		],
	],
	["image/avif", [[4, "ftypavif"]]],
	[
		"audio/wav",
		[
			[0, "RIFF"],
			[8, "WAVE"],
		],
	],
	["audio/mpeg", [[0, "ID3"]]],
	["audio/mpeg", [[0, "\xff\xfb"]]],
	["audio/mpeg", [[0, "\xff\xf3"]]],
	["audio/ogg", [[0, "OggS"]]],
	["audio/flac", [[0, "fLaC"]]],
	["audio/mp4", [[4, "ftypM4A"]]],
	...["isom", "iso2", "iso5", "iso6", "mp41", "mp42", "avc1", "M4V ", "dash"].map(
		(brand): [string, [number, string][]] => ["video/mp4", [[4, `ftyp${brand}`]]],
	),
	["video/webm", [[0, "\x1a\x45\xdf\xa3"]]],
];

/** The picture or sound that a text holds, if it does. */
export function mediaOf(text: string): Media | undefined {
	if (text.length < SHORTEST || text.length > LONGEST) return undefined;
	const base64 = text.startsWith("data:") ? /^data:[\w.+-]+\/[\w.+-]+;base64,/.exec(text.slice(0, 100)) : undefined;
	if (base64 === null) return undefined;
	const body = base64 ? text.slice(base64[0].length) : text;
	const type = typeOf(body.slice(0, 24));
	if (type === undefined || !/^[A-Za-z0-9+/]*={0,2}$/.test(body)) return undefined;
	return {
		kind: type.slice(0, type.indexOf("/")) as Media["kind"],
		url: `data:${type};base64,${body}`,
		type,
		size: Math.floor(body.length * 0.75),
	};
}

function typeOf(head: string): string | undefined {
	if (!/^[A-Za-z0-9+/]{24}$/.test(head)) return undefined;
	const bytes = atob(head);
	return MAGIC.find(([, pieces]) => pieces.every(([at, piece]) => bytes.startsWith(piece, at)))?.[0];
}

/** The base64 in a data URL. */
export const base64Of = (url: string): string => url.slice(url.indexOf(",") + 1);

/** Usual ends of names of files, where the type has another word. */
const ENDINGS: Readonly<Record<string, string>> = { "audio/mpeg": "mp3", "audio/mp4": "m4a", "image/jpeg": "jpg" };

/** A name for the file that holds it, by where it is: `images-0.png`. */
export function fileNameOf(path: string, { type }: Media): string {
	const name = path.match(/\w+/g)?.join("-") ?? "output";
	return `${name}.${ENDINGS[type] ?? type.slice(type.indexOf("/") + 1)}`;
}

/** Its bytes. */
export function bytesOf({ url }: Media): Uint8Array<ArrayBuffer> {
	return Uint8Array.from(atob(base64Of(url)), (char) => char.charCodeAt(0));
}

/** All of them in a value, with their paths, the first `most`. */
export function mediaIn(value: unknown, most = 24): { path: string; media: Media }[] {
	const found: { path: string; media: Media }[] = [];
	const walk = (each: unknown, path: string): void => {
		if (found.length >= most) return;
		if (typeof each === "string") {
			const media = mediaOf(each);
			if (media) found.push({ path, media });
		} else if (Array.isArray(each)) for (const [index, item] of each.entries()) walk(item, `${path}[${index}]`);
		else if (typeof each === "object" && each !== null)
			for (const [name, item] of Object.entries(each)) walk(item, path === "" ? name : `${path}.${name}`);
	};
	walk(value, "");
	return found;
}
