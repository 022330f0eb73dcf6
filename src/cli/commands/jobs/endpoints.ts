/** `sluice endpoints` (D36). */
import type { Endpoint } from "../../../kernel/api/endpoints.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { endpointHealth, type EndpointHealth } from "../../../kernel/core/workers/endpoint-health.ts";
import { withDurationTexts } from "../../../kernel/core/durations.ts";
import { ENDPOINT_SCHEMA } from "../../../kernel/launchers/endpoint-settings.ts";
import { isManaged } from "../../../kernel/launchers/index.ts";
import type { Action, CommandGroup } from "../../framework/command.ts";
import { spanOf } from "../../framework/common-flags.ts";
import { listAction, serviceAction } from "../../framework/service-action.ts";
import { SOURCE_FLAGS, withSource } from "./endpoint-source.ts";
import { SETTING_FLAGS, readSettings } from "./setting-flags.ts";
import { shortTime } from "../../framework/table.ts";
import { yamlText } from "../../framework/yaml-text.ts";
import { explained } from "./workers.ts";

const list = listAction<Endpoint>({
	name: "list",
	args: [],
	summary: "list all endpoints, with their jobs and workers",
	request: "GET /v1/endpoints",
	member: "endpoints",
	empty:
		"No endpoints yet. Create one: sluice endpoints create hello --set 'launcher={type: process, " +
		"command: [node, worker.js]}'\n",
	columns: {
		ID: "id",
		NAME: "name",
		STATE: stateOf,
		QUEUED: ({ jobs }) => jobs.inQueue,
		RUNNING: ({ jobs }) => jobs.inProgress,
		WORKERS({ launcher, workers, workersMax }) {
			const count = workers.idle + workers.initializing + workers.running + workers.unhealthy;
			return isManaged(launcher.type) ? `${count}/${workersMax}` : count;
		},
		LAUNCHER: ({ launcher }) => launcher.type,
		REASON: ({ reason }) => reason && explained(reason, systemClock.wall()),
	},
});

const STATES = {
	crashing: "crashing",
	no_workers: "no workers",
	hindered: "workers missing",
	paused: "paused",
	healthy: "active",
} as const satisfies Record<EndpointHealth["state"], string>;

/** In the words of the console. */
export function stateOf({ paused, reason, launcher, workersMax, workers, jobs }: Endpoint): string {
	const { state } = endpointHealth({
		paused,
		crashes: reason?.code === "crashed" || reason?.retryAt !== undefined,
		reason: undefined,
		canStart: isManaged(launcher.type) && workersMax > 0,
		present: workers.idle + workers.initializing + workers.running + workers.unhealthy,
		inQueue: jobs.inQueue,
	});
	return STATES[state === "healthy" && reason ? "hindered" : state];
}

const TOP_MS = 2000;

export const top: Action = {
	...list,
	name: "top",
	summary: "show queues and workers of all endpoints until Ctrl-C; once where there is no terminal",
	async run(input) {
		while (process.stdout.isTTY) {
			process.stdout.write("\u001b[H\u001b[J");
			await list.run(input);
			await systemClock.sleep(TOP_MS);
		}
		return await list.run(input);
	},
};

const get = serviceAction<Endpoint>({
	name: "get",
	args: ["ID"],
	summary: "print one endpoint with all its settings",
	examples: ["sluice endpoints get hello"],
	request: "GET /v1/endpoints/{ID}",
	text: (endpoint) => yamlText(withDurationTexts(ENDPOINT_SCHEMA, endpoint)),
});

const create = serviceAction<Endpoint>({
	name: "create",
	args: ["ID"],
	summary: "create an endpoint",
	synopsis: "ID [options] [-- COMMAND]",
	rest: true,
	flags: {
		...SOURCE_FLAGS,
		...SETTING_FLAGS,
	},
	examples: [
		"sluice endpoints create hello --from . --set workersMax=2",
		"sluice endpoints create chat --from worker-vllm --image runpod/worker-v1-vllm:TAG --preset small",
		"sluice endpoints create pictures --from worker-comfyui --build",
		"sluice endpoints create gpubox --set 'launcher={type: external}'",
		"sluice endpoints create docs --http docling --image quay.io/docling-project/docling-serve",
		"sluice endpoints create app --http raw --set http.port=0 -- python3 server.py {port}",
	],
	request: "POST /v1/endpoints",
	body: async (input) => ({ ...(await withSource(input)), id: input.args[0] }),
	text({ id, launcher }, { flags: { http } }) {
		const attach =
			http === undefined
				? `Attach a worker: sluice worker-env ${id}`
				: `Connect a server: sluice connect ${http} http://HOST:PORT --endpoint ${id}`;
		const nextStep = isManaged(launcher.type)
			? `Send it a job: sluice jobs submit ${id} --input '{"prompt": "hi"}' --wait`
			: attach;
		return `Created endpoint '${id}'. ${nextStep}\n`;
	},
});

const update = serviceAction<Endpoint>({
	name: "update",
	args: ["ID"],
	summary: "change settings; others keep their values",
	flags: {
		...SETTING_FLAGS,
		unset: {
			value: "NAME",
			many: true,
			summary: "reset a setting to its default, or remove a variable of env; may be repeated",
		},
	},
	examples: [
		"sluice endpoints update hello --set workersMax=5 --set env.MODEL=small",
		"sluice endpoints update hello --unset env.MODEL",
	],
	request: "PATCH /v1/endpoints/{ID}",
	body: readSettings,
	text: ({ id }) => `Updated endpoint '${id}'.\n`,
});

const remove = serviceAction<Endpoint>({
	name: "delete",
	args: ["ID"],
	summary: "delete an endpoint, cancel its jobs and stop its workers",
	examples: ["sluice endpoints delete hello --yes"],
	question: ({ args: [id] }) => `Delete endpoint '${id}' and cancel its jobs?`,
	request: "DELETE /v1/endpoints/{ID}",
	text: ({ id, jobs }) =>
		`Deleted endpoint '${id}'; cancelled ${jobs.inQueue} queued and ${jobs.inProgress} running jobs.\n`,
});

const pause = serviceAction<Endpoint>({
	name: "pause",
	args: ["ID"],
	summary: "keep queueing jobs, but start none",
	examples: ["sluice endpoints pause hello"],
	request: "POST /v1/endpoints/{ID}/pause",
	text: ({ id }) => `Endpoint '${id}' is paused: jobs are queued but not started.\n`,
});

const resume = serviceAction<Endpoint>({
	name: "resume",
	args: ["ID"],
	summary: "start jobs again",
	examples: ["sluice endpoints resume hello"],
	request: "POST /v1/endpoints/{ID}/resume",
	text: ({ id }) => `Endpoint '${id}' is active.\n`,
});

const webhookSecret = serviceAction<{ webhookSecret: string; formerWebhookSecretUntil?: string }>({
	name: "webhook-secret",
	args: ["ID"],
	summary: "replace the secret that signs webhooks; it is printed and not shown again",
	flags: { overlap: { value: "SPAN", summary: "how long the former secret signs too (default 24h; at most 7d)" } },
	examples: ["sluice endpoints webhook-secret hello --overlap 24h"],
	request: "POST /v1/endpoints/{ID}/webhook-secret",
	shownOnce: "secret",
	query: ({ overlap = "24h" }) => new URLSearchParams({ overlap: String(spanOf("overlap", overlap) / 1000) }),
	note: ({ formerWebhookSecretUntil: until }) =>
		until === undefined ? "" : `The former secret signs webhooks too until ${shortTime(until)}.\n`,
	text: ({ webhookSecret: secret }) => `${secret}\n`,
});

export const endpoints: CommandGroup = {
	name: "endpoints",
	summary: "list, create, update, pause and delete endpoints",
	actions: [list, get, create, update, remove, pause, resume, webhookSecret],
};
