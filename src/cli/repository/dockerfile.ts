/** Reads a Dockerfile as far as the worker of a repository needs: what it starts, and what it copies (D36). */
import { posix } from "node:path";

export interface Dockerfile {
	/** ENTRYPOINT and CMD of the last stage that has any. Variables are not replaced. */
	start: string[];
	/** Files and folders of the repository that any stage copies. */
	sources: string[];
}

export function readDockerfile(text: string): Dockerfile {
	const sources: string[] = [];
	let entrypoint: string[] | undefined;
	let cmd: string[] = [];
	let isOwnCmd = false;
	let isShell = false;
	const lines = text.split("\n").map((line) => line.trim());
	const joined = lines.filter((line) => !line.startsWith("#")).join("\n");
	for (const line of joined.replaceAll("\\\n", " ").split("\n")) {
		const [, name = "", rest = ""] = /^([A-Za-z]+)\s+(\S.*)$/.exec(line) ?? [];
		switch (name.toUpperCase()) {
			case "FROM":
				isOwnCmd = false;
				break;
			case "ENTRYPOINT":
				entrypoint = wordsOf(rest);
				isShell = !rest.startsWith("[");
				// It drops the CMD of the base.
				if (!isOwnCmd) cmd = [];
				break;
			case "CMD":
				cmd = wordsOf(rest);
				isOwnCmd = true;
				break;
			case "COPY":
			case "ADD": {
				const words = rest.replace(/^(?:--\S+\s+)*/, "");
				if (!/(?:^|\s)--from=/.test(rest)) sources.push(...wordsOf(words).slice(0, -1).map(folderOf));
			}
		}
	}
	return { start: isShell ? entrypoint! : [...(entrypoint ?? []), ...cmd], sources };
}

/** The folder of the files of a pattern. */
function folderOf(source: string): string {
	const path = posix.normalize(`/${source}`).slice(1) || ".";
	return path.includes("*") ? posix.dirname(path) : path;
}

/** The exec form, or the line of a shell in words without their quotes. */
function wordsOf(text: string): string[] {
	try {
		const list: unknown = JSON.parse(text);
		if (Array.isArray(list) && list.every((each) => typeof each === "string")) return list;
	} catch {
		// Docker takes what is no list of texts for the line of a shell.
	}
	return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replaceAll(/["']/g, ""));
}
