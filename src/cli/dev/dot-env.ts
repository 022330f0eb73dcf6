/** `.env` beside a handler (D36). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

export const ENV_FILE = ".env";

/** Its variables but for those that the shell has; none without the file. */
export function envFileOf(folder: string, shell: Readonly<Record<string, string | undefined>>): Record<string, string> {
	let text: string;
	try {
		text = readFileSync(join(folder, ENV_FILE), "utf8");
	} catch {
		return {};
	}
	const entries = Object.entries(parseEnv(text)).filter(([name]) => shell[name] === undefined);
	return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
