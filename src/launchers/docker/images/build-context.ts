/** The folder of a repository as the archive that a Docker daemon builds from, without what .dockerignore names. */
import { existsSync, readFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import type { Readable } from "node:stream";
import { packTar } from "modern-tar/fs";

/** Results of `sluice dev`, which belong to no image. */
const OWN_FOLDER = ".sluice";

interface Rule {
	/** Segments, each a pattern or `**` for any number of them. */
	segments: (RegExp | "**")[];
	includes: boolean;
}

/** `dockerfile`: relative to the folder. */
export function buildContext(folder: string, dockerfile: string): Readable {
	const file = [`${dockerfile}.dockerignore`, ".dockerignore"].find((name) => existsSync(join(folder, name)));
	const isIgnored = ignoreRules(file === undefined ? "" : readFileSync(join(folder, file), "utf8"));
	return packTar(folder, {
		filter(path, stats) {
			const name = relative(folder, path).split(sep).join("/");
			if (name === "" || name === dockerfile || (dockerfile.startsWith(`${name}/`) && stats.isDirectory())) return true;
			return !isIgnored(name, stats.isDirectory());
		},
		map: (header) => ({ ...header, uid: 0, gid: 0, uname: "root", gname: "root" }),
	});
}

/**
 * Whether .dockerignore leaves a path out: the last rule decides that matches it or a folder above it. A folder stays
 * if a later rule may include something in it.
 */
export function ignoreRules(text: string): (path: string, isFolder?: boolean) => boolean {
	const rules = text.split("\n").flatMap((line): Rule[] => {
		const pattern = line.trim();
		if (pattern === "" || pattern.startsWith("#")) return [];
		const includes = pattern.startsWith("!");
		const path = posix.normalize(`/${includes ? pattern.slice(1).trim() : pattern}`);
		const segments = path.split("/").filter((part) => part !== "");
		return [{ segments: segments.map((part) => (part === "**" ? part : segmentPattern(part))), includes }];
	});
	const includesAny = rules.some(({ includes }) => includes);
	return (path, isFolder = false) => {
		const parts = path.split("/");
		if (parts[0] === OWN_FOLDER) return true;
		const rule = rules.findLast(({ segments }) => matches(segments, parts));
		return rule !== undefined && !rule.includes && !(isFolder && includesAny);
	};
}

/** Also a match with a folder above. */
function matches([first, ...rest]: readonly (RegExp | "**")[], parts: readonly string[]): boolean {
	if (first === undefined) return true;
	if (parts.length === 0) return false;
	if (first === "**") return parts.some((_, index) => matches(rest, parts.slice(index)));
	return first.test(parts[0]!) && matches(rest, parts.slice(1));
}

function segmentPattern(segment: string): RegExp {
	const parts = segment.split(/(\*+|\?)/).map((part) => {
		if (part.startsWith("*")) return ".*";
		return part === "?" ? "." : RegExp.escape(part);
	});
	const source = parts.join("");
	return new RegExp(`^${source}$`, "s");
}
