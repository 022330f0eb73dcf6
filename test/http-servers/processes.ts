/** The two processes of an HTTP worker of the launcher process. Linux only. */
import { processTable } from "../../src/kernel/launchers/process/process-table.ts";

export interface ServerProcess {
	pid: number;
	port: number;
	/** `NAME=value`. */
	env: readonly string[];
}

/** The server of a worker with this variable, written as `NAME=value`. It leads its group and has its port in PORT. */
export function serverProcess(variable: string): ServerProcess | undefined {
	for (const { pid, env } of leadersWith(variable)) {
		const port = env.find((each) => each.startsWith("PORT="))?.slice("PORT=".length);
		if (port !== undefined) return { pid, env, port: Number(port) };
	}
	return undefined;
}

/** The id of the adapter's process. Only it has the mapping. */
export function adapterProcess(variable: string): number | undefined {
	return leadersWith(variable).find(({ env }) => env.some((each) => each.startsWith("SLUICE_HTTP=")))?.pid;
}

function leadersWith(variable: string): { pid: number; env: string[] }[] {
	return processTable
		.all()
		.filter(({ pid, pgid, ended }) => pid === pgid && !ended)
		.map(({ pid }) => ({ pid, env: processTable.environment(pid) }))
		.filter(({ env }) => env.includes(variable));
}
