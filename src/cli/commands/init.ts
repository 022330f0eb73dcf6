/** `sluice init`: a new folder with a worker to start from (D36). */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../kernel/version.ts";
import type { Action } from "../framework/command.ts";
import { endpointId } from "../dev/target.ts";
import { CliError } from "../client/errors.ts";

/** The path is the same from `src` and `dist`. */
const PACKAGE = fileURLToPath(new URL("../../..", import.meta.url));

const STARTERS = {
	javascript: "a worker in JavaScript",
	typescript: "a worker in TypeScript, with types of input and output",
	python: "a worker in Python, with RunPod's SDK or without",
	streaming: "streams tokens, for OpenAI's clients too, as vLLM does",
	image: "makes pictures in steps, as ComfyUI does",
	vllm: "a language model: RunPod's image of vLLM with Docker, on a GPU",
	comfyui: "pictures: RunPod's image of ComfyUI with Docker, on a GPU",
} as const;

const NAMES = Object.keys(STARTERS).join(", ");

export const init: Action = {
	name: "init",
	summary: `create a folder with a worker to start from: ${NAMES}`,
	args: ["[STARTER]", "[FOLDER]"],
	local: true,
	flags: {},
	examples: ["sluice init typescript greeter", "sluice init streaming"],
	async run({ args: [starter, path = starter] }) {
		if (starter === undefined || path === undefined) {
			const rows = Object.entries(STARTERS).map(([name, what]) => `  ${name.padEnd(12)}${what}\n`);
			throw new CliError(`Choose a starter: sluice init STARTER [FOLDER]\n\n${rows.join("")}`);
		}
		if (!Object.hasOwn(STARTERS, starter)) throw new CliError(`There is no starter '${starter}'; there are ${NAMES}.`);
		const files = copyStarter(starter, resolve(path));
		process.stdout.write(createdText(path, files));
		return 0;
	},
};

/** Returns the names of the new files. Throws {@link CliError} instead of replacing one. */
function copyStarter(starter: string, folder: string): string[] {
	const source = join(PACKAGE, "starters", starter);
	const files = readdirSync(source);
	const taken = files.find((name) => existsSync(join(folder, name)));
	if (taken !== undefined)
		throw new CliError(`${join(folder, taken)} exists. Pass another folder: sluice init ${starter} FOLDER`);
	try {
		mkdirSync(folder, { recursive: true });
		cpSync(source, folder, { recursive: true });
		replaceIn(join(folder, "sluice.yaml"), `  ${starter}:\n`, `  ${endpointId(basename(folder))}:\n`);
		if (files.includes("package.json")) {
			replaceIn(join(folder, "package.json"), '"worker"', JSON.stringify(endpointId(basename(folder))));
			copyKit(join(folder, "vendor", "sluice-worker"));
		}
		// npm leaves a .gitignore out of packages.
		for (const name of [".gitignore", ".dockerignore"].filter((each) => !existsSync(join(folder, each))))
			writeFileSync(join(folder, name), "node_modules/\n.sluice/\n.venv/\n.env\n");
	} catch (error) {
		throw new CliError(`Cannot write to ${folder}: ${(error as Error).message}`, 1);
	}
	return files;
}

/** Copies the kit into the folder, so that the folder works on any machine and in an image. */
function copyKit(folder: string): void {
	cpSync(join(PACKAGE, "dist", "worker"), join(folder, "dist"), { recursive: true });
	const exports = { types: "./dist/types/src/index.d.ts", default: "./dist/index.js" };
	const kit = { name: "sluice-worker", version, license: "Apache-2.0", type: "module", exports };
	writeFileSync(join(folder, "package.json"), `${JSON.stringify(kit, undefined, "\t")}\n`);
}

function replaceIn(path: string, text: string, replacement: string): void {
	writeFileSync(
		path,
		readFileSync(path, "utf8").replace(text, () => replacement),
	);
}

function createdText(path: string, files: readonly string[]): string {
	const folder = /^[\w./-]+$/.test(path) ? path : `'${path}'`;
	if (!files.includes("Dockerfile")) {
		const id = endpointId(basename(resolve(path)));
		return `Created ${path}: ${files.join(", ")}

  cd ${folder}
  sluice serve --config sluice.yaml    # needs Docker and an NVIDIA GPU; pulls the image
  sluice jobs submit ${id} --input @test_input.json --wait
`;
	}
	const install = files.includes("package.json")
		? "  npm install                          # for 'sluice serve'; 'sluice dev' needs nothing\n"
		: "";
	return `Created ${path}: ${files.join(", ")}

  cd ${folder}
${install}  sluice dev .                         # run it here; Enter sends test_input.json
  sluice serve --config sluice.yaml    # as a service; workers start when jobs wait
`;
}
