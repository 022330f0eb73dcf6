import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { readCertificate, type TlsFiles } from "../../kernel/system/certificate.ts";
import { type Finding, ok, problem, warning } from "../../kernel/core/finding.ts";
import { openToOthers } from "../../kernel/system/durable-file.ts";
import type { EndpointToCheck } from "../../kernel/launchers/definition.ts";
import { LAUNCHERS } from "../../kernel/launchers/index.ts";
import type { Env } from "../../kernel/lib/env.ts";

const NODE_NEEDED = 24;
const DAY_MS = 86_400_000;
/** Certificates are renewed weeks before their end, so later renewal has failed. */
const SOON_DAYS = 14;

export function nodeFinding(version: string): Finding {
	return Number(version.split(".")[0]) >= NODE_NEEDED
		? ok("node", `Node ${version}.`)
		: problem("node", `Node ${version} is too old.`, `Install Node ${NODE_NEEDED} or newer.`);
}

export function storeFinding(path: string): Finding {
	let folder = dirname(path);
	while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
	try {
		accessSync(folder, constants.W_OK);
		if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
		if (existsSync(path)) accessSync(path, constants.W_OK | constants.R_OK);
	} catch (error) {
		const fix = "Give this user the right to write there, or choose another place with --store sqlite:PATH.";
		return problem("store", `${path} cannot be written: ${(error as Error).message}.`, fix);
	}
	return ok("store", `${path} can be written.`);
}

export function folderFindings(path: string): Finding[] {
	const open = openToOthers(path);
	if (open === undefined) return [];
	const fix = `chmod 700 ${path}, or a folder of the service's own.`;
	return open === "write"
		? [problem("folder", `Other users can replace files in ${path}.`, fix)]
		: [warning("folder", `Other users can list ${path}; they cannot read its files.`, fix)];
}

export async function portFinding({ host, port }: { host: string; port: number }): Promise<Finding> {
	const server = createServer();
	const code = await new Promise<string | undefined>((done) => {
		server.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
		server.listen(port, host, () => server.close(() => done(undefined)));
	});
	if (code === undefined) return ok("port", `Port ${port} on ${host} is free.`);
	if (code !== "EADDRINUSE")
		return problem(
			"port",
			`Listening on ${host}:${port} is not possible: ${code}.`,
			"Choose another --host or --port.",
		);
	const fix = "End that program, or start the service with another --port.";
	return problem("port", `Port ${port} on ${host} is in use by another program.`, fix);
}

export async function launcherFindings(
	endpoints: readonly EndpointToCheck[],
	env: Env,
	fromFile: Readonly<Record<string, unknown>> = {},
): Promise<Finding[]> {
	const found = LAUNCHERS.map(async ({ type, doctor }) => {
		const own = endpoints.filter(({ launcher }) => launcher.type === type);
		return (own.length > 0 && (await doctor?.(own, env, fromFile[type]))) || [];
	});
	return (await Promise.all(found)).flat();
}

export async function certificateFinding(files: TlsFiles, now: number): Promise<Finding> {
	try {
		const days = Math.floor(((await readCertificate(files, now)).expiresAt - now) / DAY_MS);
		const message = `The certificate in ${files.cert} is valid for ${days} more days.`;
		return days < SOON_DAYS
			? warning("tls", message, "Renew it; the service reads the new files within a minute.")
			: ok("tls", message);
	} catch (error) {
		const fix = "Correct SLUICE_TLS_CERT and SLUICE_TLS_KEY (tls.cert and tls.key in sluice.yaml).";
		return problem("tls", (error as Error).message, fix);
	}
}
