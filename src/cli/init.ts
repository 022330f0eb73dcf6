/** `sluice init`: a new folder with a worker to start from (D36). */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Action } from "./command.ts";
import { endpointId } from "./dev/target.ts";
import { CliError } from "./errors.ts";

/** The path is the same from `src/cli` and `dist/cli`. */
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

const STARTERS = {
	javascript: "a worker in JavaScript",
	typescript: "a worker in TypeScript, with types of input and output",
	python: "a worker in Python, with RunPod's SDK or without",
	streaming: "streams tokens, for OpenAI's clients too, as vLLM does",
	image: "makes pictures in steps, as ComfyUI does",
} as const;

const NAMES = Object.keys(STARTERS);

export const init: Action = {
	name: "init",
	summary: `create a folder with a worker to start from: ${NAMES.join(", ")}`,
	args: ["[STARTER]", "[FOLDER]"],
	local: true,
	flags: {},
	examples: ["sluice init typescript greeter", "sluice init streaming"],
	async run({ args: [starter, path = starter] }) {
		if (starter === undefined || path === undefined) {
			const rows = Object.entries(STARTERS).map(([name, what]) => `  ${name.padEnd(12)}${what}\n`);
			throw new CliError(`Choose a starter: sluice init STARTER [FOLDER]\n\n${rows.join("")}`);
		}
		if (!NAMES.includes(starter))
			throw new CliError(`There is no starter '${starter}'; there are ${NAMES.join(", ")}.`);
		const folder = resolve(path);
		const files = copyStarter(starter, folder);
		process.stdout.write(createdText({ starter, path, files }));
		return 0;
	},
};

/** Returns the names of the new files. Throws {@link CliError} rather than replace one. */
function copyStarter(starter: string, folder: string): string[] {
	const source = join(PACKAGE, "starters", starter);
	const files = readdirSync(source);
	const taken = files.find((name) => existsSync(join(folder, name)));
	if (taken !== undefined)
		throw new CliError(`${join(folder, taken)} exists. Pass another folder: sluice init ${starter} FOLDER`);
	try {
		mkdirSync(folder, { recursive: true });
		cpSync(source, folder, { recursive: true });
		const id = endpointId(basename(folder));
		edit(join(folder, "sluice.yaml"), (text) => text.replace(`  ${starter}:\n`, `  ${id}:\n`));
		// Not a package of npm's registry.
		if (files.includes("package.json"))
			edit(join(folder, "package.json"), (text) =>
				text.replace('"*"', JSON.stringify(`file:${PACKAGE.replace(/\/$/, "")}`)),
			);
	} catch (error) {
		throw new CliError(`Cannot write to ${folder}: ${(error as Error).message}`, 1);
	}
	return files;
}

function edit(path: string, change: (text: string) => string): void {
	writeFileSync(path, change(readFileSync(path, "utf8")));
}

function createdText(q: { starter: string; path: string; files: readonly string[] }): string {
	const install = q.files.includes("package.json")
		? "  npm install                          # for 'sluice serve'; 'sluice dev' needs nothing\n"
		: "";
	return `Created ${q.path}: ${q.files.join(", ")}

  cd ${/^[\w./-]+$/.test(q.path) ? q.path : `'${q.path}'`}
${install}  sluice dev .                         # run it here; Enter sends test_input.json
  sluice serve --config sluice.yaml    # as a service; workers start when jobs wait
`;
}
