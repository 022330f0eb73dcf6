/** Reads a resolved mapping and refuses what cannot work, with the member's path and what to write instead. */
import { isObject, type MappingFault, ObjectReader } from "./mapping-reader.ts";
import {
	type Call,
	type ErrorMapping,
	hasStatus,
	type Mapping,
	type OpenAiMapping,
	type Place,
	type Ready,
	type StatusList,
} from "./mapping.ts";
import { checkPath, readCall, readPointer, readRefusals, readStatuses } from "./read-call.ts";
import {
	FOR_JOB,
	readAsync,
	readFiles,
	readUpload,
	readCancel,
	readCondition,
	readProgress,
	readSleep,
	readStream,
} from "./read-members.ts";
import { namesIn } from "./template.ts";

/** base64 of this much, as JSON, fits into a result of 64 MiB. */
const MAX_ANSWER = 45 * 1_048_576;

export type ReadMapping = { ok: true; mapping: Mapping } | { ok: false; faults: MappingFault[] };

/** `value`: the mapping without a preset, parsed JSON. */
export function readMapping(value: unknown): ReadMapping {
	const faults: MappingFault[] = [];
	const root = new ObjectReader(value, "http", faults);
	const request = root.section("request");
	const answer = root.section("answer");
	const timeouts = root.section("timeouts");
	const stream = root.optional("stream", readStream);
	const async = root.optional("async", readAsync);
	if (stream && async) root.fault("stream", "does not go with http.async: remove one of them.");
	const call = readCall(request, {
		roots: FOR_JOB,
		method: "POST",
		path: "/",
		body: { as: "json", template: "{input}" },
		files: true,
	});
	const concurrency = root.integer("concurrency", { min: 1, max: 10_000, fallback: 1 });
	const defaults = request.any("defaults") ?? {};
	if (!isObject(defaults)) request.fault("defaults", "must be an object of members of the input.");
	const mapping: Mapping = {
		place: readPlace(root),
		ready: readReady(root.section("ready")),
		request: call,
		paths: readPaths(request),
		openai: root.optional("openai", readOpenAi),
		credentials: Object.fromEntries(Object.entries(call.headers).filter(([, text]) => isCredential(text))),
		urls: request.oneOf("urls", ["never", "public", "any"], "never"),
		defaults: isObject(defaults) ? defaults : {},
		uploads: request.objects("uploads", readUpload),
		answer: {
			as: answer.oneOf("as", ["auto", "json", "text", "binary"], "auto"),
			at: readPointer(answer, "at"),
			maxBytes: answer.integer("maxBytes", { min: 1, max: MAX_ANSWER, fallback: MAX_ANSWER, unit: "bytes" }),
			store: answer.text("store"),
			files: answer.optional("files", readFiles),
		},
		failed: root.objects("failed", (rule) => ({
			...readCondition(rule, { anyValue: true }),
			message: readPointer(rule, "message"),
		})),
		stream,
		async,
		progress: root.optional("progress", (progress) => readProgress(progress, async !== undefined)),
		cancel: readCancel(root.section("cancel"), { isAsync: async !== undefined, isAlone: concurrency === 1 }),
		errors: readErrors(root.section("errors")),
		concurrency,
		timeouts: {
			connectMs: timeouts.ms("connectMs", 1, 5000),
			silenceMs: timeouts.ms("silenceMs", 0, 0),
		},
		sleep: root.optional("sleep", readSleep),
		wake: root.optional("wake", readSleep),
	};
	const { silenceMs } = mapping.timeouts;
	if (async && silenceMs > 0 && silenceMs <= async.everyMs)
		timeouts.fault("silenceMs", "must be longer than http.async.everyMs, the time between two polls.");
	if (answer.has("at") && ["text", "binary"].includes(mapping.answer.as))
		answer.fault("at", `is for JSON: remove it or http.answer.as: ${mapping.answer.as}.`);
	if (answer.has("store") && mapping.answer.as !== "binary")
		answer.fault("store", "is for bytes: write http.answer.as: binary.");
	if (!async && namesIn([mapping.answer.at, mapping.failed]).length > 0)
		root.fault("async", "is missing: pointers with names of submit need it.");
	root.end();
	for (const each of callsOf(mapping)) each.headers = { ...mapping.credentials, ...each.headers };
	return faults.length === 0 ? { ok: true, mapping } : { ok: false, faults };
}

function isCredential(template: string): boolean {
	const names = namesIn(template);
	return names.length > 0 && names.every((name) => name.startsWith("env."));
}

/** All calls but that of the job. */
function callsOf({ async, progress, cancel, sleep, wake, uploads, answer }: Mapping): Call[] {
	const calls = [async?.poll, async?.result, async?.existing?.discard, progress?.call, cancel.call, answer.files?.call];
	for (const { call } of [...uploads, ...(async?.existing?.checks ?? [])]) calls.push(call);
	for (const each of [sleep, wake]) calls.push(each?.call, each?.each?.call, each?.until?.call);
	return calls.filter((each) => each !== undefined);
}

function readPlace(root: ObjectReader): Place {
	const [given, other] = ["port", "socket", "url"].filter((name) => root.has(name));
	if (given === undefined)
		root.fault(
			"port",
			"is missing: write the server's http.port: 8000, http.socket: /path or http.url: https://host/.",
		);
	if (other !== undefined) root.fault(other, `does not go with http.${given}: remove one of them.`);
	if (given === "socket") {
		const socket = root.text("socket") ?? "/";
		// The length of sun_path, without the final zero, on the system where it is shortest.
		if (!socket.startsWith("/") || new TextEncoder().encode(socket).length > 103)
			root.fault("socket", "must be the absolute path of a UNIX socket, of at most 103 bytes.");
		return { socket };
	}
	if (given === "url") {
		const url = root.text("url") ?? "";
		const parsed = URL.parse(url);
		if (!parsed || !["http:", "https:"].includes(parsed.protocol))
			root.fault("url", "must be an http or https URL, such as http://10.0.0.7:8000.");
		else if (parsed.username || parsed.password || parsed.search || parsed.hash)
			root.fault(
				"url",
				"must have no user, password, query or fragment: credentials belong into http.request.headers.",
			);
		return { url };
	}
	return { port: root.integer("port", { min: 0, max: 65_535, fallback: 0 }) };
}

function readReady(reader: ObjectReader): Ready {
	const path = reader.text("path");
	if (path !== undefined) checkPath(reader, "path", path, []);
	if (reader.flag("tcp", false) && path !== undefined)
		reader.fault("tcp", "does not go with http.ready.path: remove one of them, with null if it is of the preset.");
	const where = reader.optional("where", (condition) => readCondition(condition));
	if (path === undefined && where) reader.fault("where", "needs http.ready.path, whose answer it reads.");
	return {
		path,
		status: readStatuses(reader, "status", [200]),
		where,
		everyMs: reader.ms("everyMs", 10, 1000),
		timeoutMs: reader.ms("timeoutMs", 10, 5000),
		lostAfterMs: reader.ms("lostAfterMs", 0, 30_000),
	};
}

function readPaths(request: ObjectReader): Record<string, string> {
	const paths = request.texts("paths");
	for (const [name, path] of Object.entries(paths)) checkPath(request, `paths.${name}`, path, FOR_JOB);
	return paths;
}

function readOpenAi(reader: ObjectReader): OpenAiMapping {
	const isRoute = (each: unknown): boolean => /^(?:GET|POST) \/v1\/[\w./-]+(?:\/\*)?$/.test(String(each));
	const [routes, mapped] = [reader.list("routes"), reader.list("mapped")];
	if (routes.length === 0 || !routes.every(isRoute))
		reader.fault("routes", 'must be a list of routes, such as ["POST /v1/embeddings", "GET /v1/models/*"].');
	if (!mapped.every((each) => isRoute(each) && String(each).startsWith("POST ")))
		reader.fault("mapped", 'must be a list of routes with a body, such as ["POST /v1/videos"].');
	const base = reader.text("base") ?? "/v1";
	if (!/^(?:\/[\w.-]+)*$/.test(base)) reader.fault("base", "must be a path without a slash at its end, such as /v1.");
	return { routes: routes.map(String), base, mapped: mapped.map(String) };
}

/** A status that one list names as a number is left out of the defaults of the others. */
function readErrors(reader: ObjectReader): ErrorMapping {
	const given = (name: string): StatusList | undefined =>
		reader.has(name) ? readRefusals(reader, name, []) : undefined;
	const lists = { fail: given("fail"), busy: given("busy"), lose: given("lose") };
	const named = Object.values(lists).flatMap((list) => list ?? []);
	const without = (defaults: StatusList): StatusList =>
		defaults.filter((each) => typeof each === "string" || !hasStatus(named, each, true));
	return {
		fail: lists.fail ?? without(["3xx", "4xx", 500]),
		busy: lists.busy ?? without([408, 425, 429, 503]),
		lose: lists.lose ?? without([502, 504]),
		busyMs: reader.ms("busyMs", 1000, 60_000),
	};
}
