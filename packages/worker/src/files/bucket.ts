/** Where the files of a job go: the bucket of its `s3Config`, else that of the worker's variables. */
import type { Job } from "../types.ts";
import type { Credentials } from "./signature.ts";

export interface Bucket {
	/** Without a slash at its end. */
	endpoint: URL;
	name: string;
	credentials: Credentials;
}

const VARIABLES = ["BUCKET_ENDPOINT_URL", "BUCKET_ACCESS_KEY_ID", "BUCKET_SECRET_ACCESS_KEY"] as const;
const MEMBERS = ["endpointUrl", "accessId", "accessSecret"] as const;

/** Throws an Error with a sentence. `at`: ms since 1970. */
export function bucketOf(job: Job, env: Readonly<Record<string, string | undefined>>, at: number): Bucket {
	const given = job["s3Config"];
	const [names, values] = isObject(given)
		? ([
				MEMBERS.map((name) => `s3Config.${name}`),
				[...MEMBERS.map((name) => given[name]), given["bucketName"]],
			] as const)
		: ([VARIABLES, [...VARIABLES.map((name) => env[name]), env["BUCKET_NAME"]]] as const);
	const missing = names.filter((_, at) => !isText(values[at]));
	if (missing.length > 0) throw new Error(isObject(given) ? withoutMembers(missing) : withoutVariables(missing));
	const [address, accessKeyId, secretAccessKey, name] = values as [string, string, string, unknown];
	const endpoint = URL.parse(address);
	if (!endpoint || !/^https?:$/.test(endpoint.protocol))
		throw new Error(`Files cannot be stored: ${names[0]} must be an address such as https://sluice.example/s3.`);
	endpoint.pathname = endpoint.pathname.replace(/(?<!\/)\/+$/, "");
	const credentials = { accessKeyId, secretAccessKey, region: regionOf(endpoint.hostname) };
	return { endpoint, name: isText(name) ? name : monthOf(at), credentials };
}

function withoutVariables(missing: readonly string[]): string {
	return (
		`Files cannot be stored, since ${listOf(missing)} ${missing.length > 1 ? "are" : "is"} not set. On Sluice, set ` +
		`files: true on the endpoint. Elsewhere, set ${listOf(VARIABLES)} to those of an S3 service.`
	);
}

function withoutMembers(missing: readonly string[]): string {
	return `Files cannot be stored: the job must have ${listOf(missing)} too, or no s3Config.`;
}

function listOf(names: readonly string[]): string {
	return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : String(names[0]);
}

/** The name that RunPod's Python SDK gives to a bucket: `12-26` in December 2026. */
function monthOf(at: number): string {
	const [year = "", month = ""] = new Date(at).toISOString().split("-");
	return `${month}-${year.slice(2)}`;
}

/** Hosts such as `s3.eu-west-1.amazonaws.com` name the region; services whose hosts do not take any. */
function regionOf(host: string): string {
	return /(?:^|\.)s3\.([^.]+)\.[^.]+\.[^.]+$/.exec(host)?.[1] ?? "us-east-1";
}

function isText(value: unknown): value is string {
	return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null;
}
