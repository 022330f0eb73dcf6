/** Pictures, sounds and videos of outputs as files in `.sluice/outputs/`, instead of their base64 in the terminal. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mediaIn } from "../../../kernel/lib/media.ts";
import { bytesText } from "../../framework/progress-bar.ts";
import { parseJson } from "../../client/service-client.ts";

/** Files that are kept, the newest. */
const MAX_FILES = 200;

const EXTENSIONS: Readonly<Record<string, string>> = { jpeg: "jpg", mpeg: "mp3", mp4: "mp4" };

/** `folder` is that of the handler. */
export function savedMedia(folder: string) {
	const outputs = join(folder, ".sluice", "outputs");
	return {
		/** Returns the JSON text with the path of a new file for each of its files. `name` is the beginning of theirs. */
		save(json: string, name: string): string {
			const value = parseJson(json);
			const found = mediaIn(value);
			if (found.length === 0) return json;
			try {
				mkdirSync(outputs, { recursive: true });
				let text = json;
				for (const [index, { media }] of found.entries()) {
					const file = `${name}-${index + 1}.${extensionOf(media.type)}`;
					const base64 = media.url.slice(media.url.indexOf(",") + 1);
					const bytes = Buffer.from(base64, "base64");
					writeFileSync(join(outputs, file), bytes);
					text = withPath(text, base64, `${media.kind} of ${bytesText(bytes.length)}: .sluice/outputs/${file}`);
				}
				removeOldest(outputs);
				return text;
			} catch {
				// A full disk is no reason to hide a result.
				return json;
			}
		},
	};
}

/** Replaces the string that ends with the base64 text. */
function withPath(json: string, base64: string, sentence: string): string {
	const at = json.indexOf(base64);
	if (at < 0) return json;
	const begin = json.lastIndexOf('"', at);
	return `${json.slice(0, begin)}"${sentence}"${json.slice(at + base64.length + 1)}`;
}

function extensionOf(type: string): string {
	const name = type.slice(type.indexOf("/") + 1);
	if (type === "audio/mp4") return "m4a";
	return EXTENSIONS[name] ?? name;
}

function removeOldest(folder: string): void {
	const files = readdirSync(folder).map((name) => join(folder, name));
	if (files.length <= MAX_FILES) return;
	const times = new Map(files.map((file) => [file, statSync(file).mtimeMs]));
	const oldest = files.toSorted((a, b) => times.get(a)! - times.get(b)!);
	for (const file of oldest.slice(0, files.length - MAX_FILES)) rmSync(file);
}
