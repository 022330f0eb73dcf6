/** A running `sluice dev` in a folder of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";
import { call, folder } from "../support/service.ts";
import { type Running, start } from "./command.ts";
import { until, within } from "../support/until.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A folder with these files. */
export function room(
	{ onTestFinished }: TestContext,
	files: Record<string, string>,
): { cwd: string; write(name: string, text: string): void } {
	const place = folder();
	onTestFinished(() => place.remove());
	const write = (name: string, text: string): void => {
		mkdirSync(dirname(join(place.path, name)), { recursive: true });
		writeFileSync(join(place.path, name), text);
	};
	for (const [name, text] of Object.entries(files)) write(name, text);
	return { cwd: place.path, write };
}

export interface Session extends Running {
	url: string;
	key: string;
	endpoint: string;
	/** Waits until the output holds this, in what follows the last find. */
	says(what: RegExp): Promise<RegExpExecArray>;
	/** Ends it by a signal and returns the exit code. */
	close(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `sluice dev` and waits for its greeting. */
export async function session(test: TestContext, cwd: string, ...args: string[]): Promise<Session> {
	const running = start(test, ["dev", "--port", "0", ...args], { cwd });
	let from = 0;
	const says = async (what: RegExp): Promise<RegExpExecArray> => {
		const found = await until(`${what} in the output, which is:\n${running.stdout()}${running.stderr()}`, () =>
			what.exec(running.stdout().slice(from)),
		);
		from += found.index + found[0].length;
		return found;
	};
	const [, endpoint = ""] = await says(/Sluice dev {2}(\S+) {2}/);
	const [, url = "", key = ""] = await says(/^ {2}shell +export SLUICE_URL=(\S+) SLUICE_API_KEY=(\S+)$/m);
	return {
		...running,
		url,
		endpoint,
		key,
		says,
		async close(signal = "SIGINT") {
			running.end(signal);
			return (await within("dev to end", running.ended)).code;
		},
	};
}

/** What a job of the session gave. */
export async function result(
	{ url, endpoint, key }: Pick<Session, "url" | "endpoint" | "key">,
	input: object,
): Promise<any> {
	return (await call(url, `/v2/${endpoint}/runsync`, { key, body: { input } })).json;
}

export const HELLO = "export default async (job) => ({ hello: job.input.name, pid: process.pid });\n";
