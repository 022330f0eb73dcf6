/** `sluice releases`: versions of what an endpoint's workers are launched with (D36, D50). */
import type { Release } from "./routes.ts";
import { CliError } from "../../cli/client/errors.ts";
import { path } from "../../cli/client/service-client.ts";
import type { Action, CommandGroup } from "../../cli/framework/command.ts";
import { OUTPUT_FLAGS, printAnswer } from "../../cli/framework/common-flags.ts";
import { listAction, serviceAction } from "../../cli/framework/service-action.ts";
import { shortTime, spanText, table } from "../../cli/framework/table.ts";

interface Releases {
	version: number;
	releases: Release[];
}

const failedOf = ({ jobs: { completed, failed } }: Release): string =>
	completed + failed === 0 ? "-" : `${((failed / (completed + failed)) * 100).toFixed(1)} %`;
const changesOf = ({ diff }: Release): string => diff.map(({ field }) => field).join(", ");

const list = listAction<Release>({
	name: "list",
	args: ["ENDPOINT"],
	summary: "list the versions of an endpoint, the current one first, with their jobs of the last 24 hours",
	examples: ["sluice releases list hello"],
	request: "GET /v1/endpoints/{ENDPOINT}/releases",
	member: "releases",
	empty: "No releases.\n",
	columns: {
		VERSION: "version",
		STATE: "state",
		WORKERS: "workers",
		JOBS: ({ jobs: { completed, failed } }) => completed + failed,
		FAILED: failedOf,
		MEDIAN: ({ jobs: { executionMs } }) => (executionMs.p50 === null ? "-" : spanText(executionMs.p50)),
		MADE: ({ createdAt }) => shortTime(createdAt),
		BY: ({ source, createdBy }) => createdBy ?? source,
		CHANGES: (release) => release.reason ?? changesOf(release),
	},
});

const diff: Action = {
	name: "diff",
	args: ["ENDPOINT", "[VERSION]"],
	summary: "what a version changed, by default the current one; values of env are not shown",
	flags: OUTPUT_FLAGS,
	examples: ["sluice releases diff hello 3"],
	async run(input) {
		const [endpoint = "", version] = input.args;
		const { json } = await input.service.request("GET", path`/v1/endpoints/${endpoint}/releases`);
		const { releases, version: current } = json as Releases;
		const found = releases.find((each) => String(each.version) === (version ?? String(current)));
		if (!found)
			throw new CliError(`${endpoint} has no version ${version}. List them: sluice releases list ${endpoint}`);
		const shown = (value: unknown): string => (value === null ? "-" : JSON.stringify(value));
		return printAnswer({ json: found, text: JSON.stringify(found) }, input, () =>
			found.diff.length === 0
				? `Version ${found.version} is the first that is known.\n`
				: table(
						["SETTING", "OLD", "NEW"],
						found.diff.map((each) => [each.field, shown(each.old), shown(each.new)]),
					),
		);
	},
};

const rollback = serviceAction<Releases>({
	name: "rollback",
	args: ["ENDPOINT", "VERSION"],
	summary: "make a new version with launcher, env and GPUs of an earlier one",
	examples: ["sluice releases rollback hello 2"],
	question: ({ args: [endpoint, version] }) =>
		`Replace the workers of ${endpoint} by workers with the settings of version ${version}?`,
	request: "POST /v1/endpoints/{ENDPOINT}/releases/{VERSION}/rollback",
	text: ({ version }, { args: [endpoint, from] }) =>
		`${endpoint} is at version ${version}, with the settings of version ${from}.\n`,
});

export const releases: CommandGroup = {
	name: "releases",
	summary: "list, compare and roll back versions of endpoints",
	actions: [list, diff, rollback],
};
