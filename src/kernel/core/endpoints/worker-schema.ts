/** Schemas of what launched workers do before their first job, and while they are idle (D28). */
import { DAY_MS, duration } from "../durations.ts";
import type { Schema } from "../../lib/schema.ts";

export const WARMUP: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		input: {
			description:
				"Input of a warm-up job that each launched worker runs first, so that no client's job waits for loading. " +
				"A worker whose warm-up fails is replaced. The input is not secret.",
			examples: [{ prompt: "hello", max_tokens: 1 }],
		},
	},
	description: "Warm-up job that a launched worker runs before it counts as ready. Without input there is none.",
	"x-message": "must be an object: write { input: { prompt: hello } }.",
};

/** A call of vLLM's server, as an example. */
const vllmCall = (path: string): string[] => ["curl", "-fsS", "-X", "POST", `http://127.0.0.1:8000/${path}`];

function sleepCommand(description: string, example: readonly string[]): Schema {
	return {
		type: "array",
		minItems: 1,
		items: { type: "string", "x-message": "must be text; put quotes around a number." },
		description,
		examples: [example],
		"x-message": `must be a list of the command and its arguments, such as [${example.join(", ")}].`,
	};
}

export const SLEEP: Schema = {
	type: "object",
	additionalProperties: false,
	// Which are required depends on other settings. With this member the console shows all as one field.
	required: [],
	properties: {
		command: sleepCommand(
			"Command that makes an idle worker release its GPUs, and that exits when they are released: program and " +
				"arguments, without a shell. It runs where the worker runs, with the worker's variables, and with " +
				"SLUICE_WORKER_PID if the launcher is process. Required, but with http.sleep by default [sluice-http, sleep].",
			vllmCall("sleep?level=1"),
		),
		wakeCommand: sleepCommand(
			"Command that makes a sleeping worker use its GPUs again, and that exits when the worker can take jobs. " +
				"Required, but with http.sleep by default [sluice-http, wake].",
			vllmCall("wake_up"),
		),
		timeoutMs: duration("ms", [1000, 600_000], {
			example: "1m",
			default: 60_000,
			description: "How long each command may take. A worker whose command fails or takes longer is stopped.",
		}),
		maxMs: duration("ms", [1000, 30 * DAY_MS], {
			example: "12h",
			default: DAY_MS,
			description: "How long a worker sleeps before it is stopped.",
		}),
	},
	description:
		"Workers that would be stopped because they are idle, to make room or after idleTimeout, sleep instead: they " +
		"release their GPUs, stay in memory, count for workersMax, and are woken for a job. Only with the launchers " +
		"process, and docker without hosts, and with gpusPerWorker or gpuMemoryGb. Default: they are stopped.",
	examples: [{ command: vllmCall("sleep?level=1"), wakeCommand: vllmCall("wake_up") }],
	"x-message": "must be an object with command and wakeCommand.",
};
