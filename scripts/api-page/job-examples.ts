/** Examples of the APIs of clients and of workers, and what the others share with them. */

export const AT = "2026-01-31T12:00:00.000Z";
export const JOB_ID = "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77";
export const WORKER = "hello-1a2b3c";

export const JOB = {
	id: JOB_ID,
	status: "COMPLETED",
	delayTime: 12,
	executionTime: 340,
	workerId: WORKER,
	output: { greeting: "hello" },
};

export interface Example {
	body?: unknown;
	answer?: unknown;
}

export const JOB_EXAMPLES = {
	run: { body: { input: { prompt: "hello" } }, answer: { id: JOB_ID, status: "IN_QUEUE" } },
	runsync: { body: { input: { prompt: "hello" } }, answer: JOB },
	status: { answer: JOB },
	statusSync: { answer: JOB },
	stream: { answer: [{ output: "hel", metrics: {} }] },
	cancel: { answer: { id: JOB_ID, status: "IN_QUEUE" } },
	retry: { answer: { id: JOB_ID, status: "IN_QUEUE" } },
	purgeQueue: { answer: { removed: 3, status: "completed" } },
	requests: {
		answer: {
			requests: [{ id: JOB_ID, status: "COMPLETED", delayTime: 12, executionTime: 340, workerId: WORKER }],
			next: null,
		},
	},
	openai: {
		body: { model: "small", messages: [{ role: "user", content: "hello" }] },
		answer: { object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "hello" } }] },
	},
	health: {
		answer: {
			jobs: { inQueue: 0, inProgress: 1, completed: 41, failed: 1, retried: 0 },
			workers: { idle: 0, initializing: 0, ready: 0, running: 1, throttled: 0, unhealthy: 0 },
		},
	},
	sdkStream: { answer: { status: "IN_PROGRESS", stream: [{ output: "hel", metrics: {} }] } },
	jobTake: { answer: { id: JOB_ID, input: { prompt: "hello" } } },
	jobTakeBatch: { answer: [{ id: JOB_ID, input: { prompt: "hello" } }] },
	jobStop: { answer: { jobsToStop: [JOB_ID] } },
	jobDone: { body: { output: { greeting: "hello" } } },
	jobDoneBatch: {
		body: '{"id":"0190a0b0-0000-7000-8000-000000000001","output":{"greeting":"hello"}}',
		answer: [200, 200],
	},
	jobStream: { body: { output: "hel" } },
	jobStreamBatch: { body: '{"output":"hel"}\n{"output":"lo"}' },
} satisfies Readonly<Record<string, Example>>;
