/**
 * Checks the sizes of the kernel as a whole, of each of its folders, of each module, of the command line and of the
 * worker kit, in KB of 1,000 bytes without tests: none may exceed its ceiling in `scripts/size-ceilings.json`.
 * `--lower` writes the present sizes where they are smaller. A new capability raises a ceiling by hand, in the commit
 * that adds it, with the number in its message.
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

/** Ceilings to which a file of `src` counts: `kernel/engine` and `kernel`, `modules/alerts`, `cli`, or `.`. */
function namesOf(path: string): string[] {
	const [top, folder, ...rest] = path.split("/");
	if (folder === undefined) return ["."];
	if (top === "kernel") return ["kernel", rest.length > 0 ? `kernel/${folder}` : "kernel/."];
	if (top === "modules") return [rest.length > 0 ? `modules/${folder}` : "modules/."];
	return [top!];
}

function sizes(): Record<string, number> {
	const bytes: Record<string, number> = {};
	const add = (name: string, path: string): void => {
		bytes[name] = (bytes[name] ?? 0) + statSync(ROOT + path).size;
	};
	for (const path of sources("src")) for (const name of namesOf(path)) add(name, `src/${path}`);
	for (const path of sources("packages/worker/src")) add("packages/worker", `packages/worker/src/${path}`);
	return Object.fromEntries(Object.entries(bytes).map(([name, size]) => [name, Math.ceil(size / 1000)]));
}

const ceilings = JSON.parse(readFileSync(CEILINGS, "utf8")) as Record<string, number>;
const present = sizes();

if (process.argv.includes("--lower")) {
	const lowered = Object.entries(present).map(([name, kb]) => [name, Math.min(kb, ceilings[name] ?? kb)] as const);
	const sorted = Object.fromEntries(lowered.toSorted(([one], [other]) => (one < other ? -1 : 1)));
	writeFileSync(CEILINGS, `${JSON.stringify(sorted, undefined, "\t")}\n`);
} else {
	const over = Object.entries(present).filter(([name, kb]) => kb > (ceilings[name] ?? 0));
	for (const [name, kb] of over)
		process.stderr.write(
			`${name} has ${kb} KB, its ceiling is ${ceilings[name] ?? 0} KB (scripts/size-ceilings.json): ` +
				"remove as much, or raise the ceiling in this commit and say why in its message.\n",
		);
	if (over.length > 0) process.exitCode = 1;
}
