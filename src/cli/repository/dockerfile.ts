/** Reads a Dockerfile: what its last stage starts, and which files that copies (D36). */
import { posix } from "node:path";

/** Words of the exec form, or of a shell's line. */
interface Start {
	words: string[];
	isShell: boolean;
}

interface Copy {
	sources: string[];
	/** Absolute path in the image. */
	target: string;
}

export interface Stage {
	/** Image or stage that FROM names. */
	base: string;
	/** The stage that it begins as. */
	parent: Stage | undefined;
	workdir: string;
	entrypoint?: Start | undefined;
	cmd?: Start | undefined;
	/** Whether CMD is of this stage: an ENTRYPOINT drops the CMD of the base. */
	hasOwnCmd: boolean;
	/** Copied files of the repository, without those of the parent. */
	copies: Copy[];
	/** It takes files from another stage or image. */
	copiesStages: boolean;
}

type Fill = (text: string) => string;

export interface Dockerfile {
	stages: Stage[];
	/** Replaces the variables of ENV in a shell's line. Unknown ones stay. */
	fill: Fill;
}

export function readDockerfile(text: string): Dockerfile {
	const stages: Stage[] = [];
	const byName = new Map<string, Stage>();
	const [env, all] = [new Map<string, string>(), new Map<string, string>()];
	const fill = filler(env, (variable) => variable);
	const filled = filler(all, () => "");
	for (const { name, rest } of instructions(text)) {
		const stage = stages.at(-1);
		if (name === "FROM") {
			const [base = "", as, alias = ""] = wordsOf(filled(rest)).filter((word) => !word.startsWith("--"));
			const parent = byName.get(base.toLowerCase());
			const { workdir = "/", entrypoint, cmd } = parent ?? {};
			const next = { base, parent, workdir, entrypoint, cmd, hasOwnCmd: false, copies: [], copiesStages: false };
			stages.push(next);
			if (as?.toLowerCase() === "as") byName.set(alias.toLowerCase(), next);
		} else if (name === "ARG" || name === "ENV") {
			for (const [variable, value] of assignments(filled(rest))) {
				all.set(variable, value);
				if (name === "ENV") env.set(variable, value);
			}
		} else if (stage) read(stage, { name, rest, fill, filled });
	}
	return { stages, fill };
}

/** ENTRYPOINT and CMD as the container gets them; empty if the base image decides. */
export function startOf({ entrypoint, cmd }: Stage): Start {
	if (entrypoint?.isShell) return entrypoint;
	const words = [...(entrypoint?.words ?? []), ...(cmd?.words ?? [])];
	return { words, isShell: cmd?.isShell ?? false };
}

/**
 * Paths in the repository that may be the file at this path of the image, the most likely one first. What a stage takes
 * from another one is looked for in all of them, at the same path.
 */
export function sourcesOf(stages: readonly Stage[], stage: Stage, path: string): string[] {
	const target = posix.resolve(stage.workdir, path);
	const copies: Copy[] = [];
	let others = false;
	for (let at: Stage | undefined = stage; at; at = at.parent) {
		copies.push(...at.copies.toReversed());
		others ||= at.copiesStages;
	}
	if (others) copies.push(...stages.flatMap((each) => each.copies));
	return copies.flatMap((copy) => copy.sources.flatMap((source) => sourceFor(source, copy.target, target)));
}

/** The line of a shell in words, without their quotes. */
export function wordsOf(line: string): string[] {
	return [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replaceAll(/["']/g, ""));
}

function filler(variables: ReadonlyMap<string, string>, missing: Fill): Fill {
	return (text) =>
		text.replaceAll(
			/\$(?:\{(\w+)(?::?-([^}$]*))?\}|(\w+))/g,
			(found: string, braced?: string, other?: string, plain?: string) =>
				variables.get(braced ?? plain ?? "") ?? other ?? missing(found),
		);
}

function sourceFor(source: string, folder: string, target: string): string[] {
	const found: string[] = [];
	const below = folder === "/" ? "/" : `${folder}/`;
	if (source.includes("*")) {
		if (posix.dirname(target) === folder) found.push(posix.join(posix.dirname(source), posix.basename(target)));
		return found;
	}
	if (target === folder || target === below + posix.basename(source)) found.push(source);
	if (target.startsWith(below)) found.push(posix.join(source, target.slice(below.length)));
	return found;
}

function read(stage: Stage, q: { name: string; rest: string; fill: Fill; filled: Fill }): void {
	const { name, rest, fill, filled } = q;
	switch (name) {
		case "WORKDIR":
			stage.workdir = posix.resolve(stage.workdir, wordsOf(filled(rest))[0] ?? ".");
			break;
		case "ENTRYPOINT":
			stage.entrypoint = startIn(rest, fill);
			if (!stage.hasOwnCmd) stage.cmd = undefined;
			break;
		case "CMD":
			stage.cmd = startIn(rest, fill);
			stage.hasOwnCmd = true;
			break;
		case "COPY":
		case "ADD": {
			const words = wordsOf(filled(rest));
			const list = rest.includes("[") ? listIn(filled(rest.slice(rest.indexOf("[")))) : undefined;
			const paths = list ?? words.filter((word) => !word.startsWith("--"));
			if (words.some((word) => word.startsWith("--from="))) stage.copiesStages = true;
			else
				stage.copies.push({
					sources: paths.slice(0, -1).map((source) => posix.normalize(`/${source}`).slice(1) || "."),
					target: posix.resolve(stage.workdir, paths.at(-1) ?? "."),
				});
		}
	}
}

/** Only a shell replaces variables. */
function startIn(rest: string, fill: Fill): Start {
	const list = listIn(rest);
	return list ? { words: list, isShell: false } : { words: wordsOf(fill(rest)), isShell: true };
}

/** Docker takes what is no list of texts in JSON for the line of a shell. */
function listIn(text: string): string[] | undefined {
	if (!text.trimStart().startsWith("[")) return undefined;
	try {
		const list: unknown = JSON.parse(text);
		return Array.isArray(list) && list.every((each) => typeof each === "string") ? list : undefined;
	} catch {
		return undefined;
	}
}

/** `NAME=value`, or `NAME value` in the old form of ENV. */
function assignments(rest: string): (readonly [string, string])[] {
	const words = wordsOf(rest);
	const [name = "", ...value] = words;
	if (!name.includes("=")) return value.length > 0 ? [[name, value.join(" ")]] : [];
	return words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]);
}

/** Continued lines are joined; comments and here-documents are left out. */
function instructions(text: string): { name: string; rest: string }[] {
	const found: { name: string; rest: string }[] = [];
	let open = "";
	let documentEnd: string | undefined;
	for (const line of text.split("\n").map((each) => each.trimEnd())) {
		const start = line.trimStart();
		if (documentEnd !== undefined) {
			if (start === documentEnd) documentEnd = undefined;
			continue;
		}
		if (start === "" || start.startsWith("#")) continue;
		open += line.endsWith("\\") ? `${line.slice(0, -1)} ` : line;
		if (line.endsWith("\\")) continue;
		const [, name = "", rest = ""] = /^\s*([A-Za-z]+)\s+(\S[^]*)$/.exec(open) ?? [];
		open = "";
		if (name === "") continue;
		found.push({ name: name.toUpperCase(), rest });
		if (/^(?:RUN|COPY|ADD)$/i.test(name)) documentEnd = /<<-?["']?(\w+)/.exec(rest)?.[1];
	}
	return found;
}
