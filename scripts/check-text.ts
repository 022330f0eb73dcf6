/**
 * Checks the text of the repository: no line over 120 columns, and no word that "How we write" in
 * CONTRIBUTING rules out. `npm run lint` runs it; `node scripts/check-text.ts --list [PATH]` prints
 * each place, `--count` the number per folder.
 *
 * `text-allowance.json` holds how many faults a folder may still have. The numbers only fall:
 * `--lower` writes the present ones where they are lower. A folder without a number may have none.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const ALLOWANCE = fileURLToPath(new URL("./text-allowance.json", import.meta.url));

/** Where no line may be longer than {@link MAX_COLUMNS}. A tab counts as two columns. */
const NARROW = /^(src|console\/src|test|scripts|bench|examples)\/.*\.(ts|tsx|css|sql)$/;
const MAX_COLUMNS = 120;
const TAB_COLUMNS = 2;

/** Where the banned words are looked for. This file and its test have to name them. */
const PLAIN =
	/^((src|packages|console|test|scripts|bench|docs|examples)\/.*|[RC][A-Z]+\.md)(?<=\.(tsx?|css|sql|html|md))$/;
const NOT_PLAIN = /^(scripts\/check-text|test\/text\.test)\.ts$/;

/** Words with which no doc comment of the source begins: it says what the thing is or does. */
const NO_SENTENCE = /\/\*\*\s*(?:\*\s*)?(Of|As|For|By|Most|Longest|From|Beside|Without)\b/g;

/** What stands between two words of a phrase; it may be wrapped in a comment. */
const GAP = String.raw`(?:\s|\*|//)+`;

/**
 * One word as a word of its own or as part of an identifier in camel case; not as a part of an error
 * code or of an event's name.
 */
const word = (text: string): string => {
	const capital = text[0]!.toUpperCase() + text.slice(1);
	return `(?:(?<![A-Za-z_.])${text}|(?<!_)${capital})(?![a-z_])`;
};

const phrase = (...words: string[]): string => `\\b${words.join(GAP)}\\b`;

/** Each word that is banned, and what to write. Only those that a pattern finds without mistakes. */
const BANNED: readonly { pattern: string; write: string }[] = [
	{
		pattern: `(?:${word("told")}|${word("tells?")}|${word("telling")})(?!${GAP}(?:\\w+${GAP}){0,3}apart)`,
		write: "returned, reported, sent, notified, contains",
	},
	{ pattern: word("whoever"), write: "a client (a worker, an operator) that ..." },
	// `nobody` in quotes is the user of that name.
	{ pattern: `(?<![\`"])${word("(?:no|some)body")}`, write: "no client, an operator, ..." },
	{ pattern: word("anew"), write: "again, retry, read again" },
	{
		pattern: `${phrase("under", "way")}|${word("underway")}|${word("underWay")}`,
		write: "in flight, in progress",
	},
	{ pattern: `${phrase("in", "hand")}(?!-)`, write: "held, in progress" },
	{ pattern: phrase("(?:by|of)", "(?:itself|themselves)"), write: "automatically, alone" },
	{ pattern: phrase("once", "more"), write: "again" },
	{ pattern: phrase("again", "and", "again"), write: "repeatedly" },
	{ pattern: phrase("for", "so", "long"), write: "for this time" },
	{ pattern: phrase("for", "ever"), write: "without end, permanently" },
	{ pattern: phrase("in", "vain"), write: "without effect; timed out" },
	{ pattern: phrase("rolls?", "dice"), write: "use randomness" },
	{ pattern: phrase("no", "place", "for"), write: "unexpected argument" },
	{ pattern: word("gone"), write: "missing, removed, closed" },
	{
		pattern: `(?<!\\b(?:right|far|thrown?|throws|throwing)${GAP})${word("away")}`,
		write: "missing, unavailable",
	},
	{ pattern: phrase("look(?:s|ed|ing)?", "at"), write: "checks, reads" },
	{
		pattern: phrase("(?:a|the|each|every|one|this|next|last|another)", "look"),
		write: "a check, a read, a poll, a scan",
	},
];
const ANY_BANNED = new RegExp(BANNED.map(({ pattern }) => `(${pattern})`).join("|"), "g");

/** One place to correct. */
export interface Fault {
	path: string;
	/** Counted from 1. */
	line: number;
	message: string;
}

/** The faults of one file's text, from top to bottom; `path` is relative to the repository. */
export function textFaults(path: string, text: string): Fault[] {
	const faults: Fault[] = [];
	if (NARROW.test(path)) {
		for (const [index, line] of text.split("\n").entries()) {
			const columns = line.replaceAll("\t", " ".repeat(TAB_COLUMNS)).length;
			if (columns > MAX_COLUMNS)
				faults.push({
					path,
					line: index + 1,
					message: `${columns} columns, at most ${MAX_COLUMNS}`,
				});
		}
	}
	if (PLAIN.test(path) && !NOT_PLAIN.test(path)) {
		for (const match of text.matchAll(ANY_BANNED)) {
			const banned = BANNED[match.slice(1).findIndex((group) => group !== undefined)]!;
			faults.push({
				path,
				line: text.slice(0, match.index).split("\n").length,
				message: `"${match[0].replaceAll(/[\s*/]+/g, " ")}": write ${banned.write}`,
			});
		}
	}
	if (path.startsWith("src/"))
		for (const match of text.matchAll(NO_SENTENCE))
			faults.push({
				path,
				line: text.slice(0, match.index).split("\n").length,
				message: `a doc comment that begins with "${match[1]}": begin with what the thing is or does`,
			});
	return faults.toSorted((a, b) => a.line - b.line);
}

/** The folder whose allowance a file counts for. */
export function folderOf(path: string): string {
	return path.startsWith("console/") ? "console" : path.split("/")[0]!;
}

/** Sentences for each folder that has more faults than it may have. */
export function overAllowance(faults: readonly Fault[], allowance: Readonly<Record<string, number>>): string[] {
	return [...Map.groupBy(faults, ({ path }) => folderOf(path))].flatMap(([folder, found]) => {
		const allowed = allowance[folder] ?? 0;
		return found.length <= allowed ? [] : [`${folder}: ${found.length} faults of text, at most ${allowed} are allowed`];
	});
}

/** Every fault of the files that git knows of or would add. */
export function repositoryFaults(): Fault[] {
	return execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
		cwd: ROOT,
		encoding: "utf8",
	})
		.split("\n")
		.filter((path) => (NARROW.test(path) || PLAIN.test(path)) && existsSync(ROOT + path))
		.flatMap((path) => textFaults(path, readFileSync(ROOT + path, "utf8")));
}

/** The allowance as it stands in the repository. */
export function readAllowance(): Record<string, number> {
	return JSON.parse(readFileSync(ALLOWANCE, "utf8"));
}

function main([mode, under = ""]: string[]): void {
	const faults = repositoryFaults();
	const allowance = readAllowance();
	const counts = new Map(
		[...Map.groupBy(faults, ({ path }) => folderOf(path))].map(([folder, found]) => [folder, found.length]),
	);
	if (mode === "--list") {
		for (const { path, line, message } of faults)
			if (path.startsWith(under)) console.log(`${path}:${line}: ${message}`);
	} else if (mode === "--count") {
		for (const [folder, count] of counts) console.log(`${folder}: ${count}`);
	} else if (mode === "--lower") {
		const lower = Object.entries(allowance)
			.map(([folder, allowed]) => [folder, Math.min(allowed, counts.get(folder) ?? 0)] as const)
			.filter(([, allowed]) => allowed > 0);
		writeFileSync(ALLOWANCE, `${JSON.stringify(Object.fromEntries(lower), undefined, "\t")}\n`);
	} else {
		const over = overAllowance(faults, allowance);
		if (over.length === 0) return;
		for (const sentence of over) console.error(sentence);
		console.error("`node scripts/check-text.ts --list PATH` names each place.");
		process.exitCode = 1;
	}
}

if (import.meta.main) main(process.argv.slice(2));
