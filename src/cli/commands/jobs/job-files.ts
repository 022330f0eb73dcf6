/** Files that the worker of a job has stored, below the job (D60). */
import { CliError } from "../../client/errors.ts";
import type { ServiceClient } from "../../client/service-client.ts";
import { bytesText } from "../../framework/progress-bar.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";

interface JobFile {
	name: string;
	bytes: number;
	contentType: string;
	url: string;
}

/** The section of a job's files; empty without any. `job`: path of the job. */
export async function filesText(service: ServiceClient, job: string): Promise<string> {
	const found = await service.request("GET", `${job}/files`).catch((error: unknown) => {
		// A service without the module has no such route.
		if (error instanceof CliError && error.status === 404) return undefined;
		throw error;
	});
	const { files = [] } = (found?.json ?? {}) as { files?: readonly JobFile[] };
	const entries = files.map(
		({ name, bytes, contentType, url }) =>
			`${printable(name)}  ${bytesText(bytes)}  ${printable(contentType)}\n  ${printable(url)}\n`,
	);
	return entries.length === 0 ? "" : `\nFiles\n${entries.join("")}`;
}
