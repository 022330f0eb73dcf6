import { resolve } from "node:path";
import type { Clock } from "../../../kernel/system/clock.ts";
import { runProgram } from "../../../kernel/system/run-program.ts";
import type { Env } from "../../../kernel/lib/env.ts";

export interface Credentials {
	token?: string;
	/** PEM. */
	cert?: string;
	key?: string;
}

export interface ExecConfig {
	apiVersion?: string;
	command: string;
	args?: string[] | null;
	env?: { name: string; value: string }[] | null;
	installHint?: string;
}

interface ExecCredential {
	status?: {
		token?: string;
		clientCertificateData?: string;
		clientKeyData?: string;
		expirationTimestamp?: string;
	};
}

const PLUGIN_MS = 30_000;
/** Time before the expiry at which credentials are renewed, ms. */
const EARLY_MS = 60_000;
const MAX_OUTPUT = 1024 * 1024;

/** Runs the plugin. Credentials are kept until they expire or are refused. Concurrent calls share a run. */
export function execPlugin(
	config: ExecConfig,
	q: { folder: string; clock: Clock; env: Env },
): (renew?: boolean) => Promise<Credentials> {
	let kept: { credentials: Credentials; until: number } | undefined;
	let running: Promise<Credentials> | undefined;

	async function fetchNew(): Promise<Credentials> {
		const { status } = JSON.parse(await outputOf(config, q)) as ExecCredential;
		const { token, clientCertificateData: cert, clientKeyData: key } = status ?? {};
		if (token === undefined && cert === undefined)
			throw new Error(`the credential plugin ${config.command} returned neither token nor certificate`);
		const credentials = {
			...(token !== undefined && { token }),
			...(cert !== undefined && { cert }),
			...(key !== undefined && { key }),
		};
		const expires = Date.parse(status?.expirationTimestamp ?? "");
		kept = { credentials, until: Number.isNaN(expires) ? Infinity : expires - EARLY_MS };
		return credentials;
	}

	return async (renew = false) => {
		if (!renew && kept && q.clock.wall() < kept.until) return kept.credentials;
		return await (running ??= fetchNew().finally(() => (running = undefined)));
	};
}

/** A command with a slash is relative to the kubeconfig. */
async function outputOf(
	{ command, args, env, apiVersion, installHint }: ExecConfig,
	q: { folder: string; env: Env },
): Promise<string> {
	const info = {
		apiVersion: apiVersion ?? "client.authentication.k8s.io/v1",
		kind: "ExecCredential",
		spec: { interactive: false },
	};
	const added = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
	const program = command.includes("/") ? resolve(q.folder, command) : command;
	const failed = (why: string): Error => {
		const hint = installHint === undefined ? "" : `; ${installHint.trim()}`;
		return new Error(`the credential plugin ${command} failed: ${why.trim()}${hint}`);
	};
	const { how, code, stdout, stderr } = await runProgram(program, args ?? [], {
		env: { ...q.env, ...added, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
		timeoutMs: PLUGIN_MS,
		mostBytes: MAX_OUTPUT,
	}).catch((error: Error) => {
		throw failed(error.message);
	});
	if (how === "long") throw failed("it printed more than 1 MiB");
	const said = stderr.trim().slice(-500);
	if (how === "late") throw failed(`no answer in ${PLUGIN_MS / 1000} s ${said}`);
	if (code !== 0) throw failed(`exit code ${code} ${said}`);
	return stdout;
}
