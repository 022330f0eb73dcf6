/** Schemas of what launched workers do before their first job, and while they are idle (D28). */
import { DAY_MS, duration } from "../durations.ts";
import type { Schema } from "../../lib/schema.ts";

export const WARMUP: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		input: {
			description:
				"Input of a job of its own that each launched worker runs first, so that no job waits for what the first one " +
				"loads. A worker that fails at it is replaced. Not secret.",
			examples: [{ prompt: "hello", max_tokens: 1 }],
		},
	},
	description: "What a launched worker runs before it counts as ready. Without input: nothing.",
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
	required: ["command", "wakeCommand"],
	properties: {
		command: sleepCommand(
			"Makes an idle worker release its GPUs, and returns when it has: program and arguments, without a shell. " +
				"It runs where the worker runs, with the worker's variables, and SLUICE_WORKER_PID with launcher process.",
			vllmCall("sleep?level=1"),
		),
		wakeCommand: sleepCommand("Makes it use them again, and returns when it can take jobs.", vllmCall("wake_up")),
		timeoutMs: duration("ms", [1000, 600_000], {
			example: "1m",
			default: 60_000,
			description: "How long each of them may take; a worker whose command fails or takes longer is stopped.",
		}),
		maxMs: duration("ms", [1000, 30 * DAY_MS], {
			example: "12h",
			default: DAY_MS,
			description: "How long a worker sleeps before it is stopped.",
		}),
	},
	description:
		"Workers that would be stopped because they are idle, to make room or after idleTimeout, sleep instead: they " +
		"give up their GPUs, stay in memory, count for workersMax, and are woken for a job. Launchers process, and " +
		"docker without hosts, with gpusPerWorker or gpuMemoryGb only. Default: they are stopped.",
	examples: [{ command: vllmCall("sleep?level=1"), wakeCommand: vllmCall("wake_up") }],
	"x-message": "must be an object with command and wakeCommand.",
};
