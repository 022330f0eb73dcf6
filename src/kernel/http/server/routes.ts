/** Every operation with its handler and gates, in the order of the documentation. */
import type { ErrorForm, RouteDefinition } from "../../api/definition/route.ts";
import { ENDPOINT_ROUTES } from "../../api/endpoints.ts";
import { JOB_RECORD_ROUTES } from "../../api/job-records.ts";
import { CLIENT_ROUTES, sdkRoute } from "../../api/jobs.ts";
import { KEY_ROUTES } from "../../api/keys.ts";
import { SERVICE_ROUTES } from "../../api/service.ts";
import { WORKER_ROUTES } from "../../api/worker-protocol.ts";
import { WORKER_ADMIN_ROUTES } from "../../api/workers.ts";
import { isReservedPath } from "../../core/endpoints/reserved-ids.ts";
import { shortens } from "../client/client-api.ts";
import { CLIENT_HANDLERS } from "../client/handlers.ts";
import { delivers } from "../client/stream-api.ts";
import { admit } from "../gates/admit.ts";
import { authenticate, authenticateWorker, recordWorker } from "../gates/auth.ts";
import { boundManagement } from "../gates/management.ts";
import * as v1 from "../v1/handlers.ts";
import { WORKER_HANDLERS } from "../worker/handlers.ts";
import { type Match, matcher } from "./match.ts";
import { answeredByScaler } from "./other-servers.ts";
import { type AnsweredOf, bind, type BoundRoute, type Gate, type Route } from "./route.ts";
import { SERVICE_HANDLERS } from "./service-api.ts";

const CLIENT = bind(CLIENT_ROUTES, CLIENT_HANDLERS, { status: shortens, stream: delivers });

const KERNEL: readonly BoundRoute[] = [
	...CLIENT,
	...CLIENT.map((each) => ({ ...each, ...sdkRoute(each) })),
	...bind(WORKER_ROUTES, WORKER_HANDLERS),
	...bind(ENDPOINT_ROUTES, v1.ENDPOINT_HANDLERS),
	...bind(WORKER_ADMIN_ROUTES, v1.WORKER_ADMIN_HANDLERS),
	...bind(JOB_RECORD_ROUTES, v1.JOB_RECORD_HANDLERS),
	...bind(KEY_ROUTES, v1.KEY_HANDLERS),
	...bind(SERVICE_ROUTES, SERVICE_HANDLERS),
];

function gatesOf({ access, path }: RouteDefinition): readonly Gate[] {
	if (access === "anyone") return [];
	if (access === "worker") return [authenticateWorker, answeredByScaler, recordWorker];
	const managed = path.startsWith("/v1/") || isReservedPath(path);
	return managed ? [authenticate, boundManagement, admit] : [authenticate, admit];
}

/** Those of the kernel, and of modules. */
export function routesOf(modules: readonly BoundRoute[], answered: readonly AnsweredOf[]): readonly Route[] {
	const all = [...KERNEL, ...modules];
	const formOf = errorFormsOf(all);
	return all.map((route) => ({
		...route,
		errorForm: route.errorForm ?? formOf(route.path),
		gates: gatesOf(route),
		answered: answered.flatMap((of) => of(route) ?? []),
		paced: route.access !== "anyone" && route.access !== "worker" && route.ownLimits !== true,
	}));
}

/** Finds the routes of a path. Under `/v2/` the first segment is the id of an endpoint, or reserved (D49). */
export function finderOf(routes: readonly Route[]): (path: string) => Match<Route> | undefined {
	const reserved = matcher(routes.filter((route) => isReservedPath(route.path)));
	const others = matcher(routes.filter((route) => !isReservedPath(route.path)));
	return (path) => (isReservedPath(path) ? reserved : others)(path);
}

/** Adds the first segment of the path that a scheme of `Authorization` allows to leave out. */
export function wholePathOf(
	routes: readonly RouteDefinition[],
): (path: string, authorization: string | undefined) => string {
	const bases = new Map(routes.flatMap(({ scheme, path }) => (scheme ? [[scheme, `/${path.split("/")[1]}`]] : [])));
	return (path, authorization) => {
		const base = authorization && bases.get(authorization.slice(0, authorization.indexOf(" ")));
		if (!base || path.startsWith(`${base}/`)) return path;
		return path === base ? `${base}/` : base + path;
	};
}

/** Finds the form of errors of a path, with a route or without one. */
export function errorFormsOf(routes: readonly RouteDefinition[]): (path: string) => ErrorForm | undefined {
	const forms = new Set(routes.flatMap(({ errorForm }) => errorForm ?? []));
	return (path) => [...forms].find(({ paths }) => paths.test(path));
}
