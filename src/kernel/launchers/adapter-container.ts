/**
 * What launchers share that run a worker with an adapter as two containers (decisions 0061 and 0062): that of the
 * adapter takes jobs and has the variables that give access to the service, that of the server has none of them.
 */
import { MAPPING_VARIABLE, withoutWorkerEnv } from "../core/workers/worker-env.ts";
import type { WorkerAdapter } from "./launcher.ts";

type Variables = Readonly<Record<string, string>>;

/** Exit code of a worker whose server ended without an error, although it should run (sysexits, EX_SOFTWARE). */
export const ENDED_ALONE = 70;

/**
 * Time of an adapter for the reports of jobs that have ended, once its server has, ms. As long as the adapter itself
 * takes for them where it has started the server.
 */
export const REPORT_MS = 5000;

/**
 * Variables by which Node and the loader find files, and where temporary files are. The endpoint's are for the image of
 * its server.
 */
const OF_THE_IMAGE = /^(?:PATH|TMPDIR|TMP|TEMP|NODE_.*|LD_.*)$/;

/** The port of the server. Throws an Error for a mapping that no server in another container can have. */
export function serverPort({ port }: WorkerAdapter): number {
	if (port !== undefined && port > 0) return port;
	const given = port === undefined ? "http.socket cannot be reached from" : "http.port: 0 is not possible in";
	throw new Error(`${given} another container: write the port on which the server listens, such as http.port: 8000`);
}

/** Settings of the server's container: `{port}` in its command and entrypoint is the port. */
export function serverSettings<S extends { command?: string[]; entrypoint?: string[] }>(settings: S, port: number): S {
	const { command, entrypoint } = settings;
	const filled = (words: readonly string[]): string[] => words.map((word) => word.replaceAll("{port}", String(port)));
	return {
		...settings,
		...(command && { command: filled(command) }),
		...(entrypoint && { entrypoint: filled(entrypoint) }),
	};
}

/** The endpoint's variables, with PORT. */
export function serverEnv(env: Variables, port: number): Record<string, string> {
	return { PORT: String(port), ...withoutWorkerEnv(env) };
}

/** The worker's variables; those of the mapping have `url`, where the server is, in place of its port. */
export function adapterEnv(env: Variables, { mapping }: WorkerAdapter, url: string): Record<string, string> {
	const inherited = Object.entries(env).filter(([name]) => !OF_THE_IMAGE.test(name));
	const { port: _, ...rest } = JSON.parse(mapping) as Record<string, unknown>;
	return { ...Object.fromEntries(inherited), [MAPPING_VARIABLE]: JSON.stringify({ ...rest, url }) };
}
