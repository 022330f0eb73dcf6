/** What the worker of a repository is: the script that its Dockerfile starts, or its image (D36). */
import { readFileSync } from "node:fs";
import { basename, join, posix, relative } from "node:path";
import { CliError } from "../client/errors.ts";
import { isFile } from "./hub.ts";
import { readDockerfile } from "./dockerfile.ts";

const HANDLERS = ["handler", "rp_handler", "worker", "main", "index"].flatMap((name) =>
	["", "src/"].flatMap((folder) => ["py", "ts", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`)),
);

const SCRIPT = /\.(?:py|[cm]?[jt]s)$/i;
/** Programs that start another one: its name follows their options. */
const WRAPPER = /^(?:exec|env|tini|dumb-init|docker-init|catatonit)$/;
/** Programs that start a script, or another program, by `run`. */
const RUNNER = /^(?:uv|poetry|pipenv)$/;
/** What only a shell understands. */
const SHELL = /&&|\|\||[;|&<>$`]/;
const RUNTIME = /^(?:(?:python|pypy)[\d.]*|node|bun|tsx|ts-node)$/;
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
	const { start, sources } = readDockerfile(readFileSync(join(folder, file), "utf8"));
	if (start.length === 0) return fallback ?? { needsImage: `${file} starts what its base image starts` };
	const script = start.some((word) => SHELL.test(word)) ? undefined : scriptIn(start);
	const found = script && locate(script.path, { folder, sources });
	if (!script || found === undefined) return { needsImage: `${file} starts ${start.join(" ")}` };
	const { module, args, path } = script;
	const entry = { file: join(folder, found), args };
	if (module === undefined) return entry;
	// It runs in the folder of its package.
	return { ...entry, module, ...(found !== path && { cwd: entry.file.slice(0, -path.length - 1) }) };
}

/** A script or module directly behind Python, Node or a runner. `path`: of its file, as the command names it. */
function scriptIn(words: readonly string[]): { path: string; module?: string; args: string[] } | undefined {
	const [program = "", ...rest] = after(words, (word, index) => {
		const isOption = index > 0 && word.startsWith("-");
		return isOption || /^\w+=/.test(word) || WRAPPER.test(basename(word));
	});
	const isRunner = RUNNER.test(program) && rest[0] === "run";
	if (isRunner && !SCRIPT.test(rest[1] ?? "")) return scriptIn(rest.slice(1));
	if (!isRunner && !RUNTIME.test(basename(program))) return undefined;
	const [first = "", ...args] = isRunner ? rest.slice(1) : after(rest, (word) => OPTION.test(word));
	const [module, ...others] = first === "-m" ? args : [];
	if (module !== undefined) return { path: `${module.replaceAll(".", "/")}.py`, module, args: others };
	return SCRIPT.test(first) ? { path: first, args } : undefined;
}

/** The words after those at the beginning that are skipped. */
function after(words: readonly string[], isSkipped: (word: string, index: number) => boolean): readonly string[] {
	const at = words.findIndex((word, index) => !isSkipped(word, index));
	return at === -1 ? [] : words.slice(at);
}

/** The file in the repository that is copied to this path of the image: what is copied last comes first. */
function locate(path: string, q: { folder: string; sources: readonly string[] }): string | undefined {
	const parts = posix.normalize(`/${path}`).slice(1).split("/");
	const ends = parts.map((_, index) => parts.slice(index).join("/"));
	const candidates = q.sources
		.toReversed()
		.flatMap((source) => (basename(source) === parts.at(-1) ? [source] : ends.map((end) => posix.join(source, end))));
	return candidates.find((name) => isFile(join(q.folder, name)));
}

/** `.runpod` comes first, as on RunPod. Docker reads a lower-case name too. */
const DOCKERFILES = [".runpod/Dockerfile", ".runpod/dockerfile", "Dockerfile", "dockerfile"];

export function dockerfileOf(folder: string): string | undefined {
	return DOCKERFILES.find((name) => isFile(join(folder, name)));
}

function knownHandler(folder: string): string | undefined {
	return HANDLERS.find((name) => isFile(join(folder, name)));
}
