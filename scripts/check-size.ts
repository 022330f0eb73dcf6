/**
 * Checks the size of `src` and of the worker kit, without tests, by layer: none may exceed its ceiling in
 * `scripts/size-ceilings.json`. `--lower` writes the present sizes where they are smaller. A new
 * capability raises a ceiling by hand, in the commit that adds it, with the number in its message.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CEILINGS = new URL("size-ceilings.json", import.meta.url);

/** Files of the source below a folder, tests excluded. */
function sources(folder: string): string[] {
	return readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" }).filter(
		(path) => /\.(?:ts|sql)$/.test(path) && !path.endsWith(".test.ts"),
	);
}

/** KB of each folder of `src`, of the files directly in it as `.`, and of the worker kit. */
function sizes(): Record<string, number> {
	const bytes: Record<string, number> = {};
	const add = (layer: string, path: string): void => {
		bytes[layer] = (bytes[layer] ?? 0) + statSync(ROOT + path).size;
	};
	for (const path of sources("src")) add(path.includes("/") ? path.slice(0, path.indexOf("/")) : ".", `src/${path}`);
	for (const path of sources("packages/worker/src")) add("packages/worker", `packages/worker/src/${path}`);
	return Object.fromEntries(Object.entries(bytes).map(([layer, size]) => [layer, Math.ceil(size / 1024)]));
}

const ceilings = JSON.parse(readFileSync(CEILINGS, "utf8")) as Record<string, number>;
const present = sizes();

if (process.argv.includes("--lower")) {
	const lowered = Object.entries(present).map(([layer, kb]) => [layer, Math.min(kb, ceilings[layer] ?? kb)] as const);
	const sorted = Object.fromEntries(lowered.toSorted(([one], [other]) => (one < other ? -1 : 1)));
	writeFileSync(CEILINGS, `${JSON.stringify(sorted, undefined, "\t")}\n`);
} else {
	const over = Object.entries(present).filter(([layer, kb]) => kb > (ceilings[layer] ?? 0));
	for (const [layer, kb] of over)
		process.stderr.write(
			`${layer} has ${kb} KB, its ceiling is ${ceilings[layer] ?? 0} KB (scripts/size-ceilings.json): ` +
				"remove as much, or raise the ceiling in this commit and say why in its message.\n",
		);
	if (over.length > 0) process.exitCode = 1;
}
