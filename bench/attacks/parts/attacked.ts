/** What the attacks share: a service in a folder of its own, calls that notice a cut, figures as JSON. */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machine } from "../../machine.ts";
import { end, KEY, startService } from "../../processes.ts";
import { endAllIn } from "./launched.ts";

export interface Attacked {
	folder: string;
	url: string;
	child: ChildProcess;
	/** `status` 0: the connection was cut, or there was no answer within `timeoutMs`. */
	call(path: string, q?: Call): Promise<{ status: number; json: any; ms: number }>;
	/** A new key with this scope. */
	keyOf(scope: "read" | "write"): Promise<string>;
	/** Ends it and starts it again on its store and port, which its workers call. */
	restart(signal: NodeJS.Signals): Promise<void>;
}

interface Call {
	body?: string;
	method?: string;
	key?: string;
	timeoutMs?: number;
}

type Options = Parameters<typeof startService>[1];

/** Runs an attack against a service of its own, which is ended in any case. */
export async function attacked<T>(
	options: Options | ((folder: string) => Options),
	attack: (service: Attacked) => Promise<T>,
): Promise<T> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-attack-"));
	const given = typeof options === "function" ? options(folder) : options;
	// Certificates of attacks are their own; everything is on loopback.
	process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
	let running = await startService(folder, given);
	const service: Attacked = {
		folder,
		...running,
		async call(path, { body, method = body === undefined ? "GET" : "POST", key = KEY, timeoutMs = 60_000 } = {}) {
			const began = performance.now();
			const result = (status: number, json?: unknown) => ({ status, json, ms: Math.round(performance.now() - began) });
			try {
				const answer = await fetch(`${service.url}${path}`, {
					method,
					headers: key === "" ? {} : { authorization: `Bearer ${key}` },
					...(body !== undefined && { body }),
					signal: AbortSignal.timeout(timeoutMs),
				});
				const text = await answer.text();
				return result(answer.status, text.startsWith("{") ? JSON.parse(text) : undefined);
			} catch {
				return result(0);
			}
		},
		async keyOf(scope) {
			const body = JSON.stringify({ name: scope, scopes: [scope] });
			return (await service.call("/v1/keys", { body })).json.key;
		},
		async restart(signal) {
			await end(service.child, signal);
			running = await startService(folder, { ...given, port: Number(new URL(service.url).port) });
			Object.assign(service, running);
		},
	};
	try {
		return await attack(service);
	} finally {
		await end(service.child, "SIGKILL");
		endAllIn(folder);
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Prints the figures of an attack. */
export function print(bench: string, figures: object): void {
	process.stdout.write(`${JSON.stringify({ bench: `attacks/${bench}`, ...machine(), ...figures }, null, 2)}\n`);
}

/** Resolves after this time. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How many times each value occurs. */
export function counts(values: readonly (number | string)[]): Record<string, number> {
	const found: Record<string, number> = {};
	for (const value of values) found[value] = (found[value] ?? 0) + 1;
	return found;
}
