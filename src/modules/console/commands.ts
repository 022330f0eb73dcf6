/** `sluice console` and `sluice open`: the web console (D31, D36). */
import { openBrowser } from "../../cli/client/browser.ts";
import { path } from "../../cli/client/service-client.ts";
import { printable } from "../../kernel/lib/terminal-text.ts";
import type { Action } from "../../cli/framework/command.ts";
import { serviceAction } from "../../cli/framework/service-action.ts";
import { findJob } from "../../cli/commands/jobs/short-id.ts";

export const consoleCommand = serviceAction<{ path: string }>({
	name: "console",
	summary: "print a single-use sign-in link for the web console, valid for 10 minutes",
	args: [],
	request: "POST /v1/console-link",
	text: ({ path }, { service }) => `${service.connection().base}${printable(path)}\n`,
});

export const openCommand: Action = {
	name: "open",
	summary: "open the web console in the browser, signed in, or the page of a job",
	args: ["[JOB]"],
	flags: {},
	examples: ["sluice open", "sluice open 68f696d3  # a job, by the end of its id"],
	env: { BROWSER: "program that opens addresses" },
	async run({ args: [given], service }) {
		const { base } = service.connection();
		let page: string;
		if (given === undefined) {
			({ path: page } = (await service.request("POST", "/v1/console-link")).json as { path: string });
		} else {
			const { endpoint, id } = await findJob(service, given);
			page = path`/console/#/endpoints/${endpoint}/requests/${id}`;
			process.stderr.write("A browser that is not signed in needs a link first: sluice open\n");
		}
		process.stdout.write(`${base}${printable(page)}\n`);
		openBrowser(base + page);
		return 0;
	},
};
