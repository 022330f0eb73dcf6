/** Files that the worker of a job has stored, with the job (D60). */
import { CliError } from "../../client/errors.ts";
import type { ServiceAnswer, ServiceClient } from "../../client/service-client.ts";
import { bytesText } from "../../framework/progress-bar.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";

export interface JobFile {
	name: string;
	bytes: number;
	contentType: string;
	url: string;
}

/** `job`: path of the job. Undefined if the service has no files of jobs. */
export async function jobFiles(service: ServiceClient, job: string): Promise<readonly JobFile[] | undefined> {
	try {
		const { json } = await service.request("GET", `${job}/files`);
		return (json as { files: readonly JobFile[] }).files;
	} catch (error) {
		// A service without the module has no such route.
		if (error instanceof CliError && error.status === 404) return undefined;
		throw error;
	}
}

/** The section of a job's files; empty without any. */
export function filesText(files: readonly JobFile[] = []): string {
	const entries = files.map(
		({ name, bytes, contentType, url }) =>
			`${printable(name)}  ${bytesText(bytes)}  ${printable(contentType)}\n  ${printable(url)}\n`,
	);
	return entries.length === 0 ? "" : `\nFiles\n${entries.join("")}`;
}

/** The answer with a member `files`. Its text stays as it is: numbers may be too large for this program. */
export function withFiles(answer: ServiceAnswer, files: readonly JobFile[] | undefined): ServiceAnswer {
	if (files === undefined) return answer;
	const text = `${answer.text.slice(0, answer.text.lastIndexOf("}"))},"files":${JSON.stringify(files)}}`;
	return { ...answer, text, json: { ...(answer.json as object), files } };
}
