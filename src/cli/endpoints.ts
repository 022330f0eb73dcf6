/** `sluice endpoints`: endpoints of a running service (D36). */
import { stringify } from "yaml";
import { mergeSettings } from "../core/endpoint.ts";
import { isManaged } from "../launchers/index.ts";
import { JSON_FLAG, YES_FLAG, confirm, printed } from "./common-flags.ts";
import { noun } from "./command.ts";
import type { Action, Given } from "./command.ts";
import { repositorySettings } from "./dev/hub-repository.ts";
import { callService, path } from "./service-client.ts";
import { SETTING_FLAGS, readSettings } from "./endpoint-settings.ts";
import { table } from "./table.ts";

/** The part of an endpoint that lists show. */
interface Listed {
	id: string;
	name: string;
	paused: boolean;
	workersMax: number;
	launcher: { type: string };
	jobs: { inQueue: number; inProgress: number };
	workers: Record<"idle" | "initializing" | "running" | "unhealthy", number>;
}

const NONE =
	"There is no endpoint yet. Make one: sluice endpoints create hello --set 'launcher={type: process, command: [node, worker.js]}'\n";

const list: Action = {
	name: "list",
	args: [],
	summary: "all endpoints, with their jobs and workers",
	flags: JSON_FLAG,
	async run(given) {
		const told = await callService(process.env).ask("GET", "/v1/endpoints");
		return printed(told, given, () => {
			const { endpoints } = told.json as { endpoints: Listed[] };
			return endpoints.length === 0
				? NONE
				: table(
						["ID", "NAME", "STATE", "QUEUED", "RUNNING", "WORKERS", "LAUNCHER"],
						endpoints.map(row),
					);
		});
	},
};

function row({
	id,
	name,
	paused,
	jobs,
	workers,
	workersMax,
	launcher,
}: Listed): (string | number)[] {
	const present = workers.idle + workers.initializing + workers.running + workers.unhealthy;
	const bound = isManaged(launcher.type) ? `${present}/${workersMax}` : String(present);
	return [
		id,
		name,
		paused ? "paused" : "active",
		jobs.inQueue,
		jobs.inProgress,
		bound,
		launcher.type,
	];
}

const get: Action = {
	name: "get",
	args: ["ID"],
	summary: "one endpoint with all its settings",
	flags: JSON_FLAG,
	async run(given) {
		const told = await callService(process.env).ask("GET", one(given));
		return printed(told, given, () => stringify(told.json));
	},
};

const create: Action = {
	name: "create",
	args: ["ID"],
	summary: "make an endpoint",
	flags: {
		from: {
			value: "FOLDER",
			summary: "take handler, name and env of a RunPod repository; the other flags change them",
		},
		...SETTING_FLAGS,
		...JSON_FLAG,
	},
	async run(given) {
		const [id = ""] = given.args;
		const told = await callService(process.env).ask("POST", "/v1/endpoints", {
			...withRepository(given),
			id,
		});
		return printed(
			told,
			given,
			() => `Endpoint '${id}' is made. ${nextStep(told.json as Listed)}\n`,
		);
	},
};

/** The settings given, over those of the repository that `--from` names. */
function withRepository(given: Given): Record<string, unknown> {
	const settings = readSettings(given);
	const { from } = given.flags;
	if (from === undefined) return settings;
	const found = repositorySettings(from);
	process.stderr.write(found.notes.map((note) => `${note}\n`).join(""));
	return mergeSettings(found.settings, settings) as Record<string, unknown>;
}

function nextStep({ id, launcher }: Listed): string {
	return isManaged(launcher.type)
		? `Send it a job: POST /v2/${id}/run`
		: `Attach a worker: sluice worker-env ${id}`;
}

const update: Action = {
	name: "update",
	args: ["ID"],
	summary: "change settings; what is not named stays",
	flags: {
		...SETTING_FLAGS,
		unset: {
			value: "NAME",
			many: true,
			summary: "bring the default of a setting back, or remove one of env; may be repeated",
		},
		...JSON_FLAG,
	},
	async run(given) {
		const told = await callService(process.env).ask("PATCH", one(given), readSettings(given));
		return printed(told, given, () => `Endpoint '${given.args[0]}' is changed.\n`);
	},
};

const remove: Action = {
	name: "delete",
	args: ["ID"],
	summary: "delete an endpoint: its jobs are cancelled, its workers ended",
	flags: { ...YES_FLAG, ...JSON_FLAG },
	async run(given) {
		await confirm(`Delete endpoint '${given.args[0]}' and cancel its jobs?`, given);
		const told = await callService(process.env).ask("DELETE", one(given));
		const { jobs } = told.json as Listed;
		return printed(
			told,
			given,
			() =>
				`Endpoint '${given.args[0]}' is deleted; ${jobs.inQueue} waiting and ${jobs.inProgress} running jobs are cancelled.\n`,
		);
	},
};

function pausing(name: "pause" | "resume", summary: string, done: string): Action {
	return {
		name,
		summary,
		args: ["ID"],
		flags: JSON_FLAG,
		async run(given) {
			const told = await callService(process.env).ask("POST", `${one(given)}/${name}`);
			return printed(told, given, () => `Endpoint '${given.args[0]}' ${done}\n`);
		},
	};
}

const webhookSecret: Action = {
	name: "webhook-secret",
	args: ["ID"],
	summary: "make a new secret for signing webhooks and print it this once",
	flags: JSON_FLAG,
	async run(given) {
		const told = await callService(process.env).ask("POST", `${one(given)}/webhook-secret`);
		return printed(
			told,
			given,
			() => `${(told.json as { webhookSecret: string }).webhookSecret}\n`,
		);
	},
};

function one({ args: [id = ""] }: Given): string {
	return path`/v1/endpoints/${id}`;
}

export const endpoints = noun({
	name: "endpoints",
	summary: "list, make, change, pause and delete endpoints",
	actions: [
		list,
		get,
		create,
		update,
		remove,
		pausing(
			"pause",
			"accept and queue jobs, but hand none out",
			"is paused: jobs are queued, not handed out.",
		),
		pausing("resume", "hand jobs out again", "hands out jobs again."),
		webhookSecret,
	],
});
