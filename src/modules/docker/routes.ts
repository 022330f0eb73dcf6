/** Machines on which the launcher docker starts workers, for operators (D44). */
import { ERRORS } from "./errors.ts";
import { HOST_STATES } from "../../kernel/core/workers/hosts.ts";
import { NO_BODY, route } from "../../kernel/api/definition/route.ts";
import {
	COUNT,
	FLAG,
	list,
	listIn,
	MOMENT,
	object,
	type Static,
	TEXT,
	TEXTS,
} from "../../kernel/api/definition/schema.ts";

const HOST_GPU = object({
	id: { ...TEXT, description: "UUID." },
	model: TEXT,
	memoryGb: { type: "number", description: "In 10^9 bytes." },
	"cuda?": { ...TEXT, description: "Newest CUDA version that its driver runs." },
	used: { ...FLAG, description: "Some worker has it, or a part of it; GET /v1/gpus says which." },
});

export const HOST = object({
	name: TEXT,
	labels: TEXTS,
	address: { ...TEXT, description: "Of its Docker daemon." },
	state: { enum: HOST_STATES, description: "unused: no worker needed it yet." },
	"since?": { ...MOMENT, description: "When it became reachable or unreachable." },
	"fault?": { ...TEXT, description: "Why it is unreachable." },
	drained: { ...FLAG, description: "It gets no workers until it is resumed." },
	"workersMax?": { ...COUNT, description: "Max workers on it." },
	gpus: { ...list(HOST_GPU), description: "Empty too before they were read." },
	workers: { ...TEXTS, description: "Ids of its workers." },
	images: { ...TEXTS, description: "Tags and digests of its images, at most a minute old." },
	"freeDisk?": {
		...COUNT,
		"x-unit": "bytes",
		description: "Free bytes where its images are; absent for a host reached by tcp.",
	},
	"version?": { ...TEXT, description: "Version of its daemon." },
});
export type Host = Static<typeof HOST>;

const LIST_HOSTS = route("listHosts", "GET /v1/hosts", "admin", {
	summary: "The hosts of the configuration as this server sees them.",
	answer: {
		description: "The hosts, in the order of the configuration.",
		schema: listIn("hosts", HOST),
	},
});

const ANSWER = { schema: HOST } as const;

const DRAIN_HOST = route("drainHost", "POST /v1/hosts/:host/drain", "admin", {
	summary: "Starts no more workers on the host; those it has finish their jobs and are replaced elsewhere.",
	answer: { description: "The host.", ...ANSWER },
	body: NO_BODY,
	errors: [ERRORS.host_not_found],
});

const RESUME_HOST = route("resumeHost", "POST /v1/hosts/:host/resume", "admin", {
	summary: "Starts workers on the host again.",
	answer: { description: "The host.", ...ANSWER },
	body: NO_BODY,
	errors: [ERRORS.host_not_found],
});

export const HOST_ROUTES = [LIST_HOSTS, DRAIN_HOST, RESUME_HOST] as const;
