/** Passwords and keys from stdin or asked for: command lines are visible to other users. */
import { createInterface } from "node:readline/promises";
import { text as textOf } from "node:stream/consumers";
import { Writable } from "node:stream";

/** Reads a secret without the line end; asked for on a terminal, without an echo. */
export async function readSecret(question: string): Promise<string> {
	if (!process.stdin.isTTY) return (await textOf(process.stdin)).replace(/\r?\n$/, "");
	const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
	const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
	process.stderr.write(question);
	try {
		return await terminal.question("");
	} finally {
		terminal.close();
		process.stderr.write("\n");
	}
}
