/** `sluice diff` and `sluice apply`: the endpoints of a file, compared with a service and set there (D36). */
import { MODULES } from "../../../modules/index.ts";
import { resolve } from "node:path";
import { loadEndpoints } from "../../../kernel/config/endpoints.ts";
import { CliError } from "../../client/errors.ts";
import { path, type ServiceClient } from "../../client/service-client.ts";
import type { Action, ActionInput, Flags } from "../../framework/command.ts";
import { confirm, JSON_FLAG, YES_FLAG } from "../../framework/common-flags.ts";
import { counted } from "../../framework/table.ts";
import { textOfFile } from "../jobs/setting-flags.ts";
import { changesIn, type Plan, type PlannedEndpoint, planOf, planText, putEndpoint } from "./plan.ts";

const FLAGS = {
	file: { short: "f", value: "FILE", summary: "file with endpoints; - for standard input (default sluice.yaml)" },
	prune: { summary: "delete endpoints that the file does not name" },
	...JSON_FLAG,
} as const satisfies Flags;

type Endpoints = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

export const diff: Action = {
	name: "diff",
	args: [],
	summary: "compare the endpoints of sluice.yaml with those of the service; exit code 2 if they differ, 1 on errors",
	flags: FLAGS,
	examples: ["sluice diff -f sluice.yaml", "sluice diff -f sluice.yaml --prune --context production"],
	failureCode: 1,
	async run(input) {
		const { plan } = await read(input);
		if (input.flags["json"]) printJson(plan);
		else process.stdout.write(planText(plan, process.stdout));
		return changesIn(plan).length === 0 ? 0 : 2;
	},
};

export const apply: Action = {
	name: "apply",
	args: [],
	summary: "create and change endpoints of the service to match sluice.yaml; shows the changes and asks",
	flags: { ...FLAGS, ...YES_FLAG },
	examples: ["sluice apply -f sluice.yaml", "sluice apply -f sluice.yaml --yes --context production"],
	async run(input) {
		const { endpoints, plan } = await read(input);
		const { json, yes } = input.flags;
		const changes = changesIn(plan);
		if (changes.length === 0) {
			if (json) printJson(plan);
			else process.stdout.write(planText(plan, process.stdout));
			return 0;
		}
		if (!json || !yes) process.stderr.write(planText(plan, process.stderr));
		await confirm(`Apply ${counted(changes.length, "change")} to ${input.service.connection().base}?`, input);
		try {
			for (const each of changes) {
				await applied(each, { service: input.service, endpoints });
				each.applied = true;
				if (!json) process.stdout.write(`${DONE[each.action]} endpoint '${each.id}'.\n`);
			}
		} catch (error) {
			throw error instanceof CliError ? stopped(error, changes) : error;
		} finally {
			if (json) printJson(plan);
		}
		return 0;
	},
};

const DONE = { create: "Created", update: "Changed", delete: "Deleted", none: "Kept" } as const;

/** Throws {@link CliError}. */
async function read({ flags, service }: ActionInput): Promise<{ endpoints: Endpoints; plan: Plan }> {
	const { file = "sluice.yaml", prune } = flags;
	const loaded = loadEndpoints(textOfFile(file), { path: resolve(file), env: process.env, modules: MODULES });
	if (!loaded.ok) throw new CliError(loaded.problems.join("\n"));
	const { endpoints, ignored } = loaded;
	if (prune && endpoints.size === 0)
		throw new CliError(`${file} names no endpoint: --prune would delete all endpoints of the service.`);
	if (ignored.length > 0)
		process.stderr.write(`Only endpoints are compared; the service reads ${ignored.join(", ")} at its start.\n`);
	return { endpoints, plan: await planOf(service, endpoints, { prune: prune !== undefined }) };
}

/** Throws {@link CliError}. */
async function applied(
	{ id, action }: PlannedEndpoint,
	{ service, endpoints }: { service: ServiceClient; endpoints: Endpoints },
): Promise<void> {
	if (action === "delete") await service.request("DELETE", path`/v1/endpoints/${id}`);
	else await putEndpoint(service, id, endpoints.get(id)!);
}

function stopped(error: CliError, changes: readonly PlannedEndpoint[]): CliError {
	const ids = (done: boolean): string =>
		changes
			.filter((each) => each.applied === done)
			.map(({ id }) => id)
			.join(", ") || "none";
	const rest = `Done: ${ids(true)}. Not done: ${ids(false)}. The same command again continues.`;
	return new CliError(`${error.message}\n${rest}`, 1, error.status);
}

function printJson(plan: Plan): void {
	process.stdout.write(`${JSON.stringify(plan)}\n`);
}
