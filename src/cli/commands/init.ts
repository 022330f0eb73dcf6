/** `sluice init`: a new folder with a worker to start from (D36). */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../kernel/version.ts";
import type { Action } from "../framework/command.ts";
import { endpointId } from "../dev/target.ts";
import { CliError } from "../client/errors.ts";
import { connectLine, presetFiles } from "./init-preset.ts";
import { type NamedPreset, presetNamed } from "./jobs/http-setting.ts";

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
	http: "a server that speaks HTTP, without an SDK; --preset NAME: a known one, such as docling",
} as const;

const NAMES = Object.keys(STARTERS).join(", ");

export const init: Action = {
	name: "init",
	summary: `create a folder with a worker to start from: ${NAMES}`,
	args: ["[STARTER]", "[FOLDER]"],
	local: true,
	flags: { preset: { value: "NAME", summary: "for the starter http: an endpoint for this server, such as docling" } },
	examples: ["sluice init typescript greeter", "sluice init streaming", "sluice init http documents --preset docling"],
	async run({ args: [starter, path = starter], flags }) {
		if (starter === undefined || path === undefined) {
			const rows = Object.entries(STARTERS).map(([name, what]) => `  ${name.padEnd(12)}${what}\n`);
			throw new CliError(`Choose a starter: sluice init STARTER [FOLDER]\n\n${rows.join("")}`);
		}
		if (!Object.hasOwn(STARTERS, starter)) throw new CliError(`There is no starter '${starter}'; there are ${NAMES}.`);
		const named = flags["preset"];
		if (named !== undefined && starter !== "http")
			throw new CliError(`--preset is for the starter http: sluice init http FOLDER --preset ${named}`);
		const preset = named === undefined ? undefined : presetNamed(named);
		const folder = resolve(path);
		const files = preset ? writePreset(preset, folder) : copyStarter(starter, folder);
		const text = preset ? presetText(preset, path) : createdText(starter, path, files);
		process.stdout.write(`Created ${path}: ${files.join(", ")}\n\n  cd ${inShell(path)}\n${text}`);
		return 0;
	},
};

/** Throws {@link CliError} if one of the files exists. */
function refuseTaken(folder: string, files: readonly string[], command: string): void {
	const taken = files.find((name) => existsSync(join(folder, name)));
	if (taken !== undefined) throw new CliError(`${join(folder, taken)} exists. Pass another folder: ${command}`);
}

/** Returns the names of the new files. Throws {@link CliError} instead of replacing one. */
function writePreset(preset: NamedPreset, folder: string): string[] {
	const texts = presetFiles(preset, endpointId(basename(folder)));
	const files = Object.keys(texts);
	refuseTaken(folder, files, `sluice init http FOLDER --preset ${preset.name}`);
	try {
		mkdirSync(folder, { recursive: true });
		for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
	} catch (error) {
		throw cannotWrite(folder, error);
	}
	return files;
}

/** Returns the names of the new files. Throws {@link CliError} instead of replacing one. */
function copyStarter(starter: string, folder: string): string[] {
	const source = join(PACKAGE, "starters", starter);
	const files = readdirSync(source);
	refuseTaken(folder, files, `sluice init ${starter} FOLDER`);
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
		throw cannotWrite(folder, error);
	}
	return files;
}

function cannotWrite(folder: string, error: unknown): CliError {
	return new CliError(`Cannot write to ${folder}: ${(error as Error).message}`, 1);
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

function inShell(path: string): string {
	return /^[\w./-]+$/.test(path) ? path : `'${path}'`;
}

/** What to type next, in the new folder. */
function createdText(starter: string, path: string, files: readonly string[]): string {
	if (starter === "http")
		return `  sluice dev --http 0 -- node server.mjs    # run it here; Enter sends test_input.json
  sluice serve --config sluice.yaml         # as a service; workers start when jobs wait
`;
	if (!files.includes("Dockerfile"))
		return `  sluice serve --config sluice.yaml    # needs Docker and an NVIDIA GPU; pulls the image
  sluice jobs submit ${endpointId(basename(resolve(path)))} --input @test_input.json --wait
`;
	const install = files.includes("package.json")
		? "  npm install                          # for 'sluice serve'; 'sluice dev' needs nothing\n"
		: "";
	return `${install}  sluice dev .                         # run it here; Enter sends test_input.json
  sluice serve --config sluice.yaml    # as a service; workers start when jobs wait
`;
}

function presetText(preset: NamedPreset, path: string): string {
	const endpoint = endpointId(basename(resolve(path)));
	return `  sluice serve --config sluice.yaml    # prints a key: set SLUICE_API_KEY to it in another shell
  ${connectLine(preset, endpoint)}
  sluice jobs submit ${endpoint} --input @test_input.json --wait
`;
}
