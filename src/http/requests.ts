/** Handles requests: routing, authentication, limits, handler, errors. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PathParams } from "../api/route.ts";
import type { Clock } from "../clock.ts";
import { ApiError, type ErrorCode } from "../core/errors.ts";
import { RotatingSet } from "../core/rotating-map.ts";
import type { Engine } from "../engine/api.ts";
import type { Admission } from "../engine/limits/admission.ts";
import type { EventBus } from "../events.ts";
import { StoreUnavailable } from "../store/contract/store.ts";
import {
	REFUSED_POLL_MS,
	REFUSED_GUESS_MS,
	delayRefusal,
	identify,
	admitWorker,
	recordWorker,
	principalOf,
} from "./auth.ts";
import { BodyTooLarge } from "./body.ts";
import type { Call } from "./call.ts";
import { bundle, type Site } from "./bundle.ts";
import type { Connections } from "./connections.ts";
import { allowOrigin, answerOptions, type CorsOrigins } from "./cors.ts";
import { matcher } from "./match.ts";
import { releaseAll } from "./memory/call-memory.ts";
import { memoryShares } from "./memory/shares.ts";
import { pace } from "./pace.ts";
import { json, quotaHeaders, refusalOf, refuse } from "./reply.ts";
import type { Route } from "./route.ts";
import { ROUTES } from "./routes.ts";
import { isAudited, recordAction } from "./v1/audit-api.ts";
import { answeredByScaler } from "./v1/other-servers.ts";

/** Maximum time to read and discard a refused body, ms. */
const DISCARD_MS = 30_000;

/** Maximum request line and headers, bytes, except of workers: a ping names all their jobs. */
const HEADERS_LIMIT = 16 * 1024;

/** Errors have OpenAI's form here even without a route (D32). */
const OPENAI_PATH = /^\/(?:sdk\/)?v2\/[^/]+\/openai(?:\/|$)/;

/** 5xx that are no fault of the service. */
const EXPECTED: ReadonlySet<ErrorCode> = new Set(["not_ready", "memory_spent", "store_full", "backup_space"]);

const NO_PARAMS: Readonly<PathParams> = {
	endpoint: "",
	job: "",
	worker: "",
	delivery: "",
	receiver: "",
	key: "",
	session: "",
	registry: "",
	host: "",
	rest: "",
};

export interface RequestOptions {
	engine: Engine;
	connections: Pick<Connections, "received" | "answered" | "identified">;
	clock: Clock;
	events: EventBus;
	/** Random id that links a 500 to the log. */
	reference: () => string;
	/** Origins allowed by CORS (D38); default: all. */
	corsOrigins?: CorsOrigins;
	/** Public address if different; the console may be loaded from there (D31). */
	publicUrl?: string | undefined;
	/** Where the sites are built. */
	siteFolders: Readonly<Record<Site, string>>;
}

export interface Requests {
	handle(req: IncomingMessage, res: ServerResponse): void;
	/** Sends `Connection: close` with each answer and refuses polls. */
	drain(): void;
	endPolls(): void;
}

export function requests(o: RequestOptions): Requests {
	const match = matcher(ROUTES);
	/** Includes delayed refusals. */
	const polls = new RotatingSet<Call>();
	const origins = o.corsOrigins ?? "*";
	const publicUrl = o.publicUrl === undefined ? undefined : new URL(o.publicUrl);
	const { console, docs, reference } = o.siteFolders;
	const sites = { console: bundle(console), docs: bundle(docs), reference: bundle(reference) };
	const memory = memoryShares({ meter: o.engine.budgets.memory, clock: o.clock });
	const paces = pace(o.clock);
	/** Requests in flight under `/v1` by key. */
	const management = new Map<string, number>();
	let draining = false;

	function handle(req: IncomingMessage, res: ServerResponse): void {
		if (req.socket.destroyed || !o.connections.received(req.socket)) return;
		const { path, queryText } = targetOf(req.url ?? "/");
		const caller: Call["caller"] = { disconnected: false };
		res.on("close", () => {
			polls.delete(call);
			o.connections.answered(req.socket);
			call.release?.();
			releaseAll(call);
			if (res.writableFinished) return;
			caller.disconnected = true;
			caller.onDisconnect?.();
		});
		// After a request with Upgrade, Node reports no malformed ones on the connection (D2).
		if (draining || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
		const { origin } = req.headers;
		if (origin !== undefined) allowOrigin(res, { origin, path, origins });
		const found = match(path);
		const call: Call = {
			req,
			res,
			path,
			caller,
			engine: o.engine,
			maxBody: 0,
			memory,
			pace: paces,
			queryText,
			publicUrl,
			sites,
			params: found?.params ?? NO_PARAMS,
			// Also without a route.
			errorForm: found
				? found.byMethod.values().next().value?.errorForm
				: OPENAI_PATH.test(path)
					? "openai"
					: undefined,
		};
		const route = found?.byMethod.get(req.method ?? "");
		if (route?.poll) polls.add(call);
		const fault = faultIn(req, route?.access === "worker");
		const answered = fault
			? Promise.reject(new ApiError(fault))
			: draining && route?.poll
				? Promise.reject(new ApiError("draining"))
				: route
					? serve(call, route)
					: noRoute(call, found?.byMethod);
		answered.catch((error: unknown) => answerError(call, route, error));
	}

	async function serve(call: Call, route: Route): Promise<void> {
		call.maxBody = route.maxBody;
		if (route.access === "worker") {
			await admitWorker(call);
			if (call.req.method === "GET" && (await answeredByScaler(call))) return;
			recordWorker(call);
			o.connections.identified(call.req.socket);
		} else if (route.access !== "anyone") {
			await identify(call, route.access, route.changes);
			o.connections.identified(call.req.socket);
			admitManagement(call);
			const found = call.params.endpoint === "" ? undefined : call.engine.endpoints.find(call.params.endpoint);
			const endpoint = found instanceof Promise ? await found : found;
			const admission =
				endpoint && route.limit ? call.engine.limits.admit({ endpoint, operation: route.limit }) : undefined;
			// Synchronous on a single server: avoid the await.
			if (admission) admit(call, admission instanceof Promise ? await admission : admission);
		}
		const answer = route.paced ? await inTurn(call, route) : await route.handle(call);
		if (isAudited(call, route)) await recordAction(call, route, { result: "ok", answer });
		if (answer !== undefined) json(call.res, JSON.stringify(answer), [], route.status);
	}

	/** In the turn of its key (D41). */
	async function inTurn(call: Call, route: Route): Promise<unknown> {
		call.turn = await call.pace.enter(principalOf(call).keyId);
		try {
			// The client has left while its call waited.
			if (call.caller.disconnected) throw new ApiError("request_timeout");
			return await route.handle(call);
		} catch (error) {
			call.turn.end(error instanceof StoreUnavailable);
			throw error;
		} finally {
			call.turn.end();
		}
	}

	/** `/v1` has no limits by endpoint: one key has so many requests in flight there (D41). */
	function admitManagement(call: Call): void {
		if (!call.path.startsWith("/v1/") || call.caller.disconnected) return;
		const { keyId } = principalOf(call);
		const running = management.get(keyId) ?? 0;
		const { limit, refuse: spent, hold: begin, give } = o.engine.budgets.management;
		if (running >= limit) {
			spent();
			throw new ApiError("management_busy", { limit });
		}
		management.set(keyId, running + 1);
		begin(1);
		call.release = () => {
			give(1);
			const left = management.get(keyId)! - 1;
			if (left > 0) management.set(keyId, left);
			else management.delete(keyId);
		};
	}

	/** Holds the concurrency slot until the response closes, or throws 429 (D24). */
	function admit(call: Call, admission: Admission): void {
		if (admission.quota) quotaHeaders(call.res, admission.quota);
		if (admission.refusal) throw admission.refusal;
		if (call.caller.disconnected) admission.release?.();
		else call.release = admission.release;
	}

	async function noRoute(call: Call, byMethod: ReadonlyMap<string, Route> | undefined): Promise<void> {
		const method = call.req.method ?? "";
		if (!byMethod) {
			if (call.path.startsWith("/v2/") || call.path.startsWith("/sdk/v2/") || call.path.startsWith("/v1/"))
				await identify(call, "read");
			throw new ApiError("path_not_found", { method, path: call.path.slice(0, 200) });
		}
		if (method === "OPTIONS") return answerOptions(call.req, call.res, byMethod.keys());
		throw new ApiError("method_not_allowed", { method, allow: [...byMethod.keys()].join(", ") });
	}

	async function answerError(call: Call, route: Route | undefined, error: unknown): Promise<void> {
		let reference = "";
		const refusal = refusalOf(error, () => (reference = o.reference()));
		if (refusal.status >= 500 && !EXPECTED.has(refusal.code))
			o.events.emit("request.failed", {
				method: call.req.method ?? "",
				path: call.path,
				status: refusal.status,
				reference,
				error,
			});
		if (route && isAudited(call, route)) await recordAction(call, route, { result: refusal.code });
		const wait = route?.poll
			? REFUSED_POLL_MS
			: refusal.code === "too_many_failures" || (route?.signIn && refusal.code === "unauthorized")
				? REFUSED_GUESS_MS
				: 0;
		if (wait > 0 && !draining && !call.res.headersSent) await delayRefusal(o.clock, call, wait);
		const tooLarge =
			refusal instanceof BodyTooLarge ||
			(!call.req.complete && Number(call.req.headers["content-length"] ?? 0) > (route?.maxBody ?? 0));
		const late = refusal.code === "request_timeout";
		refuse(call.res, refusal, { close: tooLarge || late, form: call.errorForm });
		if (tooLarge) discardBody(call);
		else if (late) call.res.end();
	}

	/** Closing while the client still sends would lose the answer. */
	function discardBody({ req, res }: Call): void {
		const ended = new AbortController();
		if (req.readableEnded) ended.abort();
		for (const event of ["end", "close"]) req.once(event, () => ended.abort());
		req.resume();
		void o.clock.sleep(DISCARD_MS, ended.signal).then(() => res.end());
	}

	return {
		handle,
		drain() {
			draining = true;
		},
		endPolls() {
			for (const { caller, res } of polls) {
				res.shouldKeepAlive = false;
				caller.onDisconnect?.();
			}
		},
	};
}

/** RFC 9112, 3.2: exactly one `Host`; HTTP/1.0 may lack it. Only workers send long headers (D41). */
function faultIn(
	{ rawHeaders, httpVersion, url = "" }: IncomingMessage,
	byWorker: boolean,
): "bad_http" | "headers_too_large" | undefined {
	let hosts = 0;
	let size = url.length;
	for (let at = 0; at < rawHeaders.length; at += 2) {
		const name = rawHeaders[at]!;
		size += name.length + rawHeaders[at + 1]!.length;
		if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
	}
	if (size > HEADERS_LIMIT && !byWorker) return "headers_too_large";
	return hosts === 1 || (hosts === 0 && httpVersion !== "1.1") ? undefined : "bad_http";
}

/** The target may be absolute (RFC 9112, 3.2.2). */
function targetOf(url: string): { path: string; queryText: string } {
	const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
	const mark = target.indexOf("?");
	return mark < 0
		? { path: target, queryText: "" }
		: { path: target.slice(0, mark), queryText: target.slice(mark + 1) };
}
