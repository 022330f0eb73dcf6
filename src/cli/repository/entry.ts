/** What the worker of a repository is: the script that its Dockerfile starts, or its image (D36). */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { CliError } from "../client/errors.ts";
import { isFile } from "./hub.ts";
import { type Dockerfile, readDockerfile, sourcesOf, type Stage, startOf, wordsOf } from "./dockerfile.ts";

const HANDLERS = ["handler", "rp_handler", "worker", "main", "index"].flatMap((name) =>
	["", "src/"].flatMap((folder) => ["py", "ts", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`)),
);

/** Larger Dockerfiles are not read, bytes. */
const MOST_BYTES = 256 * 1024;

const SCRIPT = /\.(?:py|[cm]?[jt]s)$/i;
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|da|z|a)?sh$/;
const SHELL_SCRIPT = /\.(?:ba|z)?sh$/i;
/** Programs that start another one: its name follows their options. */
const WRAPPER = /^(?:exec|env|tini|dumb-init|docker-init|catatonit)$/;
/** Programs that start a script, or another program, by `run`. */
const RUNNER = /^(?:uv|poetry|pipenv)$/;
const OPERATOR = /&&|\|\||[;|&<>$`]/;

const PYTHON = /^(?:python|pypy)[\d.]*$/;
const RUNTIME = /^(?:node|bun|tsx|ts-node)$/;
/** Options of runtimes that nothing here depends on. */
const OPTION = /^(?:-[bBdEiIOPqsSuvx]+|--enable-source-maps|--no-warnings)$/;

export interface Entry {
	/** Absolute path. */
	file: string;
	/** Name for Python's `-m`, which sets where imports are looked for. */
	module?: string;
	/** Where it runs, absolute; default: the repository. */
	cwd?: string;
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
	const path = join(folder, file);
	if (statSync(path).size > MOST_BYTES) return { needsImage: `${file} has over ${MOST_BYTES / 1024} KiB` };
	const dockerfile = readDockerfile(readFileSync(path, "utf8"));
	const stage = dockerfile.stages.at(-1);
	if (!stage) return fallback;
	const { words, isShell } = startOf(stage);
	if (words.length === 0)
		return fallback ?? { needsImage: `${file} starts what its base image ${stage.base} starts, and has no handler` };
	if (isShell && OPERATOR.test(words.join(" "))) return { needsImage: `${file} starts ${words.join(" ")}` };
	return entryIn(words, { folder, file, dockerfile, stage });
}

interface Place {
	folder: string;
	file: string;
	dockerfile: Dockerfile;
	stage: Stage;
}

function entryIn(words: readonly string[], place: Place): Found {
	const [program = "", ...rest] = unwrapped(words);
	const needsImage = (what: string): Found => ({ needsImage: `${place.file} starts ${what}` });
	if (SHELL.test(program)) {
		const at = rest.findIndex((word) => /^-\w*c$/.test(word));
		const line = at === -1 ? undefined : rest[at + 1];
		if (line === undefined) return needsImage(rest.find((word) => !word.startsWith("-")) ?? program);
		const filled = place.dockerfile.fill(line);
		return OPERATOR.test(filled) ? needsImage(line) : entryIn(wordsOf(filled), place);
	}
	if (SHELL_SCRIPT.test(program)) return needsImage(`${program}, a shell script of the image`);
	const name = basename(program);
	if (RUNNER.test(name) && rest[0] === "run")
		return SCRIPT.test(rest[1] ?? "") ? scriptEntry(rest.slice(1), place) : entryIn(rest.slice(1), place);
	const isPython = PYTHON.test(name);
	if (!isPython && !RUNTIME.test(name)) return needsImage(`${program}, a program of the image`);
	const at = rest.findIndex((word) => !OPTION.test(word));
	const [first = "", ...others] = at === -1 ? [] : rest.slice(at);
	if (isPython && first === "-m") return moduleEntry(others, place);
	if (isPython && first.startsWith("-m")) return moduleEntry([first.slice(2), ...others], place);
	if (first === "" || first.startsWith("-")) return needsImage([program, ...rest].join(" "));
	return scriptEntry([first, ...others], place);
}

/** Removes `exec`, variables, and init programs with their options. */
function unwrapped(words: readonly string[]): readonly string[] {
	const at = words.findIndex((word, index) => {
		const isOption = index > 0 && word.startsWith("-");
		return !(isOption || /^\w+=/.test(word) || WRAPPER.test(basename(word)));
	});
	return at === -1 ? [] : words.slice(at);
}

function scriptEntry([script = "", ...args]: readonly string[], place: Place): Found {
	const found = SCRIPT.test(script) ? locate(script, place) : undefined;
	if (found === undefined) return { needsImage: `${place.file} starts ${script}, a file of the image` };
	return { file: join(place.folder, found), args };
}

/** It runs in the folder of its package. */
function moduleEntry([module = "", ...args]: readonly string[], place: Place): Found {
	const path = module.replaceAll(".", "/");
	for (const name of [`${path}.py`, `${path}/__main__.py`]) {
		const found = locate(name, place);
		if (found !== name && found?.endsWith(`/${name}`) !== true) continue;
		const file = join(place.folder, found);
		return { file, module, args, ...(found !== name && { cwd: file.slice(0, -name.length - 1) }) };
	}
	return { needsImage: `${place.file} starts the module ${module} of the image` };
}

/** The script in the repository, by what the Dockerfile copies; none where links lead elsewhere. */
function locate(script: string, { folder, dockerfile, stage }: Place): string | undefined {
	const root = realpathSync(folder) + sep;
	return sourcesOf(dockerfile.stages, stage, script).find((name) => {
		const path = join(folder, name);
		return isFile(path) && realpathSync(path).startsWith(root);
	});
}

/** `.runpod` comes first, as on RunPod. */
export function dockerfileOf(folder: string): string | undefined {
	return [".runpod/Dockerfile", "Dockerfile"].find((name) => isFile(join(folder, name)));
}

function knownHandler(folder: string): string | undefined {
	return HANDLERS.find((name) => isFile(join(folder, name)));
}
