/** Changes of files in a folder, from a trace of system calls by `strace -f -y -xx`. */

/** One step, in the order of the calls. */
export type Step =
	| { kind: "write"; file: string; at: number; data: Buffer }
	| { kind: "truncate"; file: string; size: number }
	/** All earlier writes to the file are durable; of a folder: its entries. */
	| { kind: "flush"; file: string }
	| { kind: "create"; file: string }
	| { kind: "remove"; file: string }
	| { kind: "rename"; file: string; to: string }
	/** A line on stdout. */
	| { kind: "say"; text: string };

/** The calls to trace. */
export const CALLS = [
	..."write pwrite64 pwritev ftruncate fallocate fsync fdatasync".split(" "),
	..."unlink unlinkat rename renameat renameat2 openat lseek".split(" "),
];

function bytes(text: string): Buffer {
	return Buffer.from(text.replaceAll("\\x", ""), "hex");
}

/** `\x2f` and so on, or as it is. */
function plain(text: string): string {
	return text.includes("\\x") ? bytes(text).toString() : text;
}

const STRING = /"((?:\\x[0-9a-f]{2})*)"/g;
const DESCRIPTOR = /^(\d+)<([^>]*)>/;

/**
 * A call without its answer begins where its line stands. A flush counts from its answer on; other
 * calls from their beginning, since they may have taken effect.
 */
export function stepsOf(trace: string, folder: string): Step[] {
	const steps: Step[] = [];
	const pending = new Map<string, string>();
	const known = new Set<string>();
	/** `write` goes to the end: nothing that is traced reads or seeks in what it writes so. */
	const sizes = new Map<string, number>();
	const inFolder = (file: string): boolean => file === folder || file.startsWith(`${folder}/`);

	function write(file: string, at: number, data: Buffer): void {
		sizes.set(file, Math.max(sizes.get(file) ?? 0, at + data.length));
		steps.push({ kind: "write", file, at, data });
	}

	for (const line of trace.split("\n")) {
		const match = /^(\d+)\s+(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$/.exec(line);
		if (!match) continue;
		const [, pid, resumed, called, rest = ""] = match;
		if (resumed !== undefined) {
			const begun = pending.get(`${pid} ${resumed}`);
			pending.delete(`${pid} ${resumed}`);
			if (begun && (resumed === "fsync" || resumed === "fdatasync") && line.endsWith(" = 0"))
				steps.push({ kind: "flush", file: begun });
			continue;
		}
		const unfinished = rest.includes("<unfinished ...>");
		const found = DESCRIPTOR.exec(rest);
		const file = found ? plain(found[2]!) : "";
		const strings = [...rest.matchAll(STRING)].map((each) => each[1]!);
		if (!unfinished && / = -1 /.test(rest)) continue;
		switch (called) {
			case "write":
				if (found?.[1] === "1") steps.push({ kind: "say", text: bytes(strings[0]!).toString() });
				else if (inFolder(file)) write(file, sizes.get(file) ?? 0, bytes(strings[0]!));
				break;
			case "pwrite64": {
				if (!inFolder(file)) break;
				const at = Number(/, \d+, (\d+)(?:\)| <)/.exec(rest)![1]);
				write(file, at, bytes(strings[0]!));
				break;
			}
			case "ftruncate":
				if (!inFolder(file)) break;
				sizes.set(file, Number(/>, (\d+)/.exec(rest)![1]));
				steps.push({ kind: "truncate", file, size: sizes.get(file)! });
				break;
			case "fsync":
			case "fdatasync":
				if (!inFolder(file)) break;
				if (unfinished) pending.set(`${pid} ${called}`, file);
				else steps.push({ kind: "flush", file });
				break;
			case "openat": {
				const path = plain(strings[0] ?? "");
				if (!inFolder(path) || !rest.includes("O_CREAT") || known.has(path)) break;
				known.add(path);
				steps.push({ kind: "create", file: path });
				break;
			}
			case "unlink":
			case "unlinkat": {
				const path = plain(strings[0]!);
				if (!inFolder(path)) break;
				known.delete(path);
				sizes.delete(path);
				steps.push({ kind: "remove", file: path });
				break;
			}
			case "rename":
			case "renameat":
			case "renameat2": {
				const [from, to] = strings.map(plain) as [string, string];
				if (!inFolder(from)) break;
				known.delete(from);
				known.add(to);
				sizes.set(to, sizes.get(from) ?? 0);
				steps.push({ kind: "rename", file: from, to });
				break;
			}
			case "pwritev":
			case "fallocate":
				if (inFolder(file)) throw new Error(`not understood: ${line.slice(0, 200)}`);
				break;
			default:
		}
	}
	return steps;
}
