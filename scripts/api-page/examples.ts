/** Example bodies and answers of the operations, for `/openapi.json` and `/docs/api/`. Others have `{}`. */
import { BATCH_EXAMPLES } from "./batch-examples.ts";
import { FILE_EXAMPLES } from "./file-examples.ts";
import { RESPONSE_EXAMPLES } from "./response-examples.ts";
import { AT, type Example, JOB, JOB_EXAMPLES, JOB_ID, WORKER } from "./job-examples.ts";
import { MANAGEMENT_EXAMPLES } from "./management-examples.ts";

const REGISTRY = { registry: "registry.example.com", username: "ci", updatedAt: AT };

const KEY = { id: "019b2f6e-7c1a-7000-8000-000000000001", name: "nightly batch", scopes: ["write"], createdAt: AT };

const HOST = {
	name: "rig1",
	labels: ["small"],
	address: "rig1",
	state: "reachable",
	since: AT,
	drained: false,
	gpus: [{ id: "GPU-8f1c2b7a", model: "NVIDIA L4", memoryGb: 24.2, used: true }],
	workers: [WORKER],
	images: ["my-worker:1.0"],
	freeDisk: 412000000000,
	version: "28.2.2",
};

const BULK = {
	body: { filter: { status: ["FAILED"], search: "out of memory" }, dryRun: true },
	answer: { matched: 1000, done: 1000, more: true, next: "b2s" },
};

const SILENCE = { name: "SluiceOldestWait", endpoint: "hello", until: AT, comment: "reindexing" };

const RELEASES = {
	version: 2,
	workers: { current: 1, all: 2 },
	releases: [
		{
			version: 2,
			state: "unproven",
			source: "api",
			createdAt: AT,
			createdBy: "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e78",
			failures: 0,
			workers: 1,
			jobs: { completed: 96, failed: 1, executionMs: { p50: 340, p95: 410, p99: 433 } },
			diff: [{ field: "launcher.image", old: "captions:1", new: "captions:2" }],
		},
	],
};

const JOB_COUNTS = {
	id: "hello",
	name: "hello",
	workersMin: 0,
	workersMax: 3,
	idleTimeout: 5,
	executionTimeoutMs: 600000,
	scalerType: "QUEUE_DELAY",
	scalerValue: 4,
	launcher: { type: "external" },
	env: [],
	limits: {},
	retention: { run: 1800000, runsync: 60000, records: 604800000 },
	leaseMs: 20000,
	stopGraceMs: 5000,
	initTimeoutMs: 600000,
	gpusPerWorker: 0,
	gpuMemoryEnforce: false,
	passRequestId: false,
	priority: "normal",
	webhooks: { schedule: "short", input: true },
	release: { maxSurge: 1, failAfter: 3 },
	webhookSecretSet: true,
	paused: false,
	createdAt: AT,
	version: 1,
	jobs: { inQueue: 0, inProgress: 1, completed: 41, failed: 1, retried: 0 },
	workers: { idle: 0, initializing: 0, ready: 0, running: 1, throttled: 0, unhealthy: 0 },
};

export const EXAMPLES = {
	...JOB_EXAMPLES,
	...MANAGEMENT_EXAMPLES,
	...BATCH_EXAMPLES,
	...FILE_EXAMPLES,
	...RESPONSE_EXAMPLES,
	listEndpoints: { answer: { endpoints: [JOB_COUNTS] } },
	createEndpoint: { body: { id: "hello", workersMax: 3, launcher: { type: "external" } }, answer: JOB_COUNTS },
	getEndpoint: { answer: JOB_COUNTS },
	updateEndpoint: { body: { workersMax: 5 }, answer: JOB_COUNTS },
	putEndpoint: {
		body: { workersMax: 5, env: { TOKEN: "…" } },
		answer: {
			id: "hello",
			action: "update",
			applied: true,
			changes: [
				{ field: "workersMax", action: "change", before: 3, after: 5 },
				{ field: "env.TOKEN", action: "change" },
			],
		},
	},
	compareEndpoints: {
		body: { endpoints: { hello: { workersMax: 5 } } },
		answer: {
			applied: false,
			endpoints: [
				{
					id: "hello",
					action: "update",
					applied: false,
					changes: [{ field: "workersMax", action: "change", before: 3, after: 5 }],
				},
			],
		},
	},
	deleteEndpoint: { answer: JOB_COUNTS },
	pauseEndpoint: { answer: JOB_COUNTS },
	resumeEndpoint: { answer: JOB_COUNTS },
	workerEnv: { answer: { env: { RUNPOD_ENDPOINT_ID: "hello", RUNPOD_POD_ID: WORKER } } },
	renewWebhookSecret: { answer: { webhookSecret: "whsec_…", formerWebhookSecretUntil: AT } },
	listHttpPresets: {
		answer: {
			presets: [
				{ name: "docling", title: "docling-serve: documents to Markdown and JSON", port: 5001, input: { sources: [] } },
			],
			launchers: ["process", "docker", "external"],
		},
	},
	getS3Credentials: {
		answer: {
			endpointUrl: "https://sluice.example.com/s3",
			accessKeyId: "sluice-hello-1",
			secretAccessKey: "kXb0mVd3m0yVgkZ1fY0mUqfL6mQ2pW8cTn5sR4eA7hI",
		},
	},
	getHttp: { answer: { http: { port: 8000 }, mapping: { port: 8000 } } },
	listReleases: { answer: RELEASES },
	rollBackRelease: { answer: RELEASES },
	listWorkers: {
		answer: {
			workers: [{ id: WORKER, state: "running", launcher: "process", createdAt: AT, seenAt: AT, jobs: [JOB_ID] }],
		},
	},
	listAlerts: {
		answer: {
			enabled: true,
			alerts: [
				{
					name: "SluiceOldestWait",
					severity: "warning",
					labels: { endpoint: "hello" },
					value: 372,
					summary: "A job of hello has waited for 6m12s.",
					since: AT,
					runbook: "https://sluice.example.com/docs/runbooks/oldest-wait/",
				},
			],
			silences: [SILENCE],
			receivers: ["1 slack hooks.slack.com"],
		},
	},
	silenceAlert: { answer: SILENCE, body: { for: 7200, endpoint: "hello", comment: "reindexing" } },
	testAlerts: {
		answer: { receivers: [{ receiver: "1 slack hooks.slack.com", error: "the receiver answered 404: no_service" }] },
	},
	searchLogs: {
		answer: { lines: [{ worker: WORKER, text: "loading model", position: 14, time: AT, job: JOB_ID }], more: false },
	},
	endpointMetrics: {
		answer: {
			step: 60000,
			from: AT,
			series: {
				submitted: [3, null],
				completed: [3, null],
				failed: [3, null],
				timedOut: [3, null],
				cancelled: [3, null],
				retried: [3, null],
				coldStarts: [3, null],
				queued: [3, null],
				running: [3, null],
				workersReady: [3, null],
				workersBusy: [3, null],
				workersStarting: [3, null],
				delayMs: { p50: [3, null], p95: [3, null], p99: [3, null] },
				executionMs: { p50: [3, null], p95: [3, null], p99: [3, null] },
			},
		},
	},
	allMetrics: {
		answer: {
			step: 60000,
			from: AT,
			endpoints: [
				{
					id: "hello",
					submitted: 3,
					completed: 3,
					failed: 3,
					timedOut: 3,
					cancelled: 3,
					retried: 3,
					coldStarts: 3,
					delayMs: { p50: 12, p95: 40, p99: 81 },
					executionMs: { p50: 340, p95: 410, p99: 433 },
					executionSeconds: 1,
					gpuSeconds: 1,
				},
			],
		},
	},
	endpointDemand: { answer: { wanted: 3, waiting: 2, running: 1, oldestWaitSeconds: 4 } },
	listJobs: {
		answer: {
			jobs: [
				{
					id: JOB_ID,
					status: "COMPLETED",
					delayTime: 12,
					executionTime: 340,
					workerId: WORKER,
					submittedAt: AT,
					startedAt: AT,
					endedAt: AT,
					release: 2,
					expired: false,
				},
			],
			next: null,
		},
	},
	getJob: {
		answer: {
			...JOB,
			submittedAt: AT,
			startedAt: AT,
			endedAt: AT,
			release: 2,
			expired: false,
			queuedAt: AT,
			expiresAt: AT,
			operation: "run",
			lowPriority: false,
			policy: { ttl: 86400000, executionTimeout: 600000 },
			s3Config: false,
			chunks: { written: 0, delivered: 0 },
			attempts: [{ attempt: 1, end: "completed", open: false, workerId: WORKER, startedAt: AT, endedAt: AT }],
			timeline: [{ at: AT, event: "submitted", message: "The job was submitted." }],
			input: { prompt: "hello" },
		},
	},
	cancelJobs: BULK,
	retryJobs: BULK,
	listDeliveries: {
		answer: {
			deliveries: [
				{
					id: "msg_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77_0",
					endpoint: "hello",
					job: JOB_ID,
					state: "delivered",
					url: "https://app.example.com/jobs",
					createdAt: AT,
					tries: [{ at: AT, tookMs: 35, status: 200 }],
				},
			],
			next: null,
		},
	},
	getDelivery: {
		answer: {
			id: "msg_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77_0",
			endpoint: "hello",
			job: JOB_ID,
			state: "delivered",
			url: "https://app.example.com/jobs",
			createdAt: AT,
			tries: [{ at: AT, tookMs: 35, status: 200 }],
			body: '{"id":"019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77","status":"COMPLETED"}',
			bodySize: 74,
		},
	},
	redeliver: {
		answer: {
			id: "msg_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77_0",
			endpoint: "hello",
			job: JOB_ID,
			state: "pending",
			url: "https://app.example.com/jobs",
			createdAt: AT,
			tries: [{ at: AT, tookMs: 35, status: 200 }],
			dueAt: AT,
		},
	},
	listKeys: { answer: { keys: [KEY], environment: true } },
	createKey: {
		body: { name: "nightly batch", scopes: ["write"] },
		answer: {
			id: "019b2f6e-7c1a-7000-8000-000000000001",
			name: "nightly batch",
			scopes: ["write"],
			createdAt: AT,
			key: "sluice_…",
		},
	},
	rotateKey: {
		body: { expiresAt: "2099-01-31T00:00:00Z" },
		answer: {
			id: "019b2f6e-7c1a-7000-8000-000000000001",
			name: "nightly batch",
			scopes: ["write"],
			createdAt: AT,
			expiresAt: "2099-01-31T00:00:00.000Z",
			key: "sluice_…",
		},
	},
	revokeKey: { answer: KEY },
	listRegistries: { answer: { registries: [REGISTRY] } },
	putRegistry: { body: { username: "ci", password: "…" }, answer: REGISTRY },
	removeRegistry: { answer: REGISTRY },
	listSessions: {
		answer: {
			sessions: [
				{
					id: "019b2f6e-7c1a-7000-8000-000000000002",
					keyId: "environment",
					keyName: "SLUICE_API_KEY",
					signIn: "link",
					createdAt: AT,
					lastUsedAt: AT,
					expiresAt: "2026-02-01T00:00:00.000Z",
					address: "192.0.2.1",
					client: "Firefox 143 on Linux",
					current: false,
				},
			],
		},
	},
	endSessions: { answer: { ended: 3 } },
	listAudit: {
		answer: {
			entries: [
				{
					at: AT,
					keyId: "environment",
					keyName: "SLUICE_API_KEY",
					address: "192.0.2.1",
					action: "pauseEndpoint",
					subject: ["hello"],
					result: "ok",
				},
			],
			next: null,
		},
	},
	listServers: {
		answer: {
			servers: [
				{
					id: "0d8f6c1e2b7a4c55",
					url: "http://10.0.0.5:8080",
					startedAt: AT,
					self: true,
					leads: ["scale:hello", "sweep"],
				},
			],
		},
	},
	listGpus: {
		answer: {
			gpus: [
				{
					host: "local",
					id: "0",
					model: "NVIDIA L4",
					memoryGb: 24.2,
					memoryUsedGb: 11.7,
					busyPercent: 96,
					freeGb: 11.7,
					holders: [{ state: "busy", worker: WORKER, endpoint: "hello", memoryGb: 12, usedGb: 11.6, since: AT }],
				},
			],
		},
	},
	listHosts: { answer: { hosts: [HOST] } },
	drainHost: { answer: HOST },
	resumeHost: { answer: HOST },
	getBackup: { answer: { state: "copying", doneBytes: 412000000, totalBytes: 1370000000 } },
	createConsoleLink: { answer: { path: "/console/#/link/…", expiresAt: AT } },
	signIn: {
		body: { key: "sluice_…" },
		answer: { principal: { name: "nightly batch", scopes: ["write"] }, pageToken: "8f0c…" },
	},
	getSession: { answer: { principal: { name: "nightly batch", scopes: ["write"] } } },
	healthz: { answer: { ok: true } },
	readyz: { answer: { ready: true } },
} satisfies Readonly<Record<string, Example>>;
