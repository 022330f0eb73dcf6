/** What `sluice dev` says of a worker that ended, or that is alive without asking for jobs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { crashText, silenceText } from "./session.ts";

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

it("D36: a worker that is alive without asking for a job: what is missing, unless it loads a model", () => {
	const silence = "The worker runs and has not asked for a job within 30 s. If it is not loading a model: ";
	const python = (text: string) => silenceText({ handler: handlerWith(text), kit: false });
	expect(python("app.run()")).toBe(`${silence}handler.py never calls runpod.serverless.start.`);
	const asked = `${silence}does it call start, such as runpod.serverless.start?`;
	expect(python("runpod.serverless.start({})")).toBe(asked);
	expect(silenceText({ kit: false })).toBe(asked);
	expect(silenceText({ kit: true })).toBe(
		`${silence}does the code outside its handler end? Jobs are taken after that.`,
	);
	const server = (serverPort: number) => silenceText({ kit: true, serverPort });
	expect(server(8000)).toBe(`${silence}does the server listen on 127.0.0.1, port 8000?`);
	expect(server(0)).toBe(`${silence}does the server listen on 127.0.0.1, the port in PORT?`);
});
