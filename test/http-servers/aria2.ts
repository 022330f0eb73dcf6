/** aria2, a program that downloads files and is asked by JSON-RPC, as an HTTP worker. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS } from "./programs.ts";

const [USER, PASSWORD] = ["sluice", "its-own-password"];

/** Writes a configuration whose downloads are in `folder`, and returns the command. */
export function aria2Command(folder: string): string[] {
	const downloads = join(folder, "downloads");
	mkdirSync(downloads, { recursive: true });
	const config = join(folder, "aria2.conf");
	const options = {
		"enable-rpc": true,
		// aria2 has its token in the body, where the mapping has no variables.
		"rpc-user": USER,
		"rpc-passwd": PASSWORD,
		dir: downloads,
		"max-concurrent-downloads": 8,
		// It forgets older ones.
		"max-download-result": 1000,
		"max-tries": 1,
		"allow-overwrite": true,
		"file-allocation": "none",
		"disable-ipv6": true,
	};
	writeFileSync(
		config,
		Object.entries(options)
			.map(([name, value]) => `${name}=${value}\n`)
			.join(""),
	);
	return [PROGRAMS.aria2, `--conf-path=${config}`, "--rpc-listen-port={port}"];
}

/** Variables of the endpoint. */
export const ARIA2_ENV = { LOGIN: Buffer.from(`${USER}:${PASSWORD}`).toString("base64") };

const rpc = (method: string, ...params: unknown[]): object => ({
	method: "POST",
	path: "/jsonrpc",
	body: { jsonrpc: "2.0", id: "{job.id}", method, params },
});

/** Mapping of jobs `{url}`, whose output is aria2's last word on the download. */
export const DOWNLOADS = {
	ready: { path: "/jsonrpc?method=aria2.getVersion&id=ready", everyMs: 50 },
	request: {
		...rpc("aria2.addUri", ["{input.url}"], { out: "{job.uuid}-{job.run}" }),
		headers: { authorization: "Basic {env.LOGIN}" },
	},
	async: {
		...rpc("aria2.tellStatus", "{submit.result}"),
		everyMs: 50,
		state: "/result/status",
		done: ["complete"],
		failed: ["error"],
		cancelled: ["removed"],
		// After its restart it knows no download.
		missing: [400],
	},
	failed: [{ at: "/result/status", in: ["error"], message: "/result/errorMessage" }],
	answer: { at: "/result" },
	cancel: rpc("aria2.remove", "{submit.result}"),
};
