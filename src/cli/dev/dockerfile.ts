/** Reads a Dockerfile: what its last stage starts, which files that copies, and which images it is made of (D36). */
import { posix } from "node:path";

/** Words of the exec form, or of a shell's line. */
interface Start {
	words: string[];
	isShell: boolean;
}

interface Copy {
	/** A stage or an image; undefined: the folder of the repository. */
	from: string | undefined;
	sources: string[];
	/** Absolute path in the image. */
	target: string;
}

export interface Stage {
	name: string;
	/** What FROM names: an earlier stage or an image. */
	base: string;
	workdir: string;
	entrypoint?: Start | undefined;
	cmd?: Start | undefined;
	/** Whether CMD is of this stage: an ENTRYPOINT drops the CMD of the base. */
	hasOwnCmd: boolean;
	copies: Copy[];
}

/** Stages through which a file is followed. */
const MOST_STAGES = 6;

/** The stages in order; a stage begins as a copy of the one that its FROM names. */
export function readDockerfile(text: string): Stage[] {
	const stages: Stage[] = [];
	const variables: Record<string, string> = {};
	const filled = (value: string): string =>
		value.replaceAll(/\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))/g, (_, braced?: string, other?: string, plain?: string) => {
			return variables[braced ?? plain ?? ""] ?? other ?? "";
		});
	for (const { name, rest } of instructions(text)) {
		const stage = stages.at(-1);
		if (name === "FROM") stages.push(stageFrom(wordsOf(filled(rest)), stages));
		else if (name === "ARG" || name === "ENV") Object.assign(variables, assignments(filled(rest)));
		else if (stage) read(stage, { name, rest, filled });
	}
	return stages;
}

/** ENTRYPOINT and CMD as the container gets them; empty if the base image decides. */
export function startOf({ entrypoint, cmd }: Stage): Start {
	if (entrypoint?.isShell) return entrypoint;
	const words = [...(entrypoint?.words ?? []), ...(cmd?.words ?? [])];
	return { words, isShell: cmd?.isShell ?? false };
}

/** Paths in the repository that may be the file at this path of the image, the most likely one first. */
export function sourcesOf(stages: readonly Stage[], stage: Stage, path: string, depth = MOST_STAGES): string[] {
	if (depth === 0) return [];
	const target = posix.resolve(stage.workdir, path);
	return stage.copies.toReversed().flatMap((copy) => {
		const found = copy.sources.flatMap((source) => sourceFor(source, copy.target, target));
		if (copy.from === undefined) return found;
		const other = stageNamed(stages, copy.from);
		const earlier = stages.slice(0, stages.indexOf(stage));
		return other && earlier.includes(other)
			? found.flatMap((each) => sourcesOf(earlier, other, `/${each}`, depth - 1))
			: [];
	});
}

/** The line of a shell in words, without their quotes. */
export function wordsOf(line: string): string[] {
	return [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replaceAll(/["']/g, ""));
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

function stageNamed(stages: readonly Stage[], name: string): Stage | undefined {
	return (
		stages.findLast((stage) => stage.name === name.toLowerCase()) ?? stages[/^\d+$/.test(name) ? Number(name) : -1]
	);
}

function stageFrom(words: readonly string[], stages: readonly Stage[]): Stage {
	const [base = "", as, name = ""] = words.filter((word) => !word.startsWith("--"));
	const {
		entrypoint,
		cmd,
		workdir = "/",
		copies = [],
	} = stages.findLast((each) => each.name === base.toLowerCase()) ?? {};
	return {
		name: as?.toLowerCase() === "as" ? name.toLowerCase() : "",
		base,
		workdir,
		entrypoint,
		cmd,
		hasOwnCmd: false,
		copies: [...copies],
	};
}

function read(stage: Stage, q: { name: string; rest: string; filled: (value: string) => string }): void {
	const { name, rest, filled } = q;
	switch (name) {
		case "WORKDIR":
			stage.workdir = posix.resolve(stage.workdir, wordsOf(filled(rest))[0] ?? ".");
			break;
		case "ENTRYPOINT":
			stage.entrypoint = startIn(rest, filled);
			if (!stage.hasOwnCmd) stage.cmd = undefined;
			break;
		case "CMD":
			stage.cmd = startIn(rest, filled);
			stage.hasOwnCmd = true;
			break;
		case "COPY":
		case "ADD": {
			const all = wordsOf(filled(rest));
			const flags = all.slice(
				0,
				all.findIndex((word) => !word.startsWith("--")),
			);
			const list = rest.includes("[") ? listIn(filled(rest.slice(rest.indexOf("[")))) : undefined;
			const words = list ?? all.slice(flags.length);
			const sources = words.slice(0, -1).map((source) => posix.normalize(`/${source}`).slice(1) || ".");
			const target = posix.resolve(stage.workdir, words.at(-1) ?? ".");
			const from = flags.find((flag) => flag.startsWith("--from="))?.slice("--from=".length);
			stage.copies.push({ from, sources, target });
		}
	}
}

/** Only a shell replaces variables. */
function startIn(rest: string, filled: (value: string) => string): Start {
	const list = listIn(rest);
	return list ? { words: list, isShell: false } : { words: wordsOf(filled(rest)), isShell: true };
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
function assignments(rest: string): Record<string, string> {
	const words = wordsOf(rest);
	const [name = "", ...value] = words;
	if (!name.includes("=")) return value.length > 0 ? { [name]: value.join(" ") } : {};
	return Object.fromEntries(
		words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)] as const),
	);
}

/** Continued lines are joined; comments and here-documents are left out. */
function instructions(text: string): { name: string; rest: string }[] {
	const found: { name: string; rest: string }[] = [];
	let open = "";
	let documentEnd: string | undefined;
	for (const line of text.split("\n").map((each) => each.trimEnd())) {
		if (documentEnd !== undefined) {
			if (line.trimStart() === documentEnd) documentEnd = undefined;
			continue;
		}
		const start = line.trimStart();
		if (start === "" || start.startsWith("#")) continue;
		open += line.endsWith("\\") ? `${line.slice(0, -1)} ` : line;
		if (line.endsWith("\\")) continue;
		const [, name = "", rest = ""] = /^\s*([A-Za-z]+)\s+(\S[^]*)$/.exec(open) ?? [];
		open = "";
		if (name !== "") found.push({ name: name.toUpperCase(), rest });
		if (/^(?:RUN|COPY|ADD)$/i.test(name)) documentEnd = /<<-?["']?(\w+)/.exec(rest)?.[1];
	}
	return found;
}
