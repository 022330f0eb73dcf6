/** A worker that takes jobs from the service and sends them to an HTTP server beside it. */
import { type Clock, systemClock } from "../clock.ts";
import { createLog, type Log } from "../log.ts";
import { readLogSettings } from "../settings.ts";
import { type Environment, runWorker } from "../worker.ts";
import { connect, type Server, serverAt } from "./exchange/connection.ts";
import { type JobEnd, withJobEnds } from "./job/job-end.ts";
import { createJobHandler } from "./job/job-handler.ts";
import { pauseAfterReturns } from "./job/return-pause.ts";
import { hideCredentials } from "./mapping/credentials.ts";
import type { Mapping, Place } from "./mapping/mapping.ts";
import { fillHeaders } from "./mapping/template.ts";
import { createReadiness } from "./server/readiness.ts";
import { serverOfJobs } from "./server/server-end.ts";
import { freePort, startServer } from "./server/server-process.ts";
import { workerFiles } from "./server/worker-files.ts";

export interface AdapterOptions extends Omit<Environment, "fail"> {
	mapping: Mapping;
	/** Program and arguments of the server, which becomes a child. Empty: the server runs already. */
	command: readonly string[];
	/** Whether a launcher started the worker and may start another: it ends with its server then. */
	isLaunched: boolean;
	env: Readonly<Record<string, string | undefined>>;
	/** Random ids, such as boundaries of forms. */
	randomId: () => string;
	/** Stops the worker gracefully, like SIGTERM. */
	signal?: AbortSignal;
	/** Where temporary files are. Default: that of the system. */
	folder?: string;
	/** Memory of this process, resident. */
	memoryBytes: () => number;
	/**
	 * Time for the end of a server that no longer answers, ms. Until then the loss of its job is not reported: the
	 * server's exit code, which the adapter sees of a child and the launcher of a container, says more. Default 1000.
	 */
	exitMs?: number;
	/** Called when the server is ready, at first and after it was not, in place of a line of the log. */
	onReady?: () => void;
	/** Called when a job has ended on the server, before its report. */
	onJob?: (end: JobEnd) => void;
}

/** While this process has more, bytes, it takes no job beside those that it runs. */
const MAX_MEMORY = 256 * 1_048_576;

/** Exit code of a worker whose server is lost (sysexits, EX_UNAVAILABLE). */
const LOST = 69;
/** Exit code after the third request to stop: as of SIGTERM. */
const STOPPED = 143;
/** Time for reports of jobs that have ended, before the worker ends with its server, ms. */
const REPORT_MS = 5000;
/** Default of {@link AdapterOptions.exitMs}. */
const EXIT_MS = 1000;
/** Time in which another program on the server's port accepts a connection, ms. */
const TAKEN_MS = 1000;
/** Exit code in place of a server in another container that must be ended: as of SIGKILL. */
const KILLED = 137;

/**
 * Resolves with the exit code of the worker, which must end then: after a stop that finished all jobs, or when the
 * server has ended or was lost. The jobs on it count as lost then, as those of any worker that ends with jobs. Rejects
 * with a sentence if another program listens where the command's server would.
 */
export async function runAdapter(options: AdapterOptions): Promise<number> {
	const { mapping, command, isLaunched, env, clock, write, folder, memoryBytes, exitMs = EXIT_MS, onJob } = options;
	const hide = hideCredentials(mapping, env);
	const writeLine = createLog(readLogSettings(env), write);
	const log: Log = (level, message, jobId) => writeLine(level, hide(message), jobId);
	const files = workerFiles(env["RUNPOD_POD_ID"], folder);
	// An earlier worker of this name may have ended while its server slept.
	files.remove();
	const given = "port" in mapping.place ? mapping.place.port : undefined;
	if (given === 0 && command.length === 0) throw new Error("http.port: 0 needs a command: write the server's port.");
	const port = given === 0 ? await freePort() : given;
	if (given === 0 && port !== undefined && mapping.sleep) files.writePort(port);
	const server = serverAt(mapping.place, port);

	const fatal = Promise.withResolvers<number>();
	const stopping = new AbortController();
	/** Stops the kit when the server has ended or was lost. */
	const leaving = new AbortController();
	let stops = 0;
	/** The end of a job's handler, whose report follows. */
	let jobEndedAt: number | undefined;
	let isEndingServer = false;
	let isServing = false;
	const stop = (): void => {
		stops += 1;
		// While it serves, the kit acts on the same signal.
		if (!isServing) stopping.abort();
		if (stops === 3) fatal.resolve(STOPPED);
	};
	const ignoreStops = onStop(options.signal, stop);

	if (command.length > 0 && given !== 0) await refuseTaken(mapping.place, server, clock);
	const child = command.length === 0 ? undefined : startServer(command, { env, port, log });
	let hasEnded = false;
	void child?.ended.then(() => (hasEnded = true));
	let pause = new AbortController();
	const readiness = createReadiness({
		server,
		ready: mapping.ready,
		concurrency: mapping.concurrency,
		headers: fillHeaders(mapping.credentials, { env }),
		clock,
		log,
		isAsleep: () => files.isAsleep(),
		hasEnded: () => hasEnded,
		hide,
		onReady: options.onReady,
		onLost(reason) {
			log("ERROR", `The server was not ready for ${mapping.ready.lostAfterMs} ms: ${reason}.`);
			if (isLaunched) fatal.resolve(LOST);
			else pause.abort();
		},
	});
	const ofJobs = serverOfJobs({
		...{ readiness, child, isLaunched, exitMs, clock, log },
		isStopping: () => stops > 0,
		lose: () => fatal.resolve(LOST),
		endWorker: () => fatal.resolve(KILLED),
		onJobEnd: () => void (jobEndedAt = clock.now()),
	});
	const serverHandler = createJobHandler({ ...options, ...ofJobs, server, port });
	const pausing = pauseAfterReturns(serverHandler, clock);
	const jobHandler = pausing.handler;
	const handler = onJob ? withJobEnds(jobHandler, { clock, hide, onJob }) : jobHandler;

	/** Returns after a stop. A worker that no launcher started waits for a lost server, and takes jobs again. */
	async function serve(): Promise<number> {
		let code = 0;
		while (stops === 0) {
			await readiness.untilReady(stopping.signal);
			if (stops > 0) break;
			pause = new AbortController();
			await runWorker(
				{
					handler,
					async concurrency() {
						// The kit acts on signals from its first call on.
						isServing = true;
						if (!pausing.isOver) return 0;
						if (readiness.open > 0 && memoryBytes() > MAX_MEMORY) return 0;
						return (await readiness.mayTake()) ? mapping.concurrency : 0;
					},
					env,
					signal: AbortSignal.any([pause, stopping, leaving, options].flatMap(({ signal }) => signal ?? [])),
				},
				{ ...options, fail: () => void (code = 1) },
			);
			isServing = false;
			if (!pause.signal.aborted) break;
		}
		isEndingServer = true;
		await child?.stop();
		return code;
	}

	/** Stops the kit, and waits until a job that has just ended is reported. Other jobs may never end. */
	async function leave(served: Promise<unknown>): Promise<void> {
		if (!isServing || jobEndedAt === undefined) return;
		const left = jobEndedAt + REPORT_MS - clock.now();
		if (left <= 0) return;
		// The kit aborts its reports at the second request to stop.
		if (stops === 0) leaving.abort();
		await Promise.race([served, clock.sleep(left)]);
	}

	try {
		const served = serve();
		// The code of a test input counts, not that of its server, which is ended then.
		void child?.ended.then((code) => void (isEndingServer || fatal.resolve(code)));
		const ended = await Promise.race([served.then(() => "served" as const), fatal.promise]);
		if (ended === "served") return await served;
		if (stops < 3) await leave(served.catch(() => {}));
		return ended;
	} finally {
		ignoreStops();
		files.remove();
	}
}

/** Calls `stop` at each request to stop. Returns what ends that. */
function onStop(signal: AbortSignal | undefined, stop: () => void): () => void {
	process.on("SIGTERM", stop);
	process.on("SIGINT", stop);
	signal?.addEventListener("abort", stop);
	return () => {
		signal?.removeEventListener("abort", stop);
		process.off("SIGTERM", stop);
		process.off("SIGINT", stop);
	};
}

/** Another program's server at this place would get the jobs, and the credentials of the mapping. */
async function refuseTaken(place: Place, server: Server, clock: Clock): Promise<void> {
	if ("url" in place) return;
	const socket = await connect(server, { connectMs: TAKEN_MS, clock }).catch(() => undefined);
	if (!socket) return;
	socket.destroy();
	const [where, instead] =
		"port" in place
			? [`port ${place.port}`, "write http.port: 0, for a free one, and {port} in the command"]
			: [place.socket, "write another http.socket"];
	throw new Error(`Error: another program listens on ${where}, which the command's server needs: ${instead}.`);
}

/** Clock, randomness, memory and standard output of this process. */
export function processEnvironment(): Pick<AdapterOptions, "clock" | "random" | "cwd" | "write" | "memoryBytes"> {
	return {
		clock: systemClock,
		random: Math.random,
		cwd: process.cwd(),
		write: (line) => void process.stdout.write(line),
		memoryBytes: () => process.memoryUsage.rss(),
	};
}
