/** The calls of workers that wait for a job, all made by this process. */
import { Agent, get } from "node:http";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Pause after a call that was not answered, ms, as the SDK has it. */
const RETRY_MS = 1000;

/** Makes a call; resolves at the end of the answer, whether there was one. */
function call(url: string, authorization: string, agent: Agent): Promise<boolean> {
	return new Promise((resolve) => {
		get(url, { agent, headers: { authorization } }, (res) => res.resume().on("close", () => resolve(true))).on(
			"error",
			() => resolve(false),
		);
	});
}

/**
 * Begins the calls of a worker with these variables, as the SDK makes them: a take and a stop poll
 * held open, a ping every interval, each over a connection that it keeps.
 */
export function startIdleWorker(env: Record<string, string>, over: () => boolean): void {
	const {
		RUNPOD_POD_ID: id = "",
		RUNPOD_AI_API_KEY: key = "",
		RUNPOD_WEBHOOK_GET_JOB: take = "",
		RUNPOD_WEBHOOK_PING: ping = "",
	} = env;
	const again = async (url: string, pauseMs: number): Promise<void> => {
		const agent = new Agent({ keepAlive: true });
		// Spread over the pause, as workers started at different times are.
		if (pauseMs > 0) await sleep(Math.random() * pauseMs);
		while (!over()) {
			const answered = await call(url, key, agent);
			if (pauseMs > 0) await sleep(pauseMs);
			else if (!answered) await sleep(RETRY_MS);
		}
		agent.destroy();
	};
	const own = (url: string): string => url.replace("$RUNPOD_POD_ID", id).replace("$ID", id);
	void again(`${own(take)}&job_in_progress=0`, 0);
	void again(own(take).replace("/job-take/", "/job-stop/"), 0);
	void again(`${own(ping)}&runpod_version=1.12.0`, Number(env["RUNPOD_PING_INTERVAL"]));
}
