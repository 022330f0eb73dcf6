import { ERRORS } from "../../core/error-table.ts";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../system/clock.ts";
import { ApiError } from "../../core/errors.ts";
import { hexIds, type Random } from "../../lib/ids.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { RotatingSet } from "../../lib/rotating-map.ts";
import { may } from "../../engine/access/keys.ts";
import type { Engine } from "../../engine/engine.ts";
import type { EventBus } from "../../events.ts";
import { REFUSED_POLL_MS, REFUSED_GUESS_MS, authenticate, delayRefusal } from "../gates/auth.ts";
import { UnreadBody } from "../exchange/body.ts";
import { type Call, paramOf, type Service } from "../exchange/call.ts";
import { type AccessLog, accessLog } from "./access-log.ts";
import { allowOrigin, answerOptions, type CorsOrigins } from "./cors.ts";
import { inTurn } from "../gates/management.ts";
import { hold } from "../memory/call-memory.ts";
import { memoryShares } from "../memory/shares.ts";
import { traffic } from "./traffic.ts";
import { pace } from "../gates/pace.ts";
import { json, nothing, refusalOf, refuse } from "../exchange/reply.ts";
import { requestTrace } from "./request-trace.ts";
import { type Response, requestIdIn } from "../exchange/response.ts";
import type { AnsweredOf, BoundRoute, Outcome, Route } from "./route.ts";
import { errorFormsOf, finderOf, routesOf, wholePathOf } from "./routes.ts";

const DISCARD_MS = 30_000;

/** Length of a request id that this server makes, in hex digits. */
const ID_DIGITS = 16;

/** Maximum request line and headers, bytes. Workers get more, because a ping names all their jobs. */
const HEADERS_LIMIT = 16 * 1024;

export interface RequestOptions {
	engine: Engine;
	/** Routes of modules. */
	routes: readonly BoundRoute[];
	/** Codes of the errors of modules. Refusals are counted by code. */
	errorCodes: readonly string[];
	answered: readonly AnsweredOf[];
	connections: Service["connections"];
	clock: Clock;
	events: EventBus;
	random: Random;
	accessLog: AccessLog;
	/** Default: all (D38). */
	corsOrigins?: CorsOrigins;
	/** Public address if different. The console may be loaded from there (D31). */
	publicUrl?: string | undefined;
	traceUrl?: Service["traceUrl"];
	authenticator: Service["authenticator"];
}

export class Requests {
	readonly #o: RequestOptions;
	readonly #service: Service;
	/** Unanswered polls, including refusals that are delayed. */
	readonly #polls = new RotatingSet<Call>();
	readonly #newId;
	readonly #logAccess;
	readonly #find;
	readonly #errorForm;
	readonly #wholePath;
	#draining = false;

	constructor(o: RequestOptions) {
		const { engine, clock, publicUrl } = o;
		this.#o = o;
		const routes = routesOf(o.routes, o.answered);
		this.#find = finderOf(routes);
		this.#errorForm = errorFormsOf(routes);
		this.#wholePath = wholePathOf(routes);
		this.#newId = hexIds(o.random);
		this.#logAccess = o.accessLog === "off" ? undefined : accessLog({ ...o, log: o.accessLog });
		this.#service = {
			connections: o.connections,
			management: new Map(),
			memory: memoryShares({ meter: engine.budgets.memory, clock }),
			pace: pace(clock),
			traffic: traffic([...Object.keys(ERRORS), ...o.errorCodes]),
			publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl),
			traceUrl: o.traceUrl,
			authenticator: o.authenticator,
		};
	}

	/** Starts the stop: answers have `Connection: close` from now on, and polls are refused. */
	drain(): void {
		this.#draining = true;
	}

	endPolls(): void {
		for (const { caller, res } of this.#polls) {
			res.shouldKeepAlive = false;
			caller.onDisconnect?.();
		}
	}

	/** The client sends the body of this request when it has got a 100 (`Expect: 100-continue`). */
	readonly handleWaiting = (req: IncomingMessage, res: Response): void => this.handle(req, res, true);

	readonly handle = (req: IncomingMessage, res: Response, isWaiting = false): void => {
		const { connections, corsOrigins: origins = "*" } = this.#o;
		const connection = req.socket.destroyed ? undefined : connections.received(req.socket);
		if (!connection) return;
		const { path: given, queryText } = targetOf(req.url ?? "/");
		const path = this.#wholePath(given, req.headers.authorization);
		const found = this.#find(path);
		const route = found?.byMethod.get(req.method ?? "");
		const call: Call = {
			req,
			res,
			connection,
			path,
			caller: { disconnected: false },
			engine: this.#o.engine,
			service: this.#service,
			identity: {},
			trace: route && requestTrace(req, route, this.#o.engine.hooks.traces),
			holds: { bytes: 0 },
			maxBody: route?.maxBody ?? 0,
			queryText,
			params: found?.params ?? {},
			errorForm: route ? route.errorForm : this.#errorForm(path),
		};
		if (isWaiting && !route?.judgesHead) res.writeContinue();
		else call.isWaiting = isWaiting;
		res.on("close", () => this.#close(call, route));
		res.sentRequestId = requestIdIn(req);
		res.requestId = res.sentRequestId ?? this.#newId(ID_DIGITS);
		const hasKey = res.sentRequestId !== undefined && this.#o.engine.access.keys.isOwnIn(res.sentRequestId);
		res.loggedRequestId = hasKey ? "(hidden)" : res.requestId;
		this.#logAccess?.(call, route);
		if (route) this.#service.traffic.begun(route.name);
		// After a request with Upgrade, Node reports no malformed requests of the connection (D2).
		if (this.#draining || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
		const { origin } = req.headers;
		if (origin !== undefined) allowOrigin(res, { origin, path, origins });
		if (route?.poll) this.#polls.add(call);
		const fault = faultIn(req, route?.access === "worker") ?? (this.#draining && route?.poll ? "draining" : undefined);
		const answered = fault
			? Promise.reject(new ApiError(fault))
			: route
				? serve(call, route)
				: noRoute(call, found?.byMethod);
		answered.catch((error: unknown) => this.#answerError(call, route, error));
	};

	#close(call: Call, route: Route | undefined): void {
		const { res, connection, caller, holds, trace, identity } = call;
		// Anyone can send requests without a key, and a traceparent with them.
		if (trace?.end && identity.principal) trace.end({ status: res.statusCode, requestId: res.loggedRequestId });
		if (route) this.#service.traffic.ended(route.name);
		if (route?.poll) this.#polls.delete(call);
		connection.waiting -= 1;
		holds.release?.();
		void hold(call, 0);
		if (res.writableFinished) return;
		caller.disconnected = true;
		caller.onDisconnect?.();
	}

	async #answerError(call: Call, route: Route | undefined, error: unknown): Promise<void> {
		const { clock, events } = this.#o;
		const { requestId, loggedRequestId } = call.res;
		let refusal = refusalOf(error, requestId);
		if (refusal.code === "endpoint_not_found") refusal = withMeant(call, refusal);
		if (refusal.status >= 500 && !refusal.isExpected)
			events.emit("request.failed", {
				method: call.req.method ?? "",
				path: call.path,
				status: refusal.status,
				requestId: loggedRequestId,
				error,
			});
		this.#service.traffic.refused(refusal.code);
		if (route) await announce(call, route, { result: refusal.code });
		const wait = route?.poll
			? REFUSED_POLL_MS
			: refusal.code === "too_many_failures" || (route?.signIn && refusal.code === "unauthorized")
				? REFUSED_GUESS_MS
				: 0;
		if (wait > 0 && !this.#draining && !call.res.headersSent) await delayRefusal(clock, call, wait);
		const unread =
			refusal instanceof UnreadBody ||
			(!call.req.complete && Number(call.req.headers["content-length"] ?? 0) > call.maxBody);
		const late = refusal.code === "request_timeout";
		refuse(call.res, refusal, { close: unread || late, form: call.errorForm });
		if (unread) discardBody(call, clock);
		else if (late) call.res.end();
	}
}

async function serve(call: Call, route: Route): Promise<void> {
	for (const gate of route.gates) {
		const passed = gate(call, route);
		// Most gates answer at once, and an await would cost a turn.
		if (passed instanceof Promise && (await passed) === "answered") return;
	}
	const answer = route.paced ? await inTurn(call, route) : await route.handle(call);
	if (route.answered.length > 0) await announce(call, route, { result: "ok", answer });
	if (route.status === 204) nothing(call.res);
	else if (answer !== undefined) json(call.res, JSON.stringify(answer), [], route.status);
}

async function announce(call: Call, { answered }: Route, outcome: Outcome): Promise<void> {
	for (const hook of answered) await hook(call, outcome);
}

async function noRoute(call: Call, byMethod: ReadonlyMap<string, Route> | undefined): Promise<void> {
	const method = call.req.method ?? "";
	if (!byMethod) {
		if (call.path.startsWith("/v2/") || call.path.startsWith("/sdk/v2/") || call.path.startsWith("/v1/"))
			await authenticate(call, { access: "read" });
		throw new ApiError("path_not_found", { method, path: call.path.slice(0, 200) });
	}
	if (method === "OPTIONS") return answerOptions(call.req, call.res, byMethod.keys());
	throw new ApiError("method_not_allowed", { method, allow: [...byMethod.keys()].join(", ") });
}

/** Reads and drops the rest of the body: closing while the client still sends would lose the answer. */
function discardBody({ req, res }: Call, clock: Clock): void {
	const ended = new AbortController();
	if (req.readableEnded) ended.abort();
	for (const event of ["end", "close"]) req.once(event, () => ended.abort());
	req.resume();
	void clock.sleep(DISCARD_MS, ended.signal).then(() => res.end());
}

/** RFC 9112, 3.2: exactly one `Host`, optional in HTTP/1.0. Only workers send long headers (D41). */
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

/** Adds the most similar endpoint that the key may see to the sentence of a refusal. */
function withMeant(call: Call, refusal: ApiError): ApiError {
	const { engine, identity } = call;
	const { principal } = identity;
	const endpoint = paramOf(call, "endpoint");
	if (!principal || !endpoint) return refusal;
	const ids = engine.endpoints.all().map(({ endpoint: { id } }) => id);
	const meant = didYouMean(
		endpoint,
		ids.filter((id) => may(principal, "read", id)),
	);
	return new ApiError("endpoint_not_found", { endpoint, meant });
}
