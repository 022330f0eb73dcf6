/** A place that cannot have the store: the start fails at once and says why, and a signal ends it. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { folder, KEY } from "../support/service.ts";
import { within } from "../support/until.ts";

const SLUICE = fileURLToPath(new URL("../../bin/sluice.js", import.meta.url));

function serve(cwd: string, ...args: string[]) {
	const child = spawn(process.execPath, [SLUICE, "serve", "--port", "0", ...args], {
		cwd,
		env: { ...process.env, SLUICE_API_KEY: KEY },
		stdio: ["ignore", "ignore", "pipe"],
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	let stderr = "";
	child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
	return { child, closed: once(child, "close"), stderr: () => stderr };
}

const NEEDED = (kind: string): string => `is a ${kind}; a folder is needed there`;

it.each<[string, (path: string) => string, string]>([
	["a file in the place of its folder", (path) => (writeFileSync(join(path, "data"), ""), "data/s.db"), NEEDED("file")],
	["a folder that the system refuses to make", () => "/proc/none/s.db", "mkdir '/proc/none'"],
	["a folder that takes no files", () => "/proc/s.db", "/proc/s.db cannot be written: unable to open"],
	[
		"a FIFO in the place of its file",
		(path) => (execFileSync("mkfifo", [join(path, "s.db")]), "s.db"),
		"is a FIFO; a file is needed there",
	],
	[
		"a FIFO in the place of its key",
		(path) => (execFileSync("mkfifo", [join(path, "s.db.secret")]), "s.db"),
		"is a FIFO; a file is needed there",
	],
	[
		"a file in the place of its payload files",
		(path) => (writeFileSync(join(path, "s.db.payloads"), ""), "s.db"),
		NEEDED("file"),
	],
])("D34: a start with %s fails and says why", async (_, prepare, sentence) => {
	const place = folder();
	onTestFinished(place.remove);
	const { closed, stderr } = serve(place.path, "--store", `sqlite:${prepare(place.path)}`);
	const [code] = (await within("the end", closed, 20_000)) as [number];
	expect(stderr()).toContain(`The service could not start: `);
	expect(stderr()).toContain(sentence);
	expect(code).toBe(1);
});

it("D34: a signal ends a start that waits for the system", async () => {
	const place = folder();
	onTestFinished(place.remove);
	mkdirSync(join(place.path, "data"));
	execFileSync("mkfifo", [join(place.path, "pipe")]);
	const tls = ["--tls-cert", "pipe", "--tls-key", "pipe", "--store", "sqlite:data/s.db"];
	const { child, closed } = serve(place.path, ...tls);
	// It waits for a writer of the pipe.
	execFileSync("sh", ["-c", `until [ -e data/s.db-wal ]; do sleep 0.1; done`], { cwd: place.path, timeout: 20_000 });
	child.kill("SIGTERM");
	const [, signal] = (await within("the end", closed, 20_000)) as [number, string];
	expect(signal).toBe("SIGTERM");
});
