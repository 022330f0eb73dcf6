/** Media types by the end of a file's name. */

const TYPES: Readonly<Record<string, string>> = {
	avif: "image/avif",
	csv: "text/csv",
	flac: "audio/flac",
	gif: "image/gif",
	html: "text/html",
	jpeg: "image/jpeg",
	jpg: "image/jpeg",
	json: "application/json",
	jsonl: "application/jsonl",
	md: "text/markdown",
	mp3: "audio/mpeg",
	mp4: "video/mp4",
	ogg: "audio/ogg",
	opus: "audio/ogg",
	pdf: "application/pdf",
	png: "image/png",
	srt: "application/x-subrip",
	svg: "image/svg+xml",
	tar: "application/x-tar",
	txt: "text/plain",
	vtt: "text/vtt",
	wav: "audio/wav",
	webm: "video/webm",
	webp: "image/webp",
	zip: "application/zip",
};

export function contentTypeOf(name: string): string {
	const end = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
	return (Object.hasOwn(TYPES, end) && TYPES[end]) || "application/octet-stream";
}
