/** What `sluice connect` gets of the service: the mapping of the endpoint, and the variables of a worker. */
import { isDeepStrictEqual } from "node:util";
import { CliError } from "../../../cli/client/errors.ts";
import { path, serviceClient, type ServiceClient } from "../../../cli/client/service-client.ts";
import { type HttpSetting, isFileName } from "../../../cli/commands/jobs/http-setting.ts";
import type { FlagValues } from "../../../cli/framework/command.ts";
import { confirm } from "../../../cli/framework/common-flags.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
import { presetOf } from "./server-mapping.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export interface AttachOptions {
	endpoint: string;
	/** The preset or file as the user wrote it, and what it stands for. */
	source: string;
	setting: HttpSetting;
	flags: FlagValues;
	service: ServiceClient;
	env: Variables;
}

export interface Attached {
	/** The mapping of the endpoint, merged with its preset. */
	mapping: HttpSetting;
	/** Variables with which a worker of the endpoint takes jobs (protocol B.1). */
	variables: Variables;
}

const UNAUTHORIZED = 401;

/** A worker's token, if there is one in `env`, is used instead of an API key. Throws {@link CliError}. */
export async function attach(options: AttachOptions): Promise<Attached> {
	const { endpoint, source, flags, service, env } = options;
	if (env["RUNPOD_WEBHOOK_GET_JOB"]) {
		const found = await mappingOf(clientOfWorker(env, endpoint), endpoint);
		return { mapping: fitting(found, options), variables: env };
	}
	const found = await mappingOf(service, endpoint).catch(unlessMissing);
	if (!found) {
		await confirm(`Create endpoint '${endpoint}' with ${described(source)}?`, { flags }, "yes");
		await create(options);
	}
	const mapping = found ? fitting(found, options) : await mergedMapping(service, endpoint);
	return { mapping, variables: await newWorker(service, endpoint) };
}

interface EndpointMapping {
	/** The setting as given. */
	http: unknown;
	/** Merged with its preset, which it no longer names. */
	mapping: HttpSetting;
}

/** The setting `http` of an endpoint. Throws {@link CliError}. */
async function mappingOf(service: ServiceClient, endpoint: string): Promise<EndpointMapping> {
	try {
		return (await service.request("GET", path`/v1/endpoints/${endpoint}/http`)).json as EndpointMapping;
	} catch (error) {
		if (!(error instanceof CliError) || error.code !== "no_http") throw error;
		throw new CliError(
			`Endpoint '${endpoint}' has no HTTP servers as workers: its setting http is missing. Choose another endpoint, ` +
				`or set it: sluice endpoints update ${endpoint} --set http=PRESET`,
			1,
		);
	}
}

function unlessMissing(error: unknown): undefined {
	if (error instanceof CliError && error.code === "endpoint_not_found") return undefined;
	throw error;
}

/** The mapping, unless that of the endpoint is not what the command line names. */
function fitting({ http, mapping }: EndpointMapping, { endpoint, source, setting }: AttachOptions): HttpSetting {
	const given: HttpSetting = typeof http === "string" ? { preset: http } : (http as HttpSetting);
	const fits = isFileName(source) ? isDeepStrictEqual(given, setting) : presetOf(given) === source;
	if (fits) return mapping;
	const has = isFileName(source) ? "another mapping than" : `the preset ${printable(presetOf(given))}, not`;
	throw new CliError(
		`Endpoint '${endpoint}' has ${has} ${source}. Choose another endpoint, or see its setting http: ` +
			`sluice endpoints get ${endpoint}`,
		1,
	);
}

/** The mapping of an endpoint, merged with its preset. Throws {@link CliError}. */
export async function mergedMapping(service: ServiceClient, endpoint: string): Promise<HttpSetting> {
	return (await mappingOf(service, endpoint)).mapping;
}

function described(source: string): string {
	return isFileName(source) ? `the mapping in ${source}` : `the preset ${source}`;
}

async function create({ endpoint, source, setting, service }: AttachOptions): Promise<void> {
	const settings = { id: endpoint, launcher: { type: "external" }, http: setting };
	await service.request("POST", "/v1/endpoints", settings).catch((error: unknown) => {
		if (!(error instanceof CliError) || error.status !== UNAUTHORIZED) throw error;
		throw new CliError(
			`There is no endpoint '${endpoint}', and creating it needs a key with the scope admin. ` +
				`An admin runs: sluice endpoints create ${endpoint} --http ${source}`,
			1,
		);
	});
}

async function newWorker(service: ServiceClient, endpoint: string): Promise<Variables> {
	const query = new URLSearchParams({ url: service.connection().base });
	try {
		const { json } = await service.request("POST", path`/v1/endpoints/${endpoint}/worker-env?${query}`);
		return (json as { env: Record<string, string> }).env;
	} catch (error) {
		if (!(error instanceof CliError) || error.status !== UNAUTHORIZED) throw error;
		throw new CliError(
			`The token of a worker of endpoint '${endpoint}' is made with a key that has the scope admin. An admin runs: ` +
				`sluice worker-env ${endpoint} --format shell\nRun what it prints in this shell, then connect without a key.`,
			1,
		);
	}
}

/** Calls the service that made the variables, with the token in them. */
function clientOfWorker(env: Variables, endpoint: string): ServiceClient {
	const { RUNPOD_WEBHOOK_GET_JOB: take = "", RUNPOD_AI_API_KEY: key } = env;
	const [base = "", rest] = take.split(`/worker/${endpoint}/`);
	if (rest === undefined)
		throw new CliError(
			`RUNPOD_WEBHOOK_GET_JOB is not of endpoint '${endpoint}'. Take the variables of: ` +
				`sluice worker-env ${endpoint} --format shell\nOr unset it, to use an API key.`,
		);
	if (!env["RUNPOD_POD_ID"])
		throw new CliError("RUNPOD_POD_ID is missing. Set it to a unique id of this worker, such as its host name.");
	return serviceClient(() => ({ base, key, keyFrom: "RUNPOD_AI_API_KEY" }));
}
