/** What the worker of a repository is: the script that its Dockerfile starts, or its image (D36). */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { CliError } from "../client/errors.ts";
import { readDockerfile, sourcesOf, type Stage, startOf, wordsOf } from "./dockerfile.ts";

const HANDLERS = ["handler", "rp_handler", "worker", "main", "index"].flatMap((name) =>
	["", "src/"].flatMap((folder) => ["py", "ts", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`)),
);

const SCRIPT = /\.(?:py|[cm]?[jt]s)$/i;
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|da|z|a)?sh$/;
const SHELL_SCRIPT = /\.(?:ba|z)?sh$/i;
/** Programs that start another one: its name follows their options. */
const WRAPPER = /^(?:exec|env|tini|dumb-init|docker-init|catatonit)$/;
const OPERATOR = /&&|\|\||[;|&<>]|\$\(|`/;
const RUNTIME = /^(?:python|pypy|node|bun|deno|tsx|ts-node|uv|poetry|pipenv|conda|micromamba)[\d.]*$/;

export interface Entry {
	/** Absolute path. */
	file: string;
	/** Name for Python's `-m`, which sets where imports are looked for. */
	module?: string;
	/** Arguments behind the script. */
	args: string[];
}

/** The entry, or why only its image can run it. */
type Found = Entry | { needsImage: string };

/** Throws {@link CliError} if the repository has no script for this machine. */
export function findEntry(folder: string): Entry {
	const found = entryOf(folder);
	if (!found)
		throw new CliError(
			`No handler found in ${folder}: no handler.py, handler.ts, handler.js or worker.js, ` +
				"there or in src/, and no script in the CMD of a Dockerfile. Pass the file: sluice dev " +
				`${join(folder, "FILE")}`,
		);
	if (!("needsImage" in found)) return found;
	const path = relative(process.cwd(), folder) || ".";
	const known = knownHandler(folder);
	throw new CliError(
		`This repository needs its image: ${found.needsImage}. Run it in Docker, as an endpoint of a running service:\n` +
			`  sluice endpoints create ID --from ${path} --build          # builds the image of its Dockerfile\n` +
			`  sluice endpoints create ID --from ${path} --image IMAGE    # a published image` +
			(known === undefined
				? ""
				: `\nTo run ${basename(known)} alone, without the image: sluice dev ${join(path, known)}`),
	);
}

/** Undefined if nothing names a script. */
export function entryOf(folder: string): Found | undefined {
	const known = knownHandler(folder);
	const fallback = known === undefined ? undefined : { file: join(folder, known), args: [] };
	const file = dockerfileOf(folder);
	if (file === undefined) return fallback;
	const stages = readDockerfile(readFileSync(join(folder, file), "utf8"));
	const stage = stages.at(-1);
	if (!stage) return fallback;
	const { words, isShell } = startOf(stage);
	if (words.length === 0)
		return fallback ?? { needsImage: `${file} starts what its base image ${stage.base} starts, and has no handler` };
	if (isShell && OPERATOR.test(words.join(" "))) return { needsImage: `${file} starts ${words.join(" ")}` };
	return entryIn(words, { folder, file, stages, stage }) ?? fallback;
}

interface Place {
	folder: string;
	file: string;
	stages: readonly Stage[];
	stage: Stage;
}

function entryIn(words: readonly string[], place: Place): Found | undefined {
	const command = unwrapped(words);
	const [program = "", ...rest] = command;
	const { file } = place;
	if (SHELL.test(program)) {
		const line = rest[rest.findIndex((word) => /^-\w*c$/.test(word)) + 1];
		const hasLine = rest.some((word) => /^-\w*c$/.test(word)) && line !== undefined;
		if (hasLine && !OPERATOR.test(line)) return entryIn(wordsOf(line), place);
		return { needsImage: `${file} starts ${hasLine ? line : (rest.find((word) => !word.startsWith("-")) ?? program)}` };
	}
	if (SHELL_SCRIPT.test(program)) return { needsImage: `${file} starts ${program}, a shell script of the image` };
	const isRuntime = RUNTIME.test(basename(program));
	if (program.includes("/") && !isRuntime && !SCRIPT.test(program))
		return { needsImage: `${file} starts ${program}, a program of the image` };
	const at = command.findIndex((word) => SCRIPT.test(word) || SHELL_SCRIPT.test(word));
	const moduleAt = isRuntime ? command.indexOf("-m") + 1 : 0;
	if (moduleAt > 0 && (at === -1 || moduleAt < at)) return moduleEntry(command, moduleAt, place);
	if (at === -1) return undefined;
	const script = command[at]!;
	const found = SHELL_SCRIPT.test(script) ? undefined : locate(script, place);
	if (found === undefined) return { needsImage: `${file} starts ${script}, a file of the image` };
	return { file: join(place.folder, found), args: command.slice(at + 1) };
}

/** Removes `exec`, variables, and init programs with their options. */
function unwrapped(words: readonly string[]): readonly string[] {
	const [first = "", ...rest] = words;
	if (/^\w+=/.test(first)) return unwrapped(rest);
	if (!WRAPPER.test(basename(first))) return words;
	const next = rest.findIndex((word) => !word.startsWith("-"));
	return next === -1 ? [] : unwrapped(rest.slice(next));
}

function moduleEntry(command: readonly string[], at: number, place: Place): Found {
	const module = command[at] ?? "";
	const path = module.replaceAll(".", "/");
	const found = [`${path}.py`, `${path}/__main__.py`]
		.map((name) => locate(name, place))
		.find((name) => name !== undefined);
	if (found === undefined) return { needsImage: `${place.file} starts the module ${module} of the image` };
	const isHere = found === `${path}.py` || found === `${path}/__main__.py`;
	return { file: join(place.folder, found), ...(isHere && { module }), args: command.slice(at + 1) };
}

/** The script in the repository: by what the Dockerfile copies, else by the end of its path. */
function locate(script: string, { folder, stages, stage }: Place): string | undefined {
	const parts = script.split("/").filter((part) => part !== "" && part !== ".");
	return [
		...sourcesOf(stages, stage, script),
		...parts.map((_, index) => parts.slice(index).join("/")),
		`src/${basename(script)}`,
	].find((name) => isFile(join(folder, name)));
}

/** `.runpod` comes first, as on RunPod. */
export function dockerfileOf(folder: string): string | undefined {
	return [".runpod/Dockerfile", "Dockerfile"].find((name) => isFile(join(folder, name)));
}

function knownHandler(folder: string): string | undefined {
	return HANDLERS.find((name) => isFile(join(folder, name)));
}

function isFile(path: string): boolean {
	return existsSync(path) && statSync(path).isFile();
}
