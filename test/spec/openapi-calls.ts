/** What tests of the OpenAPI document and of `/docs` share. */
import { advanceUntil, type ManualClock } from "../support/manual-clock.ts";
import type { OpenApi, Operation } from "../../scripts/api-page/openapi-types.ts";

/** All operations with their places. */
export function operationsOf(document: OpenApi): { id: string; method: string; path: string; operation: Operation }[] {
	return Object.entries(document.paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, operation]) => ({
			id: operation.operationId,
			method: method.toUpperCase(),
			path,
			operation,
		})),
	);
}

/** Time goes on, `step` ms by `step` ms, until the answer is there. */
export async function held<T>(clock: ManualClock, promise: Promise<T>, step: number): Promise<T> {
	let over = false;
	const end = (): void => void (over = true);
	promise.then(end, end);
	await advanceUntil(clock, () => over, step);
	return await promise;
}
