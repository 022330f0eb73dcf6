import type { ENDPOINT_ROUTES } from "../../api/endpoints.ts";
import type { JOB_RECORD_ROUTES } from "../../api/job-records.ts";
import type { KEY_ROUTES } from "../../api/keys.ts";
import type { WORKER_ADMIN_ROUTES } from "../../api/workers.ts";
import * as endpoints from "./endpoints-api.ts";
import * as jobs from "./jobs-api.ts";
import * as keys from "./keys-api.ts";
import * as workers from "./workers-api.ts";
import type { HandlersOf } from "../server/route.ts";

export const ENDPOINT_HANDLERS: HandlersOf<typeof ENDPOINT_ROUTES> = {
	listEndpoints: endpoints.list,
	createEndpoint: endpoints.create,
	getEndpoint: endpoints.get,
	updateEndpoint: endpoints.update,
	putEndpoint: endpoints.put,
	compareEndpoints: endpoints.compare,
	deleteEndpoint: endpoints.remove,
	pauseEndpoint: endpoints.pause,
	resumeEndpoint: endpoints.resume,
	workerEnv: endpoints.workerEnv,
	renewWebhookSecret: endpoints.webhookSecret,
};

export const WORKER_ADMIN_HANDLERS: HandlersOf<typeof WORKER_ADMIN_ROUTES> = {
	listWorkers: workers.list,
	startWorkers: workers.start,
	stopWorker: workers.stop,
};

export const JOB_RECORD_HANDLERS: HandlersOf<typeof JOB_RECORD_ROUTES> = {
	listJobs: jobs.list,
	getJob: jobs.get,
	cancelJobs: jobs.cancel,
	retryJobs: jobs.retry,
};

export const KEY_HANDLERS: HandlersOf<typeof KEY_ROUTES> = {
	listKeys: keys.list,
	createKey: keys.create,
	rotateKey: keys.rotate,
	revokeKey: keys.revoke,
};
