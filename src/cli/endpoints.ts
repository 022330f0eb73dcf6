/** `sluice endpoints` (D36). */
import { stringify } from "yaml";
import type { Endpoint } from "../api/endpoints.ts";
import { systemClock } from "../clock.ts";
import { mergeSettings } from "../core/endpoint.ts";
import { isManaged } from "../launchers/index.ts";
import type { Action, ActionInput, CommandGroup } from "./command.ts";
import { JSON_FLAG, YES_FLAG, confirm, printAnswer } from "./common-flags.ts";
import { repositorySettings } from "./dev/hub-repository.ts";
import { explained } from "./lacking-workers.ts";
import { path } from "./service-client.ts";
import { SETTING_FLAGS, readSettings } from "./setting-flags.ts";
import { spanOf } from "./spans.ts";
import { shortTime, table } from "./table.ts";

const NO_ENDPOINTS =
	"No endpoints yet. Create one: sluice endpoints create hello --set 'launcher={type: process, " +
	"command: [node, worker.js]}'\n";

const list: Action = {
	name: "list",
	args: [],
	summary: "list all endpoints, with their jobs and workers",
	flags: JSON_FLAG,
	examples: ["sluice endpoints list"],
	async run(input) {
		const answer = await input.service.request("GET", "/v1/endpoints");
		const { endpoints } = answer.json as { endpoints: Endpoint[] };
		const headings = ["ID", "NAME", "STATE", "QUEUED", "RUNNING", "WORKERS", "LAUNCHER", "REASON"];
		return printAnswer(answer, input, () =>
			endpoints.length === 0 ? NO_ENDPOINTS : table(headings, endpoints.map(row)),
		);
	},
};

function row(endpoint: Endpoint): (string | number | undefined)[] {
	const { id, name, paused, jobs, workers, workersMax, launcher, reason } = endpoint;
	const count = workers.idle + workers.initializing + workers.running + workers.unhealthy;
	return [
		id,
		name,
		paused ? "paused" : "active",
		jobs.inQueue,
		jobs.inProgress,
		isManaged(launcher.type) ? `${count}/${workersMax}` : String(count),
		launcher.type,
		reason && explained(reason, systemClock.wall()),
	];
}

const get: Action = {
	name: "get",
	args: ["ID"],
	summary: "print one endpoint with all its settings",
	flags: JSON_FLAG,
	examples: ["sluice endpoints get hello"],
	async run(input) {
		const answer = await input.service.request("GET", endpointPath(input));
		return printAnswer(answer, input, () => stringify(answer.json));
	},
};

const create: Action = {
	name: "create",
	args: ["ID"],
	summary: "create an endpoint",
	flags: {
		from: {
			value: "FOLDER",
			summary: "take handler, name and env from a RunPod repository; other flags override them",
		},
		...SETTING_FLAGS,
		...JSON_FLAG,
	},
	examples: [
		"sluice endpoints create hello --from . --set workersMax=2",
		"sluice endpoints create gpubox --set 'launcher={type: external}'",
	],
	async run(input) {
		const [id = ""] = input.args;
		const body = { ...withRepository(input), id };
		const answer = await input.service.request("POST", "/v1/endpoints", body);
		const { launcher } = answer.json as Endpoint;
		const nextStep = isManaged(launcher.type)
			? `Send it a job: sluice jobs submit ${id} --input '{"prompt": "hi"}' --wait`
			: `Attach a worker: sluice worker-env ${id}`;
		return printAnswer(answer, input, () => `Created endpoint '${id}'. ${nextStep}\n`);
	},
};

/** Flags override the `--from` repository. */
function withRepository(input: ActionInput): Record<string, unknown> {
	const settings = readSettings(input);
	const { from } = input.flags;
	if (from === undefined) return settings;
	const repository = repositorySettings(from);
	process.stderr.write(repository.notes.map((note) => `${note}\n`).join(""));
	return mergeSettings(repository.settings, settings) as Record<string, unknown>;
}

const update: Action = {
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
		...JSON_FLAG,
	},
	examples: [
		"sluice endpoints update hello --set workersMax=5 --set env.MODEL=small",
		"sluice endpoints update hello --unset env.MODEL",
	],
	async run(input) {
		const answer = await input.service.request("PATCH", endpointPath(input), readSettings(input));
		return printAnswer(answer, input, () => `Updated endpoint '${input.args[0]}'.\n`);
	},
};

const remove: Action = {
	name: "delete",
	args: ["ID"],
	summary: "delete an endpoint, cancel its jobs and stop its workers",
	flags: { ...YES_FLAG, ...JSON_FLAG },
	examples: ["sluice endpoints delete hello --yes"],
	async run(input) {
		const [id] = input.args;
		await confirm(`Delete endpoint '${id}' and cancel its jobs?`, input);
		const answer = await input.service.request("DELETE", endpointPath(input));
		const { inQueue, inProgress } = (answer.json as Endpoint).jobs;
		return printAnswer(
			answer,
			input,
			() => `Deleted endpoint '${id}'; cancelled ${inQueue} queued and ${inProgress} running jobs.\n`,
		);
	},
};

function stateAction(name: "pause" | "resume", summary: string, outcome: string): Action {
	return {
		name,
		summary,
		args: ["ID"],
		flags: JSON_FLAG,
		async run(input) {
			const answer = await input.service.request("POST", `${endpointPath(input)}/${name}`);
			return printAnswer(answer, input, () => `Endpoint '${input.args[0]}' ${outcome}\n`);
		},
	};
}

const webhookSecret: Action = {
	name: "webhook-secret",
	args: ["ID"],
	summary: "replace the secret that signs webhooks; it is printed and not shown again",
	flags: {
		overlap: { value: "SPAN", summary: "how long the former secret signs too (default 24h; at most 7d)" },
		...JSON_FLAG,
	},
	examples: ["sluice endpoints webhook-secret hello --overlap 24h"],
	async run(input) {
		const overlap = spanOf("overlap", input.flags["overlap"] ?? "24h") / 1000;
		const answer = await input.service.request("POST", `${endpointPath(input)}/webhook-secret?overlap=${overlap}`);
		const { webhookSecret: secret, formerWebhookSecretUntil: until } = answer.json as {
			webhookSecret: string;
			formerWebhookSecretUntil?: string;
		};
		if (!input.flags["json"] && until !== undefined)
			process.stderr.write(`The former secret signs webhooks too until ${shortTime(until)}.\n`);
		return printAnswer(answer, input, () => `${secret}\n`);
	},
};

function endpointPath({ args: [id = ""] }: ActionInput): string {
	return path`/v1/endpoints/${id}`;
}

export const endpoints: CommandGroup = {
	name: "endpoints",
	summary: "list, create, update, pause and delete endpoints",
	actions: [
		list,
		get,
		create,
		update,
		remove,
		stateAction("pause", "keep queueing jobs, but start none", "is paused: jobs are queued but not started."),
		stateAction("resume", "start jobs again", "is active."),
		webhookSecret,
	],
};
