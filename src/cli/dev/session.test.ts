/** What `sluice dev` says of a worker that ended. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { crashText } from "./session.ts";

const ENDED = { how: "exited with code 0", polled: false, requeued: 0, spoke: false };

function handlerWith(text: string): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "handler.py"), text);
	return join(folder, "handler.py");
}

it("D36: a handler that never calls start is named", () => {
	const handler = handlerWith("import runpod\n\ndef handler(job):\n    return job\n");
	expect(crashText(ENDED, { handler })).toBe(
		"The worker exited with code 0: handler.py never calls runpod.serverless.start.",
	);
});

it("D36: one that calls it, in either way, is not, nor one that asked for a job", () => {
	for (const text of ["runpod.serverless.start({})", "from runpod.serverless import start\nstart ({})"])
		expect(crashText(ENDED, { handler: handlerWith(text) })).toContain("before it asked for a job");
	expect(crashText({ ...ENDED, polled: true }, { handler: handlerWith("") })).not.toContain("never calls");
	expect(crashText(ENDED, { handler: undefined })).toContain("it printed nothing");
});
