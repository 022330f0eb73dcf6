/** Examples of the management API. */
import { AT, type Example, WORKER } from "./job-examples.ts";

const VOLUME = {
	id: "9b01c44d7e",
	name: "models",
	size: 100,
	dataCenter: "local",
	type: "STANDARD",
	source: "/srv/models",
};

const DATA_CENTER = {
	id: "local",
	name: "Local",
	region: "UNKNOWN",
	globalNetwork: false,
	networkVolumeTypes: ["STANDARD"],
	compliance: [],
};

const SECRET = { id: "c27d9a0e51", name: "hf_token", description: null, createdAt: AT, valueLastUpdatedAt: AT };

const CPU_TYPE = {
	id: "local",
	name: "Processor of this machine",
	group: "Local",
	vcpu: { min: 2, max: 16 },
	ramGbPerVcpu: 2,
	price: { securePerVcpu: 0, serverlessPerVcpu: 0 },
};

const GPU_TYPE = {
	id: "NVIDIA GeForce RTX 4090",
	name: "RTX 4090",
	pool: "ADA_24",
	manufacturer: "NVIDIA",
	memory: 24,
	secure: true,
	community: false,
	price: { secure: 0, community: 0 },
	maxCount: { secure: 2, community: 0 },
};

const TEMPLATE = {
	id: "51e0b7a9c2",
	name: "captions",
	image: "registry.example.com/captions:3",
	args: "python -u handler.py",
	cmd: ["python", "-u", "handler.py"],
	entrypoint: [],
	disk: 20,
	mounts: {},
	ports: [],
	env: { MODEL: "small" },
	registry: null,
	serverless: true,
	public: false,
	category: "NVIDIA",
	startSsh: true,
	startJupyter: true,
	allowedCudaVersions: [],
};

const TEMPLATES = { templates: [TEMPLATE], pagination: { nextCursor: null, hasNextPage: false } };

const MANAGED_ENDPOINT = {
	id: "k3v9t2xa",
	name: "captions",
	type: "QUEUE",
	requestUrls: {
		run: "https://sluice.example.com/v2/k3v9t2xa/run",
		runSync: "https://sluice.example.com/v2/k3v9t2xa/runsync",
		status: "https://sluice.example.com/v2/k3v9t2xa/status/{job_id}",
		stream: "https://sluice.example.com/v2/k3v9t2xa/stream/{job_id}",
		cancel: "https://sluice.example.com/v2/k3v9t2xa/cancel/{job_id}",
		retry: "https://sluice.example.com/v2/k3v9t2xa/retry/{job_id}",
		purgeQueue: "https://sluice.example.com/v2/k3v9t2xa/purge-queue",
		health: "https://sluice.example.com/v2/k3v9t2xa/health",
	},
	image: "registry.example.com/captions:3",
	args: "python -u handler.py",
	cmd: ["python", "-u", "handler.py"],
	entrypoint: [],
	disk: 20,
	ports: [],
	env: { MODEL: "small" },
	registry: null,
	gpu: { pools: ["ADA_24"], count: 1, allowedCudaVersions: [], minCudaVersion: "12.4" },
	workers: { min: 0, max: 2, idleTimeout: 30 },
	scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 },
	dataCenterIds: [],
	networkVolumes: [],
	timeout: 300000,
	flashboot: "OFF",
	createdAt: AT,
};

export const MANAGEMENT_EXAMPLES = {
	listManagedReleases: {
		answer: {
			endpointVersion: 1,
			rollout: { inProgress: false, workersOnLatest: 1, workersTotal: 1, percentOnLatest: 100 },
			releases: [
				{
					id: "hello-1",
					version: 1,
					source: "MANUAL",
					buildId: null,
					createdByUserId: null,
					createdAt: AT,
					workerCount: 1,
					diff: [],
				},
			],
			pagination: { nextCursor: null, hasNextPage: false },
		},
	},
	listManaged: { answer: { endpoints: [MANAGED_ENDPOINT], pagination: { nextCursor: null, hasNextPage: false } } },
	createManaged: {
		body: {
			name: "captions",
			type: "QUEUE",
			image: "registry.example.com/captions:3",
			gpu: { pools: ["ADA_24"] },
			scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 },
		},
		answer: MANAGED_ENDPOINT,
	},
	getManaged: { answer: MANAGED_ENDPOINT },
	updateManaged: { body: { workers: { max: 5 } }, answer: MANAGED_ENDPOINT },
	listManagedWorkers: {
		answer: {
			workers: [
				{
					id: WORKER,
					status: "RUNNING",
					isStale: false,
					gpuCount: 1,
					version: null,
					image: "registry.example.com/captions:3",
					uptimeSeconds: 42,
					gpuTypeId: null,
					dataCenterId: "local",
					startedAt: AT,
				},
			],
			summary: { running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 1 },
			endpointVersion: null,
		},
	},
	listBuilds: { answer: { builds: [], pagination: { nextCursor: null, hasNextPage: false } } },
	listTemplates: { answer: TEMPLATES },
	createTemplate: {
		body: { name: "captions", image: "registry.example.com/captions:3", serverless: true },
		answer: TEMPLATE,
	},
	getTemplate: { answer: TEMPLATE },
	changeTemplate: {
		body: { disk: 40 },
		answer: {
			id: "51e0b7a9c2",
			name: "captions",
			image: "registry.example.com/captions:3",
			args: "python -u handler.py",
			cmd: ["python", "-u", "handler.py"],
			entrypoint: [],
			disk: 20,
			mounts: {},
			ports: [],
			env: { MODEL: "small" },
			registry: null,
			serverless: true,
			public: false,
			category: "NVIDIA",
			startSsh: true,
			startJupyter: true,
			allowedCudaVersions: [],
		},
	},
	listPublicTemplates: { answer: TEMPLATES },
	listLogins: { answer: { registries: [{ id: "3f9c2a17be", name: "ci" }] } },
	createLogin: { body: { name: "ci", username: "ci", password: "…" }, answer: { id: "3f9c2a17be", name: "ci" } },
	getLogin: { answer: { id: "3f9c2a17be", name: "ci" } },
	listVolumes: { answer: { networkVolumes: [VOLUME] } },
	createVolume: { body: { name: "models", size: 100, dataCenter: "local" }, answer: VOLUME },
	getVolume: { answer: VOLUME },
	changeVolume: { body: { size: 200 }, answer: VOLUME },
	listSecrets: { answer: { secrets: [SECRET] } },
	createSecret: { body: { name: "hf_token", value: "…" }, answer: SECRET },
	getSecret: { answer: SECRET },
	changeSecret: { body: { value: "…" }, answer: SECRET },
	listGpuTypes: { answer: { gpus: [GPU_TYPE] } },
	getGpuType: { answer: GPU_TYPE },
	listCpuTypes: { answer: { cpus: [CPU_TYPE] } },
	getCpuType: { answer: CPU_TYPE },
	listDataCenters: { answer: { dataCenters: [DATA_CENTER] } },
	getDataCenter: { answer: DATA_CENTER },
	listPods: { answer: { pods: [], pagination: { nextCursor: null, hasNextPage: false } } },
} satisfies Readonly<Record<string, Example>>;
