/** The media type of a file, for which many clients send none. */

const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

/** What clients send for a type that they do not know. */
const UNKNOWN: ReadonlySet<string> = new Set(["application/octet-stream", "text/plain"]);

const BY_ENDING: Readonly<Record<string, string>> = {
	avif: "image/avif",
	csv: "text/csv",
	flac: "audio/flac",
	gif: "image/gif",
	jpeg: "image/jpeg",
	jpg: "image/jpeg",
	json: "application/json",
	jsonl: "application/jsonl",
	m4a: "audio/mp4",
	md: "text/markdown",
	mov: "video/quicktime",
	mp3: "audio/mpeg",
	mp4: "video/mp4",
	ogg: "audio/ogg",
	pdf: "application/pdf",
	png: "image/png",
	svg: "image/svg+xml",
	txt: "text/plain",
	wav: "audio/wav",
	webm: "video/webm",
	webp: "image/webp",
};

/** `given`: of the form, in lower case and without parameters. */
export function typeOf(given: string, name: string): string {
	if (TYPE.test(given) && !UNKNOWN.has(given)) return given;
	const ending = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? "";
	return (
		(Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined) ??
		(UNKNOWN.has(given) ? given : "application/octet-stream")
	);
}
